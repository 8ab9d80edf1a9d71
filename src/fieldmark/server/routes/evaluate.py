"""`POST /api/evaluate`: one pair, or one truth and several candidates."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends

from fieldmark.api.case_result import CaseResult
from fieldmark.api.compare import compare_under, json_of
from fieldmark.api.rank import rank
from fieldmark.api.settings import settle
from fieldmark.model.json import JsonObject
from fieldmark.server.answers import Reply, StrictRoute
from fieldmark.server.desk import Desk, desk_of
from fieldmark.server.replies import Evaluation
from fieldmark.server.replies_refused import refused
from fieldmark.server.rules_asked import rules_under
from fieldmark.server.schemas import EvaluateRequest, as_json, as_object
from fieldmark.server.views import pair_view

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["evaluate"])


@router.post("/evaluate", response_model=Evaluation, responses=refused(400, 403, 413, 422, 429))
async def evaluate(asked: EvaluateRequest, desk: Annotated[Desk, Depends(desk_of)]) -> Reply:
    """Compare a candidate with the truth field by field, or rank several candidates.

    The numbers are those of `fieldmark.compare` and `fieldmark.rank`.
    """
    desk.must_have_a_turn()
    found = await anyio.to_thread.run_sync(_evaluated, asked, desk, limiter=desk.turns)
    return Reply(found)


def _evaluated(asked: EvaluateRequest, desk: Desk) -> JsonObject:
    rules = rules_under(as_json(asked.rules), desk.options.provider, asked.convention)
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
