"""`/api/diff`: the comparison of runs, the cases that changed, and one case in several runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Annotated, Final, cast

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from fieldmark.analyses.diff import DiffResult
from fieldmark.analyses.report import change_lines, change_tables
from fieldmark.metrics.difference import CaseChange, Direction
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.runs.stored_run import is_older
from fieldmark.values.json_text import finite_json
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import AppState, PathRedactor, StateDependency
from fieldmark.web.case_index import CaseHead, SelectedCases
from fieldmark.web.request_models import CaseQuery, DiffCaseQuery, DiffCasesQuery, DiffQuery
from fieldmark.web.response_models import (
    DiffCaseResponse,
    DiffCasesResponse,
    DiffResponse,
    errors,
)
from fieldmark.web.responses import JSON, ApiResponse, StrictRoute
from fieldmark.web.views import case_documents, shown_title

router = APIRouter(route_class=StrictRoute, tags=["runs"])

_STREAMED_CASES: Final = 500
_DIRECTIONS: Final[Mapping[str, Direction]] = {
    "worse": Direction.WORSE,
    "improved": Direction.IMPROVED,
    "mixed": Direction.UNCHANGED,
}


@router.get("/diff", response_model=DiffResponse, responses=errors(404, 422, 429))
async def compare_runs(query: Annotated[DiffQuery, Query()], state: StateDependency) -> Response:
    """Compare run `b` with run `a`: improved and worse cases, and the significance of changes."""
    comparison, view = await state.run_evaluation(_diff, query, state)
    if not query.changes:
        return Response(view, media_type=JSON)
    return StreamingResponse(_with_changes(view, comparison, state.redactor), media_type=JSON)


@router.get("/diff/tables", responses=errors(404, 422, 429))
async def get_tables(query: Annotated[DiffQuery, Query()], state: StateDependency) -> ApiResponse:
    """Return the tables of a comparison: metrics, evaluators, attributes and slices.

    A table has `columns` with `key`, `title`, `format` and `align`, and `rows` whose cells have a
    `value`, its `text` and a `tone`. The rows are sorted for display.
    """
    tables = await state.run_evaluation(
        lambda: state.redactor.redact(change_tables(_compared(query, state)))
    )
    return ApiResponse(tables)


@router.get("/diff/cases", response_model=DiffCasesResponse, responses=errors(404, 422, 429))
async def list_changed_cases(
    query: Annotated[DiffCasesQuery, Query()], state: StateDependency
) -> ApiResponse:
    """List the cases that changed; with several runs `b`, the cases that differ between runs."""
    return ApiResponse(await state.run_evaluation(_changed_cases, query, state))


@router.get("/diff/case", response_model=DiffCaseResponse, responses=errors(404, 422, 429))
async def get_case_of_runs(
    query: Annotated[DiffCaseQuery, Query()], state: StateDependency
) -> ApiResponse:
    """Return one case in all runs, and the previous and next case of the filtered list."""
    return ApiResponse(await state.run_evaluation(_case_of_runs, query, state))


def _compared(query: DiffQuery, state: AppState) -> DiffResult:
    before, after = state.catalog.open(query.a), state.catalog.open(query.b)
    if query.order == "time" and is_older(after, before):
        before, after = after, before
    return state.diffs.get(before, after, force=query.force, rescore=query.rescore)


def _diff(query: DiffQuery, state: AppState) -> tuple[DiffResult, bytes]:
    """Return the comparison of two runs, and everything but the changed cases as JSON."""
    comparison = _compared(query, state)
    view = comparison.to_dict(changes=False)
    view["conclusion"] = {
        **cast("JsonObject", view["conclusion"]),
        **comparison.conclusion_to_json(),
    }
    return comparison, finite_json(state.redactor.redact(view))


def _with_changes(view: bytes, comparison: DiffResult, redactor: PathRedactor) -> Iterator[bytes]:
    """Yield the JSON of a comparison with its changed cases, which are not held in memory."""
    yield view[:-1]
    for name, changes in comparison.listed_changes.items():
        yield b',"%s":[' % name.encode()
        for start in range(0, len(changes), _STREAMED_CASES):
            part = changes[start : start + _STREAMED_CASES]
            cases = finite_json(redactor.redact([change.to_dict() for change in part]))
            yield b"," * (start > 0) + cases[1:-1]
        yield b"]"
    yield b"}"


def _changed_cases(query: DiffCasesQuery, state: AppState) -> JsonValue:
    page = slice(query.offset, query.offset + query.limit)
    rows: list[JsonValue]
    if len(query.b) == 1:
        comparison, changes = _changes(query, state)
        total = len(changes)
        rows = [*change_lines(comparison, changes[page])]
    else:
        differing = _differing_cases(query, state)
        total = len(differing)
        rows = [
            {
                "case_id": heads[0].id,
                "scores": [head.score for head in heads],
                "mistakes": [head.errors_by_type.total for head in heads],
            }
            for heads in differing[page]
        ]
    return {"total": total, "offset": query.offset, "cases": rows}


def _case_of_runs(query: DiffCaseQuery, state: AppState) -> JsonValue:
    runs = [_case_of_run(run, query.case, state) for run in (query.a, *query.b)]
    if not any(run["number"] for run in runs):
        raise ApiError(ErrorCode.NOT_FOUND, "None of the runs has this case.")
    if len(query.b) == 1:
        ids = [change.case_id for _, change in _changes(query, state)[1]]
    else:
        ids = [heads[0].id for heads in _differing_cases(query, state)]
    index = ids.index(query.case) if query.case in ids else None
    return {
        "case_id": query.case,
        "runs": list[JsonValue](runs),
        "position": None if index is None else index + 1,
        "total": len(ids),
        "previous": ids[index - 1] if index else None,
        "next": ids[index + 1] if index is not None and index + 1 < len(ids) else None,
    }


def _case_of_run(run: str, case_id: str, state: AppState) -> JsonObject:
    """Return a case of a run with its documents; the number of a case that it lacks is null."""
    index = state.catalog.cases(run)
    named: JsonObject = {"run": run, "title": shown_title(state, state.catalog.open(run))}
    head = next((head for head in index.heads if head.id == case_id), None)
    if head is None:
        return {**named, "number": None}
    [case] = index.open([head.number])
    return {**named, **head.to_dict(), "documents": case_documents(case)}


def _changes(
    query: DiffCasesQuery, state: AppState
) -> tuple[DiffResult, list[tuple[Direction, CaseChange]]]:
    """Return the comparison of two runs, and its changed cases that match the filters."""
    before, after = state.catalog.open(query.a), state.catalog.open(query.b[0])
    comparison = state.diffs.get(before, after, force=query.force, rescore=query.rescore)
    changes = state.diffs.changed_cases(
        comparison,
        direction=None if query.direction is None else _DIRECTIONS[query.direction],
        attribute=query.attribute,
        within=query.slice,
    )
    if query.text.strip():
        ids = _ids_with_text(query, state)
        changes = [(way, change) for way, change in changes if change.case_id in ids]
    return comparison, changes


def _ids_with_text(query: DiffCasesQuery, state: AppState) -> set[str]:
    """Return the cases with the text in an id, tag, path or value of one of the runs."""
    wanted = CaseQuery(text=query.text.strip())
    indexes = (state.catalog.cases(run) for run in (query.a, *query.b))
    return {head.id for index in indexes for head in SelectedCases(index, wanted, whole=True).heads}


def _differing_cases(query: DiffCasesQuery, state: AppState) -> list[list[CaseHead]]:
    """Return the cases that all runs have, if their scores or mistakes differ.

    With an attribute, these are the cases with a mistake in it in at least one run.
    """
    if query.direction is not None or query.slice is not None or query.force or query.rescore:
        message = "direction, slice, force and rescore require exactly one run b."
        raise ApiError(ErrorCode.INVALID_REQUEST, message)
    indexes = [state.catalog.cases(run) for run in (query.a, *query.b)]
    by_id = [{head.id: head for head in index.heads} for index in indexes]
    ids = _ids_with_text(query, state) if query.text.strip() else None
    differing: list[tuple[float, list[CaseHead]]] = []
    for case_id, first in by_id[0].items():
        if not all(case_id in heads for heads in by_id[1:]) or (
            ids is not None and case_id not in ids
        ):
            continue
        heads = [first, *(heads[case_id] for heads in by_id[1:])]
        wrong = [index.wrong_attributes(head) for index, head in zip(indexes, heads, strict=True)]
        if query.attribute is None:
            scores_and_types = ((head.score, head.errors_by_type) for head in heads)
            differs = len(set(zip(scores_and_types, wrong, strict=True))) > 1
        else:
            differs = len({query.attribute in attributes for attributes in wrong}) > 1
        if differs:
            scores = [head.score for head in heads if head.score is not None]
            spread = max(scores) - min(scores) if scores else 0.0
            differing.append((-spread, heads))
    differing.sort(key=itemgetter(0))
    return [heads for _, heads in differing]
