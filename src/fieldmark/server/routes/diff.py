"""`GET /api/diff`: two runs, side by side."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Query

from fieldmark.api.diff import diff as difference
from fieldmark.model.json import JsonObject
from fieldmark.server.answers import Reply, StrictRoute
from fieldmark.server.desk import Desk, desk_of
from fieldmark.server.queries import DiffQuery
from fieldmark.server.replies import Comparison
from fieldmark.server.replies_refused import refused

__all__ = ["compared_runs", "router"]

router = APIRouter(route_class=StrictRoute, tags=["runs"])


@router.get("/diff", response_model=Comparison, responses=refused(404, 422, 429))
async def diff(
    asked: Annotated[DiffQuery, Query()], desk: Annotated[Desk, Depends(desk_of)]
) -> Reply:
    """What became better or worse from run `a` to run `b`, and whether that may be chance."""
    desk.must_have_a_turn()
    return Reply(await anyio.to_thread.run_sync(compared_runs, asked, desk, limiter=desk.turns))


def compared_runs(asked: DiffQuery, desk: Desk) -> JsonObject:
    """The difference of two runs, without where they are."""
    found = difference(
        desk.shelf.path(asked.a),
        desk.shelf.path(asked.b),
        force=asked.force,
        rescore=asked.rescore,
    ).to_dict()
    hidden = desk.hiding.value(found)
    return hidden if isinstance(hidden, dict) else {}
