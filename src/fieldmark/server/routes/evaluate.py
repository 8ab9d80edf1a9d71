"""`POST /api/evaluate`: compare ground truth with one prediction or several predictions."""

from __future__ import annotations

from fastapi import APIRouter

from fieldmark.api.compare import compare_case, read_cases
from fieldmark.api.compare_many import compare_many
from fieldmark.model.json import JsonObject
from fieldmark.run.settings import resolve_settings
from fieldmark.run.warnings import pair_warnings
from fieldmark.server.app_state import AppState, StateDependency
from fieldmark.server.request_models import EvaluateRequest
from fieldmark.server.request_rules import resolve_rules
from fieldmark.server.response_models import EvaluationResponse, errors
from fieldmark.server.strict_json import ApiResponse, StrictRoute
from fieldmark.server.views import pair_view
from fieldmark.wire.case_result import CaseResult

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["evaluate"])


@router.post(
    "/evaluate", response_model=EvaluationResponse, responses=errors(400, 403, 413, 422, 429)
)
async def evaluate(request: EvaluateRequest, state: StateDependency) -> ApiResponse:
    """Compare a prediction with ground truth field by field, or rank several predictions."""
    return ApiResponse(await state.run_evaluation(_evaluate, request, state))


def _evaluate(request: EvaluateRequest, state: AppState) -> JsonObject:
    rules = resolve_rules(request.all_rules(state.options.rules or None), state.options.models)
    options = request.options
    settings = resolve_settings(rules, convention=request.convention, options=options)
    response: JsonObject
    if request.candidates is None:
        (case,) = read_cases(request.expected, {"candidate": request.candidate})
        result = compare_case(settings, case)
        results: tuple[CaseResult, ...] = (result,)
        response = {"result": result.to_dict()}
    else:
        ranked = compare_many(
            request.expected,
            request.candidates,
            rules=rules,
            convention=request.convention,
            options=options,
        )
        results = ranked.results
        response = {"ranking": ranked.to_dict()}
    if request.view:
        response["views"] = [pair_view(result, settings.rules) for result in results]
    return {
        "convention": settings.convention.name,
        "depth": settings.rules.depth,
        **response,
        "warnings": [*pair_warnings(results), *settings.warnings],
    }
