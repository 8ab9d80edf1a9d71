"""`/api/runs/{run}/cases` and `/outcomes`: results per case and field, and why they are so.

A case also has page images, and predictions of comparable runs that can be compared.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from fieldmark.analyses.compare import compare_many
from fieldmark.analyses.show import RunRules, explain_field
from fieldmark.judges.images import ImageError
from fieldmark.metrics.conventions import CountingOptions
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.model.json import MISSING, JsonObject
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.run_index import COMPLETE
from fieldmark.values.records import to_json
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import AppState, StateDependency
from fieldmark.web.case_index import SelectedCases
from fieldmark.web.page_images import CasePages
from fieldmark.web.request_models import CaseQuery, ExplainQuery, OutcomeQuery
from fieldmark.web.response_models import (
    CaseListResponse,
    CasePagesResponse,
    CaseResponse,
    ConsistencyResponse,
    OutcomeListResponse,
    errors,
)
from fieldmark.web.responses import ApiResponse, StrictRoute
from fieldmark.web.server_options import Models, resolve_rules
from fieldmark.web.views import case_documents

router = APIRouter(route_class=StrictRoute, tags=["cases"])

_Case = Annotated[int, Path(ge=1, description="The number of the case, starting at 1.")]
_Page = Annotated[int, Path(ge=1, description="The number of the page, starting at 1.")]

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
    case: _Case,
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
            **({} if stored.bounds is None else {"bounds": to_json(stored.bounds)}),
            "position": position,
            "total": len(numbers),
            "previous": numbers[position - 2] if position and position > 1 else None,
            "next": numbers[position] if position and position < len(numbers) else None,
        }
    )


@router.get("/runs/{run}/cases/{case}/explain", responses=errors(404, 422))
def explain_case_field(
    run: str,
    case: _Case,
    query: Annotated[ExplainQuery, Query()],
    state: StateDependency,
) -> ApiResponse:
    """Explain the outcome of one field: its items, rule, similarity and cost."""
    index = state.catalog.cases(run)
    stored = index.case(case)
    explanation = explain_field(RunRules(index.run), stored, query.path)
    return ApiResponse(state.redactor.redact(explanation.to_dict()))


@router.get("/runs/{run}/outcomes", response_model=OutcomeListResponse, responses=errors(404, 422))
def list_outcomes(
    run: str, query: Annotated[OutcomeQuery, Query()], state: StateDependency
) -> ApiResponse:
    """List the outcomes of all fields, starting at a case; `next` is the next case."""
    index = state.catalog.cases(run)
    numbers = [
        head.number
        for head in index.heads[query.from_case - 1 :]
        # The number of mistakes is known without the row.
        if query.outcome not in ErrorCounts._fields or getattr(head.errors_by_type, query.outcome)
    ]
    rows: list[JsonObject] = []
    for number, stored in zip(numbers, index.open(numbers), strict=True):
        if len(rows) >= query.limit:
            return ApiResponse({"outcomes": rows, "next": number})
        for field in stored.iter_fields():
            wanted = query.outcome in {None, field.outcome}
            if wanted and query.attribute in {None, field.attribute}:
                values = field.to_dict()
                shown: JsonObject = {key: values[key] for key in _OUTCOME_KEYS if key in values}
                rows.append({"case": number, "case_id": stored.id, **shown})
    return ApiResponse({"outcomes": rows, "next": None})


_MAX_RUNS: Final = 10
_COUNTING: Final = frozenset(CountingOptions.__dataclass_fields__)


@router.get(
    "/runs/{run}/cases/{case}/consistency",
    response_model=ConsistencyResponse,
    responses=errors(404, 422, 429),
)
async def get_consistency(
    run: str,
    case: _Case,
    state: StateDependency,
) -> ApiResponse:
    """Compare the predictions of comparable runs for a case with each other, field by field.

    They are this run and the newest others with the same ground truth, rules and convention. Texts
    are compared without a model.
    """
    return ApiResponse(await state.run_evaluation(_consistency, run, case, state))


def _consistency(run: str, number: int, state: AppState) -> JsonObject:
    index = state.catalog.cases(run)
    own = index.case(number)
    if not own.has_values:
        message = "The run was saved without values, so its predictions cannot be compared."
        raise ApiError(ErrorCode.INVALID_DATA, message)
    cases = {run: own, **_in_other_runs(run, own.id, state)}
    response: JsonObject = {"runs": list(cases)}
    if len(cases) == 1:
        return {**response, "consistency": None, "agreement": {}}
    manifest = state.catalog.open(run).manifest
    options = manifest.convention.options
    compared = compare_many(
        own.expected,
        [None if case.candidate is MISSING else case.candidate for case in cases.values()],
        rules=resolve_rules(manifest.rules, Models()),
        convention=manifest.convention.name,
        options={name: value for name, value in options.items() if name in _COUNTING},
    )
    return {
        **response,
        "consistency": compared.consistency,
        "agreement": dict(compared.agreement),
    }


def _in_other_runs(run: str, case_id: str, state: AppState) -> dict[str, CaseResult]:
    """Return the case in the newest runs that are comparable with a run."""
    entries = [listed.entry for listed in reversed(state.catalog.entries())]
    comparable = next((entry.comparable for entry in entries if entry.id == run), "")
    cases: dict[str, CaseResult] = {}
    for entry in entries:
        if entry.id == run or entry.archived or entry.status != COMPLETE:
            continue
        if not comparable or entry.comparable != comparable or len(cases) >= _MAX_RUNS - 1:
            continue
        case = state.catalog.open(entry.id).find(case_id)
        if case is not None and case.has_values:
            cases[entry.id] = case
    return cases


@router.get(
    "/runs/{run}/cases/{case}/pages", response_model=CasePagesResponse, responses=errors(404, 429)
)
def list_pages(run: str, case: _Case, state: StateDependency) -> ApiResponse:
    """List the page images of a case: files below the directories given as `--pages`."""
    case_pages = _find(state, run, case)
    return ApiResponse(
        {"pages": [page.to_dict() for page in case_pages.pages], "problems": case_pages.problems}
    )


@router.get(
    "/runs/{run}/cases/{case}/pages/{page}",
    response_class=Response,
    responses={200: {"content": {"image/*": {}}}, **errors(404, 422, 429)},
)
def get_page(
    run: str, case: _Case, page: _Page, request: Request, state: StateDependency
) -> Response:
    """Return a page as a PNG, JPEG, GIF or WebP image."""
    pages = _find(state, run, case).pages
    if page > len(pages):
        raise ApiError(ErrorCode.NOT_FOUND, "Page not found.")
    try:
        image = state.pages.image(pages[page - 1])
    except ImageError as error:
        raise ApiError(ErrorCode.INVALID_DATA, f"The page cannot be shown: {error}.") from error
    etag = f'"{hashlib.sha256(image.content).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    # The media type comes from the content, and middleware forbids browsers to guess another.
    return Response(image.content, media_type=image.media_type, headers=headers)


def _find(state: AppState, run: str, case: int) -> CasePages:
    index = state.catalog.cases(run)
    stored = index.case(case)
    if not stored.has_values:
        return CasePages([], ["The run was saved without values, and pages show values."])
    return state.pages.find(state.catalog.open(run).manifest.pages, stored.id, stored.metadata)
