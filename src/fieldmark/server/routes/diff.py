"""`GET /api/diff`: two runs, side by side."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Query

from fieldmark.api.diff import diff as difference
from fieldmark.model.json import JsonObject
from fieldmark.server.app_state import AppState, get_state
from fieldmark.server.error_models import error_responses
from fieldmark.server.queries import DiffQuery
from fieldmark.server.response_models import DiffResponse
from fieldmark.server.strict_json import ApiResponse, StrictRoute

__all__ = ["compared_runs", "router"]

router = APIRouter(route_class=StrictRoute, tags=["runs"])


@router.get("/diff", response_model=DiffResponse, responses=error_responses(404, 422, 429))
async def diff(
    asked: Annotated[DiffQuery, Query()], state: Annotated[AppState, Depends(get_state)]
) -> ApiResponse:
    """What became better or worse from run `a` to run `b`, and whether that may be chance."""
    state.check_capacity()
    return ApiResponse(
        await anyio.to_thread.run_sync(compared_runs, asked, state, limiter=state.evaluation_slots)
    )


def compared_runs(asked: DiffQuery, state: AppState) -> JsonObject:
    """The difference of two runs, without where they are."""
    found = difference(
        state.catalog.path(asked.a),
        state.catalog.path(asked.b),
        force=asked.force,
        rescore=asked.rescore,
    ).to_dict()
    hidden = state.redactor.value(found)
    return hidden if isinstance(hidden, dict) else {}
