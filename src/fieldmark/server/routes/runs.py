"""`/api/runs`, `/api/trend` and `/api/diff`: the history, one run, its notes, and comparisons."""

from __future__ import annotations

from typing import Annotated, Final, cast

from fastapi import APIRouter, Query
from fastapi.responses import Response

from fieldmark.api.diff import diff as diff_runs
from fieldmark.api.improve import improve as improve_run
from fieldmark.api.report import html_report
from fieldmark.api.runs import RunList, annotate, remove_run
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.figures import worst_attributes
from fieldmark.report.shown_run import comparators_by_attribute
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.app_state import AppState, StateDependency
from fieldmark.server.request_models import DiffQuery, NoteRequest, RunQuery, TrendQuery
from fieldmark.server.response_models import (
    AttributeListResponse,
    DiffResponse,
    NotesResponse,
    RunListResponse,
    RunResponse,
    TrendResponse,
    error_responses,
)
from fieldmark.server.run_catalog import RUN_ID, CatalogEntry
from fieldmark.server.strict_json import ApiResponse, StrictRoute
from fieldmark.server.views import describe_run
from fieldmark.store.run_reader import StoredRun
from fieldmark.wire.summary import summary_to_json

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["runs"])
_MAX_TREND_RUNS: Final = 1000


@router.get("/runs", response_model=RunListResponse, responses=error_responses(422))
def runs(query: Annotated[RunQuery, Query()], state: StateDependency) -> ApiResponse:
    """The runs that are known, the newest first."""
    found = [each for each in reversed(state.catalog.entries()) if _matches(each, query)]
    listed = [
        {
            **cast("JsonObject", state.redactor.redact(entry.to_dict())),
            "kept": kept,
            "named": RUN_ID.fullmatch(entry.id) is not None,
        }
        for entry, kept in found[query.offset : query.offset + query.limit]
    ]
    return ApiResponse({"total": len(found), "offset": query.offset, "runs": listed})


def _matches(listed: CatalogEntry, query: RunQuery) -> bool:
    entry = listed.entry
    texts = [entry.id, entry.note, *entry.inputs, *entry.tags]
    return (
        query.status in {None, entry.status}
        and query.convention in {None, entry.convention}
        and (query.tag is None or query.tag in entry.tags)
        and any(query.text.lower() in text.lower() for text in texts)
    )


@router.get("/trend", response_model=TrendResponse, responses=error_responses(422))
def trend(query: Annotated[TrendQuery, Query()], state: StateDependency) -> ApiResponse:
    """A figure over the runs that can be compared with the newest."""
    newest = state.catalog.entries()[-_MAX_TREND_RUNS:]
    listed = RunList(entries=tuple(each.entry for each in newest))
    found: JsonObject = {"figure": query.figure, **listed.trend(query.figure).to_dict()}
    return ApiResponse({**found, "left_out": len(listed) - len(listed.comparable())})


@router.get("/diff", response_model=DiffResponse, responses=error_responses(404, 422, 429))
async def diff(query: Annotated[DiffQuery, Query()], state: StateDependency) -> ApiResponse:
    """What became better or worse from run `a` to run `b`, and whether that may be chance."""
    return ApiResponse(await state.run_evaluation(_diff, query, state))


def _diff(query: DiffQuery, state: AppState) -> JsonValue:
    before, after = state.catalog.path(query.a), state.catalog.path(query.b)
    difference = diff_runs(before, after, force=query.force, rescore=query.rescore)
    return state.redactor.redact(difference.to_dict())


@router.get("/runs/{run}", response_model=RunResponse, responses=error_responses(404, 422))
def run_described(run: str, state: StateDependency) -> ApiResponse:
    """One run: what it was made from, its figures, its notes."""
    return ApiResponse(describe_run(state, run))


@router.get(
    "/runs/{run}/attributes",
    response_model=AttributeListResponse,
    responses=error_responses(404, 422),
)
def attributes(run: str, state: StateDependency) -> ApiResponse:
    """Every attribute with its counts, rates and mistakes; the worst first."""
    stored = _finished_run(state, run)
    summary = stored.summary
    if summary is None:
        return ApiResponse({"attributes": []})
    comparators = comparators_by_attribute(stored.compared_attributes)
    figures = cast("dict[str, JsonObject]", summary_to_json(summary)["attributes"])
    rows = [
        {"attribute": path, "comparator": comparators.get(path, ""), **figures[path]}
        for path, _ in worst_attributes(summary)
    ]
    return ApiResponse({"attributes": rows})


@router.get("/runs/{run}/improve", responses=error_responses(404, 422, 429))
async def improve(run: str, state: StateDependency) -> ApiResponse:
    """What to fix first: attributes by what they would return, and mistakes that look alike."""
    found = await state.run_evaluation(lambda: improve_run(_finished_run(state, run)))
    return ApiResponse(found.to_dict())


@router.get(
    "/runs/{run}/report.html",
    response_class=Response,
    responses={
        **error_responses(404, 422),
        200: {"description": "The report as one page.", "content": {"text/html": {}}},
    },
)
def report(run: str, state: StateDependency) -> Response:
    """The report of a run, to keep and to send on."""
    _finished_run(state, run)
    name = f'attachment; filename="{run}.html"'
    page = html_report(state.catalog.path(run))
    return Response(page, media_type="text/html", headers={"Content-Disposition": name})


@router.put(
    "/runs/{run}/notes",
    response_model=NotesResponse,
    responses=error_responses(400, 403, 404, 422),
)
def notes(run: str, request: NoteRequest, state: StateDependency) -> ApiResponse:
    """Give a run tags and a note; its results stay as they are."""
    path = state.catalog.path(run)
    if state.catalog.is_kept(run):
        state.check_writable()
    noted = annotate(path, add=request.add, remove=request.remove, note=request.note)
    state.catalog.invalidate()
    return ApiResponse({"tags": list(noted.tags), "note": noted.note})


@router.delete("/runs/{run}", responses=error_responses(403, 404, 409, 422))
def delete(run: str, state: StateDependency) -> ApiResponse:
    """Remove a run for good."""
    path = state.catalog.path(run)
    if state.catalog.is_kept(run):
        state.check_writable()
    remove_run(path)
    state.catalog.invalidate()
    return ApiResponse({"removed": run})


def _finished_run(state: AppState, run: str) -> StoredRun:
    stored = state.catalog.open(run)
    if stored.summary is None:
        message = f"The run is {stored.status} and has no figures."
        raise ApiError(ErrorCode.INVALID_DATA, message)
    return stored
