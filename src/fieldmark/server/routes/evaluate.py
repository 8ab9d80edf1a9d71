"""`POST /api/evaluate`: one pair, or one truth and several candidates."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends

from fieldmark.api.compare import compare_under, json_of
from fieldmark.api.rank import rank
from fieldmark.api.settings import settle
from fieldmark.model.json import JsonObject
from fieldmark.server.app_state import AppState, get_state
from fieldmark.server.error_models import error_responses
from fieldmark.server.request_models import EvaluateRequest, as_json, as_object
from fieldmark.server.request_rules import resolve_rules
from fieldmark.server.response_models import EvaluationResponse
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
async def evaluate(
    asked: EvaluateRequest, state: Annotated[AppState, Depends(get_state)]
) -> ApiResponse:
    """Compare a candidate with the truth field by field, or rank several candidates.

    The numbers are those of `fieldmark.compare` and `fieldmark.rank`.
    """
    state.check_capacity()
    found = await anyio.to_thread.run_sync(_evaluated, asked, state, limiter=state.evaluation_slots)
    return ApiResponse(found)


def _evaluated(asked: EvaluateRequest, state: AppState) -> JsonObject:
    rules = resolve_rules(as_json(asked.rules), state.options.provider, asked.convention)
    options = as_object(asked.options)
    settings = settle(rules, convention=asked.convention, options=options)
    answer: JsonObject
    if asked.candidates is None:
        pair = {"expected": as_json(asked.expected), "candidate": as_json(asked.candidate)}
        result = compare_under(settings, *json_of(pair))
        results: tuple[CaseResult, ...] = (result,)
        answer = {"result": result.to_dict()}
    else:
        ranked = rank(
            as_json(asked.expected),
            [as_json(each) for each in asked.candidates],
            rules=rules,
            convention=asked.convention,
            options=options,
        )
        results = ranked.results
        answer = {"ranking": ranked.to_dict()}
    if asked.view:
        answer["views"] = [pair_view(result, settings.rules) for result in results]
    return {**answer, "warnings": list(settings.warnings)}
