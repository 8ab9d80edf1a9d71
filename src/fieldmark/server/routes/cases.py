"""`/api/runs/{run}/cases` and `/outcomes`: results per case and per field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query

from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.metrics.worst_first import case_sort_key
from fieldmark.model.json import JsonObject
from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.app_state import StateDependency
from fieldmark.server.case_index import CaseHead, CaseIndex
from fieldmark.server.request_models import CaseQuery, OutcomeQuery
from fieldmark.server.response_models import (
    CaseListResponse,
    CaseResponse,
    OutcomeListResponse,
    errors,
)
from fieldmark.server.strict_json import ApiResponse, StrictRoute
from fieldmark.server.views import case_documents
from fieldmark.wire.case_result import CaseResult

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["cases"])

_OUTCOME_KEYS: Final = (
    "path", "attribute", "outcome", "similarity", "reason", "expected", "candidate",
)  # fmt: skip
_SORT_KEYS: Final[dict[str, Callable[[CaseHead], tuple[object, ...]]]] = {
    "worst": lambda head: case_sort_key(head.score, head.errors_by_type.total, head.number),
    "number": lambda head: (head.number,),
    "id": lambda head: (head.id, head.number),
    "score": lambda head: case_sort_key(head.score, 0, head.number),
    "mistakes": lambda head: (head.errors_by_type.total, head.number),
}


@router.get("/runs/{run}/cases", response_model=CaseListResponse, responses=errors(404, 422))
def list_cases(
    run: str, query: Annotated[CaseQuery, Query()], state: StateDependency
) -> ApiResponse:
    """List the cases of a run, filtered and sorted; by default worst first."""
    found = _select(state.catalog.cases(run), query)
    listed = [head.to_dict() for head in found[query.offset : query.offset + query.limit]]
    return ApiResponse({"total": len(found), "offset": query.offset, "cases": listed})


@router.get("/runs/{run}/cases/{case}", response_model=CaseResponse, responses=errors(404, 422))
def get_case(
    run: str,
    case: Annotated[int, Path(ge=1, description="The number of the case, starting at 1.")],
    query: Annotated[CaseQuery, Query()],
    state: StateDependency,
) -> ApiResponse:
    """Return a case with both documents, and the previous and next case of the filtered list."""
    index = state.catalog.cases(run)
    if case > len(index.heads):
        raise ApiError(ErrorCode.NOT_FOUND, "Case not found.")
    (stored,) = index.open([case])
    numbers = [head.number for head in _select(index, query)]
    position = numbers.index(case) + 1 if case in numbers else None
    return ApiResponse(
        {
            **index.heads[case - 1].to_dict(),
            "documents": case_documents(stored),
            "note": stored.note,
            "position": position,
            "total": len(numbers),
            "previous": numbers[position - 2] if position and position > 1 else None,
            "next": numbers[position] if position and position < len(numbers) else None,
        }
    )


@router.get("/runs/{run}/outcomes", response_model=OutcomeListResponse, responses=errors(404, 422))
def list_outcomes(
    run: str, query: Annotated[OutcomeQuery, Query()], state: StateDependency
) -> ApiResponse:
    """List the outcomes of all fields, starting at a case; `next` is the next case."""
    index = state.catalog.cases(run)
    numbers = [
        head.number for head in index.heads[query.from_case - 1 :] if _may_contain(head, query)
    ]
    rows: list[JsonObject] = []
    for number, stored in zip(numbers, index.open(numbers), strict=True):
        if len(rows) >= query.limit:
            return ApiResponse({"outcomes": rows, "next": number})
        rows += _outcome_rows(number, stored, query)
    return ApiResponse({"outcomes": rows, "next": None})


def _select(index: CaseIndex, query: CaseQuery) -> list[CaseHead]:
    def choose(heads: list[CaseHead]) -> list[CaseHead]:
        found = [head for head in heads if _matches(head, query)]
        found.sort(key=_SORT_KEYS[query.sort], reverse=query.descending)
        return found

    return index.select(query.model_dump_json(exclude={"offset", "limit"}), choose)


def _matches(head: CaseHead, query: CaseQuery) -> bool:
    if query.verdict == "error" and head.status != "error":
        return False
    if query.verdict not in {None, "error", head.verdict}:
        return False
    if query.error is not None and not getattr(head.errors_by_type, query.error):
        return False
    if query.attribute is not None and query.attribute not in head.wrong_attributes:
        return False
    text = query.text.lower()
    return not text or any(text in word.lower() for word in (head.id, *head.tags))


def _may_contain(head: CaseHead, query: OutcomeQuery) -> bool:
    """Whether a case can have a requested outcome, according to its head."""
    if query.outcome not in ErrorCounts._fields:
        return True
    if not getattr(head.errors_by_type, query.outcome):
        return False
    return query.attribute is None or query.attribute in head.wrong_attributes


def _outcome_rows(number: int, case: CaseResult, query: OutcomeQuery) -> Iterator[JsonObject]:
    for field in case.iter_fields():
        if query.outcome not in {None, field.outcome}:
            continue
        if query.attribute not in {None, field.attribute}:
            continue
        stored = field.to_dict()
        row: JsonObject = {key: stored[key] for key in _OUTCOME_KEYS if key in stored}
        yield {"case": number, "case_id": case.id, **row}
