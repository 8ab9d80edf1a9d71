"""`/api/runs`, `/api/trend` and `/api/rank`: runs, their notes, trends and rankings."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Final, cast

from fastapi import APIRouter, Query
from fastapi.responses import Response

from fieldmark.analyses.improve import find_slices
from fieldmark.analyses.improve import improve as improve_run
from fieldmark.analyses.rank import rank
from fieldmark.analyses.report import write_report
from fieldmark.analyses.runs import RunList, annotate, remove_run
from fieldmark.metrics.summary import Summary, summary_to_json, worst_attributes
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.metrics import histogram_view
from fieldmark.report.html.mistakes import HeatMap, MistakeGroups, ValueTables, most_mistakes_first
from fieldmark.report.shown_run import comparators_by_attribute
from fieldmark.runs.manifest import RunEntry
from fieldmark.runs.run_index import titles_of
from fieldmark.runs.stored_run import StoredRun
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import AppState, StateDependency
from fieldmark.web.case_index import CaseIndex, worst_first
from fieldmark.web.request_models import ExportQuery, NoteRequest, RankQuery, RunQuery, TrendQuery
from fieldmark.web.response_models import (
    AttributeListResponse,
    NotesResponse,
    RankResponse,
    RunListResponse,
    RunResponse,
    ScoresResponse,
    TrendResponse,
    errors,
)
from fieldmark.web.responses import MEDIA_TYPES, ApiResponse, StrictRoute, attachment, check_kind
from fieldmark.web.run_catalog import RUN_ID, CatalogEntry
from fieldmark.web.views import describe_run


def mistake_view(index: CaseIndex, summary: Summary) -> JsonObject:
    """Return the data of the components; `cases` has the number and id of cases by rank."""
    worst = worst_first(index)
    ranks = {head.number: rank for rank, head in enumerate(worst)}
    wrong = most_mistakes_first(summary)
    heat = HeatMap(wrong, len(worst), len(worst))
    groups, tables = MistakeGroups(), ValueTables(wrong)
    for number, case in enumerate(index.run.cases(), 1):
        rank = ranks[number]
        times = Counter(case.outcomes.cells)
        heat.add(times, case.attributes, rank)
        groups.add(case, times, rank)
        tables.add(case, None)
    lines = groups.view()
    examples = (line["example"] for line in lines)
    named = {example["rank"] for example in examples if isinstance(example, dict)}
    named.update(heat.single_cases())
    cases: list[JsonValue] = [
        {"rank": rank, "number": worst[rank].number, "id": worst[rank].id}
        for rank in named
        if isinstance(rank, int)
    ]
    return {
        "mistakes": list[JsonValue](lines),
        "heat": heat.view(),
        "value_tables": list[JsonValue](tables.view()),
        "cases": cases,
    }


router = APIRouter(route_class=StrictRoute, tags=["runs"])
_MAX_TREND_RUNS: Final = 1000
_MAX_INTERVALS: Final = 60
"""The number of runs in a trend with intervals, which are read from their summaries."""


@router.get("/runs", response_model=RunListResponse, responses=errors(422))
def list_runs(query: Annotated[RunQuery, Query()], state: StateDependency) -> ApiResponse:
    """List runs, newest first, with search and filters.

    `groups` are the runs with the same ground truth, rules and convention, the newest group first;
    archived runs are in no group.
    """
    entries = list(reversed(state.catalog.entries()))
    matching = [listed_run for listed_run in entries if _matches(listed_run, query)]
    listed = [
        {
            **cast("JsonObject", state.redactor.redact(entry.to_dict())),
            "title": state.redactor.redact_text(entry.title),
            "group": group_id(entry),
            "saved": saved,
            "valid_id": RUN_ID.fullmatch(entry.id) is not None,
        }
        for entry, saved in matching[query.offset : query.offset + query.limit]
    ]
    groups = _groups((listed_run.entry for listed_run in entries), state)
    return ApiResponse(
        {"total": len(matching), "offset": query.offset, "runs": listed, "groups": groups}
    )


def group_id(entry: RunEntry) -> str:
    """Return a short id of the runs that are comparable with a run."""
    return hashlib.sha256(entry.comparable.encode()).hexdigest()[:10] if entry.comparable else ""


def _groups(entries: Iterable[RunEntry], state: AppState) -> list[JsonValue]:
    """Return the groups of comparable runs, beginning with the group of the newest run."""
    groups: dict[str, JsonObject] = {}
    for entry in entries:
        if not entry.comparable or entry.archived:
            continue
        own = groups.setdefault(
            entry.comparable,
            {
                "id": group_id(entry),
                "truth": state.redactor.redact_text(entry.truth),
                "convention": entry.convention,
                "rules": entry.comparable[:6],
                "eval": entry.eval,
                "newest": entry.id,
                "newest_title": state.redactor.redact_text(entry.title),
                "runs": 0,
            },
        )
        own["runs"] = cast("int", own["runs"]) + 1
    return list(groups.values())


def _matches(listed: CatalogEntry, query: RunQuery) -> bool:
    entry = listed.entry
    texts = [entry.id, entry.name, entry.note, *entry.inputs, *entry.tags]
    return (
        entry.archived == query.archived
        and query.group in {None, group_id(entry)}
        and query.verdict in {None, entry.verdict}
        and query.status in {None, entry.status}
        and query.convention in {None, entry.convention}
        and (query.tag is None or query.tag in entry.tags)
        and any(query.text.lower() in text.lower() for text in texts)
    )


@router.get("/trend", response_model=TrendResponse, responses=errors(404, 422))
def get_trend(query: Annotated[TrendQuery, Query()], state: StateDependency) -> ApiResponse:
    """Return a metric over the runs that are comparable with a run, by default the newest."""
    if query.run is not None:
        state.catalog.path(query.run)
    roots = state.catalog.directories
    every = tuple(listed_run.entry for listed_run in state.catalog.entries())
    shown = tuple(entry for entry in every if not entry.archived or entry.id == query.run)
    listed = RunList(entries=shown, roots=roots)
    series = listed.comparable(query.run)
    newest = RunList(entries=series[-_MAX_TREND_RUNS:], roots=roots)
    trend = newest.trend(query.metric).to_dict()
    by_id = {entry.id: entry for entry in newest.entries}
    for index, step in enumerate(reversed(cast("list[JsonObject]", trend["steps"]))):
        entry = by_id[str(step["run"])]
        interval = newest.interval(entry.id, query.metric) if index < _MAX_INTERVALS else None
        step |= {
            "title": state.redactor.redact_text(entry.title),
            "started_at": entry.started_at,
            "interval": None if interval is None else list(interval),
        }
    return ApiResponse(
        {
            "metric": query.metric,
            "convention": series[-1].convention if series else "",
            **trend,
            "excluded": len(listed) - len(series),
        }
    )


@router.get("/rank", response_model=RankResponse, responses=errors(404, 422, 429))
async def rank_runs(query: Annotated[RankQuery, Query()], state: StateDependency) -> ApiResponse:
    """Rank several runs over the cases that all of them have, and test every pair."""
    return ApiResponse(await state.run_evaluation(ranking_of, query, state))


def ranking_of(
    query: RankQuery, state: AppState, open_run: Callable[[str], StoredRun] | None = None
) -> JsonValue:
    """Return a ranking of runs, which `open_run` opens by their ids."""
    runs = [(open_run or state.catalog.open)(run) for run in query.run]
    ranking = rank(
        dict(zip(titles_of(runs), runs, strict=True)),
        metric=query.metric,
        force=query.force,
        rescore=query.rescore,
    )
    ids = {str(run.path): run.path.name for run in runs}
    view = ranking.page_data()
    for line in cast("list[JsonObject]", view["runs"]):
        line["id"] = ids[str(line.pop("path"))]
    return state.redactor.redact(view)


@router.get("/runs/{run}", response_model=RunResponse, responses=errors(404, 422))
def get_run(run: str, state: StateDependency) -> ApiResponse:
    """Return the manifest, metrics, tags and note of a run."""
    return ApiResponse(describe_run(state, state.catalog.open(run)))


@router.get(
    "/runs/{run}/attributes", response_model=AttributeListResponse, responses=errors(404, 422)
)
def list_attributes(run: str, state: StateDependency) -> ApiResponse:
    """List all attributes with their counts, rates and mistakes, worst first."""
    stored, summary = finished_run(state, run)
    comparators = comparators_by_attribute(stored.compared_attributes)
    metrics = cast("dict[str, JsonObject]", summary_to_json(summary)["attributes"])
    rows = [
        {"attribute": path, "comparator": comparators.get(path, ""), **metrics[path]}
        for path, _ in worst_attributes(summary.attributes)
    ]
    return ApiResponse({"attributes": rows})


@router.get("/runs/{run}/scores", response_model=ScoresResponse, responses=errors(404, 422))
def get_scores(run: str, state: StateDependency) -> ApiResponse:
    """Return how the scores of the cases of a run are distributed, in steps of 0.05."""
    return ApiResponse(histogram_view(head.score for head in state.catalog.cases(run).heads))


@router.get("/runs/{run}/improve", responses=errors(404, 422, 429))
async def get_recommendations(run: str, state: StateDependency) -> ApiResponse:
    """Return what to fix first: attributes by potential gain, and groups of similar mistakes."""
    recommendations = await state.run_evaluation(lambda: improve_run(finished_run(state, run)[0]))
    return ApiResponse(recommendations.to_dict())


@router.get("/runs/{run}/mistakes", responses=errors(404, 422, 429))
async def get_mistakes(run: str, state: StateDependency) -> ApiResponse:
    """Return the worst fields, tables of values and the heat map of a run, as in its report."""
    _, summary = finished_run(state, run)
    index = await state.run_evaluation(state.catalog.cases, run)
    return ApiResponse(await state.run_evaluation(mistake_view, index, summary))


@router.get("/runs/{run}/slices", responses=errors(404, 422, 429))
async def get_weak_slices(run: str, state: StateDependency) -> ApiResponse:
    """Return the slices that are significantly weaker than the other cases, the weakest first."""
    slices = await state.run_evaluation(lambda: find_slices(finished_run(state, run)[0]))
    return ApiResponse(state.redactor.redact(slices.to_dict()))


@router.get(
    "/runs/{run}/exports/{kind}",
    response_class=Response,
    responses={
        **errors(404, 422, 429),
        200: {
            "description": "The file, such as a self-contained HTML page.",
            "content": {media_type: {} for media_type in sorted({*MEDIA_TYPES.values()})},
        },
    },
)
async def export_run(
    run: str, kind: str, query: Annotated[ExportQuery, Query()], state: StateDependency
) -> Response:
    """Download a run as a report or a table: the kinds of `fieldmark report --as`.

    A kind whose optional dependency is not installed is refused with the command that installs it.
    """
    name = check_kind(kind)
    stored, _ = finished_run(state, run)

    def export() -> bytes:
        with tempfile.TemporaryDirectory(dir=state.scratch) as directory:
            path = Path(directory) / name
            return write_report(stored.path, path, kind=kind, values=query.values).read_bytes()

    content = await state.run_evaluation(export)
    return attachment(content, kind, f"{run}.{name}" if kind != "html" else f"{run}.html")


@router.put("/runs/{run}/notes", response_model=NotesResponse, responses=errors(400, 403, 404, 422))
def update_notes(run: str, request: NoteRequest, state: StateDependency) -> ApiResponse:
    """Change the name, tags and note of a run, or archive it; its results do not change."""
    path = state.writable_run(run)
    noted = annotate(
        path,
        add=request.add,
        remove=request.remove,
        note=request.note,
        name=request.name,
        archived=request.archived,
    )
    state.catalog.invalidate()
    return ApiResponse(
        {
            "tags": list(noted.tags),
            "note": noted.note,
            "name": noted.name,
            "archived": noted.archived,
        }
    )


@router.delete("/runs/{run}", responses=errors(403, 404, 409, 422))
def delete_run(run: str, state: StateDependency) -> ApiResponse:
    """Delete a run permanently."""
    remove_run(state.writable_run(run))
    state.catalog.invalidate()
    return ApiResponse({"removed": run})


def finished_run(state: AppState, run: str) -> tuple[StoredRun, Summary]:
    """Return a run with its metrics; a run without them is an error of the request."""
    stored = state.catalog.open(run)
    if stored.summary is None:
        message = f"The run is {stored.status} and has no metrics."
        raise ApiError(ErrorCode.INVALID_DATA, message)
    return stored, stored.summary
