"""`POST /api/evaluate`: one pair, or one truth and several candidates."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends

from fieldmark.api.case_result import CaseResult
from fieldmark.api.compare import compare
from fieldmark.api.rank import rank
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.server.answers import Reply, StrictRoute
from fieldmark.server.desk import Desk, desk_of
from fieldmark.server.replies import Evaluation, refused
from fieldmark.server.rules_asked import rules_under
from fieldmark.server.schemas import EvaluateRequest
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
    how = _How(asked, desk)
    if asked.candidates is None:
        result = how.compared()
        answer: JsonObject = {"result": result.to_dict()}
        return {**answer, **how.viewed([result])}
    ranked = how.ranked()
    return {"ranking": ranked.to_dict(), **how.viewed(ranked.results)}


class _How:
    """A request as arguments of the library."""

    def __init__(self, asked: EvaluateRequest, desk: Desk) -> None:
        self._asked = asked
        self._rules = rules_under(_json(asked.rules), desk.options.provider, asked.convention)
        self._options = {name: _json(value) for name, value in asked.options.items()}

    def compared(self) -> CaseResult:
        return compare(
            _json(self._asked.expected),
            _json(self._asked.candidate),
            rules=self._rules,
            convention=self._asked.convention,
            options=self._options,
        )

    def ranked(self):
        return rank(
            _json(self._asked.expected),
            [_json(each) for each in self._asked.candidates or ()],
            rules=self._rules,
            convention=self._asked.convention,
            options=self._options,
        )

    def viewed(self, results) -> JsonObject:
        if not self._asked.view:
            return {}
        return {"views": [pair_view(result, self._rules) for result in results]}


def _json(value: object) -> JsonValue:
    return value  # type: ignore[return-value]  # it was parsed as JSON
