"""`POST /api/evaluate`: one pair, or one truth and several candidates."""

from __future__ import annotations

from fastapi import APIRouter

from fieldmark.api.compare import compare_under, json_of
from fieldmark.api.compare_many import compare_many
from fieldmark.model.json import JsonObject
from fieldmark.run.settings import resolve_settings
from fieldmark.server.app_state import AppState, StateDependency
from fieldmark.server.request_models import EvaluateRequest, as_json, as_object
from fieldmark.server.request_rules import resolve_rules
from fieldmark.server.response_models import EvaluationResponse, error_responses
from fieldmark.server.strict_json import ApiResponse, StrictRoute
from fieldmark.server.views import pair_view
from fieldmark.wire.case_result import CaseResult

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["evaluate"])


@router.post(
    "/evaluate",
    response_model=EvaluationResponse,
    responses=error_responses(400, 403, 413, 422, 429),
)
async def evaluate(request: EvaluateRequest, state: StateDependency) -> ApiResponse:
    """Compare a candidate with the truth field by field, or rank several candidates.

    The numbers are those of `fieldmark.compare` and `fieldmark.compare_many`.
    """
    return ApiResponse(await state.run_evaluation(_evaluate, request, state))


def _evaluate(request: EvaluateRequest, state: AppState) -> JsonObject:
    rules = resolve_rules(as_json(request.rules), state.options.provider, request.convention)
    options = as_object(request.options)
    settings = resolve_settings(rules, convention=request.convention, options=options)
    response: JsonObject
    if request.candidates is None:
        pair = {"expected": as_json(request.expected), "candidate": as_json(request.candidate)}
        result = compare_under(settings, *json_of(pair))
        results: tuple[CaseResult, ...] = (result,)
        response = {"result": result.to_dict()}
    else:
        ranked = compare_many(
            as_json(request.expected),
            [as_json(each) for each in request.candidates],
            rules=rules,
            convention=request.convention,
            options=options,
        )
        results = ranked.results
        response = {"ranking": ranked.to_dict()}
    if request.view:
        response["views"] = [pair_view(result, settings.rules) for result in results]
    return {**response, "warnings": list(settings.warnings)}
