"""`/api/runs/{run}/cases` and `/outcomes`: results per case and per field, and why they are so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query

from fieldmark.analyses.show import RunRules, explain_field
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.model.json import JsonObject
from fieldmark.runs.case_result import CaseResult
from fieldmark.web.app_state import StateDependency
from fieldmark.web.case_filter import SelectedCases
from fieldmark.web.case_index import CaseHead
from fieldmark.web.request_models import CaseQuery, ExplainQuery, OutcomeQuery
from fieldmark.web.response_models import (
    CaseListResponse,
    CaseResponse,
    OutcomeListResponse,
    errors,
)
from fieldmark.web.strict_json import ApiResponse, StrictRoute
from fieldmark.web.views import case_documents

router = APIRouter(route_class=StrictRoute, tags=["cases"])

_OUTCOME_KEYS: Final = (
    "path", "attribute", "outcome", "similarity", "reason", "expected", "candidate",
)  # fmt: skip


@router.get("/runs/{run}/cases", response_model=CaseListResponse, responses=errors(404, 422))
def list_cases(
    run: str, query: Annotated[CaseQuery, Query()], state: StateDependency
) -> ApiResponse:
    """List the cases of a run, filtered and sorted; by default worst first.

    A filter by text, by slice or by pattern may search only some of the cases, as `searched` says;
    the same request continues the search. With `attribute`, each case has the `field` of that
    attribute: the first that the filters select, its values, and how many `more` there are.
    """
    index = state.catalog.cases(run)
    selected = SelectedCases(index, query)
    return ApiResponse(
        {
            "total": len(selected.heads),
            "offset": query.offset,
            "cases": list(selected.page()),
            "searched": selected.searched,
            "tags": list(index.tags),
        }
    )


@router.get("/runs/{run}/cases/{case}", response_model=CaseResponse, responses=errors(404, 422))
def get_case(
    run: str,
    case: Annotated[int, Path(ge=1, description="The number of the case, starting at 1.")],
    query: Annotated[CaseQuery, Query()],
    state: StateDependency,
) -> ApiResponse:
    """Return a case with both documents, and the previous and next case of the filtered list."""
    index = state.catalog.cases(run)
    stored = index.case(case)
    numbers = [head.number for head in SelectedCases(index, query, whole=True).heads]
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


@router.get("/runs/{run}/cases/{case}/explain", responses=errors(404, 422))
def explain_case_field(
    run: str,
    case: Annotated[int, Path(ge=1, description="The number of the case, starting at 1.")],
    query: Annotated[ExplainQuery, Query()],
    state: StateDependency,
) -> ApiResponse:
    """Explain the outcome of one field: its items, rule, similarity and cost."""
    index = state.catalog.cases(run)
    stored = index.case(case)
    found = explain_field(RunRules(index.run), stored, query.path)
    return ApiResponse(state.redactor.redact(found.to_dict()))


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


def _may_contain(head: CaseHead, query: OutcomeQuery) -> bool:
    """Whether a case can have a requested outcome, according to its head."""
    return query.outcome not in ErrorCounts._fields or bool(
        getattr(head.errors_by_type, query.outcome)
    )


def _outcome_rows(number: int, case: CaseResult, query: OutcomeQuery) -> Iterator[JsonObject]:
    for field in case.iter_fields():
        if query.outcome not in {None, field.outcome}:
            continue
        if query.attribute not in {None, field.attribute}:
            continue
        stored = field.to_dict()
        row: JsonObject = {key: stored[key] for key in _OUTCOME_KEYS if key in stored}
        yield {"case": number, "case_id": case.id, **row}
