"""`/api/runs/{run}/cases` and `/outcomes`: what happened, case by case and field by field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Query

from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.metrics.worst_first import case_sort_key
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.app_state import AppState, get_state
from fieldmark.server.case_index import CaseHead, CaseIndex
from fieldmark.server.error_models import error_responses
from fieldmark.server.queries import CaseQuery, OutcomeQuery
from fieldmark.server.response_models import CaseListResponse, CaseResponse, OutcomeListResponse
from fieldmark.server.strict_json import ApiResponse, StrictRoute
from fieldmark.server.views import opened
from fieldmark.store.reader import StoredCase
from fieldmark.values.paths import ROOT, resolve

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["cases"])
StateDependency = Annotated[AppState, Depends(get_state)]


_ERRORS: Final = ErrorCounts._fields
_MISTAKES: Final = frozenset(_ERRORS)
_BY: Final[dict[str, Callable[[CaseHead], tuple[object, ...]]]] = {
    "worst": lambda head: case_sort_key(head.score, sum(head.mistakes), head.number),
    "number": lambda head: (head.number,),
    "id": lambda head: (head.id, head.number),
    "score": lambda head: case_sort_key(head.score, 0, head.number),
    "mistakes": lambda head: (sum(head.mistakes), head.number),
}


@router.get(
    "/runs/{run}/cases", response_model=CaseListResponse, responses=error_responses(404, 422)
)
def cases(run: str, asked: Annotated[CaseQuery, Query()], state: StateDependency) -> ApiResponse:
    """The cases of a run: some of them, in some order; the worst first if none is named."""
    found = _chosen(state.catalog.cases(run), asked)
    part = found[asked.offset : asked.offset + asked.limit]
    listed = [_head(head) for head in part]
    return ApiResponse({"total": len(found), "offset": asked.offset, "cases": listed})


@router.get(
    "/runs/{run}/cases/{case}", response_model=CaseResponse, responses=error_responses(404, 422)
)
def case(
    run: str,
    case: Annotated[int, Path(ge=1, description="The number of the case, from 1.")],
    asked: Annotated[CaseQuery, Query()],
    state: StateDependency,
) -> ApiResponse:
    """One case with its documents side by side, and its neighbours in the list of a filter."""
    index = state.catalog.cases(run)
    if case > len(index.heads):
        raise ApiError(ErrorCode.NOT_FOUND, "There is no such case.")
    (stored,) = index.open([case])
    return ApiResponse(
        {
            **_head(index.heads[case - 1]),
            "documents": opened(stored),
            "note": stored.note,
            **_neighbours(_chosen(index, asked), case),
        }
    )


@router.get(
    "/runs/{run}/outcomes", response_model=OutcomeListResponse, responses=error_responses(404, 422)
)
def outcomes(
    run: str, asked: Annotated[OutcomeQuery, Query()], state: StateDependency
) -> ApiResponse:
    """Every field of every case, from a case on; `next` says where to go on."""
    index = state.catalog.cases(run)
    numbers = [head.number for head in index.heads[asked.from_case - 1 :] if _may_hold(head, asked)]
    rows: list[JsonValue] = []
    for number, stored in zip(numbers, index.open(numbers), strict=True):
        if len(rows) >= asked.limit:
            return ApiResponse({"outcomes": rows, "next": number})
        rows += _outcomes(number, stored, asked)
    return ApiResponse({"outcomes": rows, "next": None})


def _chosen(index: CaseIndex, asked: CaseQuery) -> list[CaseHead]:
    def choose(heads: list[CaseHead]) -> list[CaseHead]:
        found = [head for head in heads if _wanted(head, asked)]
        found.sort(key=_BY[asked.sort], reverse=asked.descending)
        return found

    key = asked.model_dump_json(exclude={"offset", "limit"})
    return index.chosen(key, choose)


def _wanted(head: CaseHead, asked: CaseQuery) -> bool:
    if asked.verdict == "error" and head.status != "error":
        return False
    if asked.verdict not in {None, "error", head.verdict}:
        return False
    if asked.error is not None and not head.mistakes[_ERRORS.index(asked.error)]:
        return False
    if asked.attribute is not None and asked.attribute not in head.wrong:
        return False
    text = asked.text.lower()
    return not text or any(text in word.lower() for word in (head.id, *head.tags))


def _head(head: CaseHead) -> JsonObject:
    return {
        "number": head.number,
        "id": head.id,
        "score": head.score,
        "verdict": head.verdict,
        "status": head.status,
        "input": head.input,
        "tags": list(head.tags),
        "errors_by_type": dict(zip(_ERRORS, head.mistakes, strict=True)),
    }


def _neighbours(chosen: list[CaseHead], number: int) -> JsonObject:
    numbers = [head.number for head in chosen]
    if number not in numbers:
        return {"place": None, "of": len(numbers), "previous": None, "next": None}
    place = numbers.index(number)
    return {
        "place": place + 1,
        "of": len(numbers),
        "previous": numbers[place - 1] if place else None,
        "next": numbers[place + 1] if place + 1 < len(numbers) else None,
    }


def _may_hold(head: CaseHead, asked: OutcomeQuery) -> bool:
    """Whether a case can have an outcome that is asked for, as far as its head tells."""
    if asked.outcome not in _MISTAKES:
        return True
    by_type = head.mistakes[_ERRORS.index(asked.outcome)] > 0
    return by_type and (asked.attribute is None or asked.attribute in head.wrong)


def _outcomes(number: int, stored: StoredCase, asked: OutcomeQuery) -> list[JsonValue]:
    rows: list[JsonValue] = []
    for record in stored.block.records(stored.table):
        attribute = stored.table.path(record.attribute)
        if asked.outcome not in {None, record.outcome.label}:
            continue
        if asked.attribute not in {None, attribute}:
            continue
        said = record.comparison
        row: JsonObject = {
            "case": number,
            "case_id": stored.id,
            "path": record.path,
            "attribute": attribute,
            "outcome": record.outcome.label,
            "similarity": said.similarity if said else None,
            "reason": said.reason.value if said and said.reason else None,
        }
        ours = _value(stored.expected, record.path, record.expected_presence)
        theirs = _value(stored.candidate, record.candidate_path, record.candidate_presence)
        if ours is not MISSING:
            row["expected"] = ours
        if theirs is not MISSING:
            row["candidate"] = theirs
        rows.append(row)
    return rows


def _value(document: JsonValue | Missing, path: str, presence: Presence) -> JsonValue | Missing:
    if document is MISSING or presence is Presence.ABSENT:
        return MISSING
    return document if path == ROOT else resolve(document, path)
