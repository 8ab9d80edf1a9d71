"""`/api/jobs`: how far the work is, as often as it changes, and a way to stop it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse

from fieldmark.server.answers import Reply, StrictRoute
from fieldmark.server.desk import Desk, desk_of
from fieldmark.server.jobs import Job
from fieldmark.server.refusals import Code, Refusal
from fieldmark.server.replies import JobList, JobState
from fieldmark.server.replies_refused import refused
from fieldmark.store.json_text import finite_json

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["jobs"])
_LOOK_SECONDS: Final = 0.1
_BEAT_LOOKS: Final = 100
"""A word now and then keeps the connection, and shows when nobody listens any more."""


@router.get("/jobs", response_model=JobList, responses=refused())
def jobs(desk: Annotated[Desk, Depends(desk_of)]) -> Reply:
    """The jobs of this session."""
    return Reply({"jobs": [job.to_dict() for job in desk.jobs.all()]})


@router.get("/jobs/{job}", response_model=JobState, responses=refused(404))
def job_state(job: str, desk: Annotated[Desk, Depends(desk_of)]) -> Reply:
    """One job."""
    return Reply(desk.jobs.find(job).to_dict())


@router.delete("/jobs/{job}", response_model=JobState, responses=refused(403, 404))
def cancel(job: str, desk: Annotated[Desk, Depends(desk_of)]) -> Reply:
    """Stop a job; what it made so far is removed."""
    return Reply(desk.jobs.cancel(job).to_dict())


@router.get(
    "/jobs/{job}/events",
    response_class=StreamingResponse,
    responses={
        **refused(404, 429),
        200: {
            "description": "Server-sent events: `job` with the state of the job, until it is over.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
    },
)
async def events(job: str, desk: Annotated[Desk, Depends(desk_of)]) -> StreamingResponse:
    """The states of a job as they change."""
    found = desk.jobs.find(job)
    if desk.streams >= desk.options.bounds.streams:
        raise Refusal(Code.BUSY, "Too many listen already.", headers={"Retry-After": "5"})
    return StreamingResponse(_told(found, desk), media_type="text/event-stream")


async def _told(job: Job, desk: Desk) -> AsyncIterator[bytes]:
    desk.streams += 1
    try:
        seen, quiet = -1, 0
        while True:
            over, version = job.is_over, job.version
            if over or version != seen:
                seen, quiet = version, 0
                yield b"event: job\nid: %d\ndata: %s\n\n" % (version, finite_json(job.to_dict()))
            if over:
                return
            quiet += 1
            if quiet % _BEAT_LOOKS == 0:
                yield b": still there\n\n"
            await asyncio.sleep(_LOOK_SECONDS)
    finally:
        desk.streams -= 1
