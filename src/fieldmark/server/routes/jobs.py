"""`/api/jobs`: how far the work is, as often as it changes, and a way to stop it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse

from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.app_state import AppState, get_state
from fieldmark.server.error_models import error_responses
from fieldmark.server.jobs import BackgroundJob
from fieldmark.server.response_models import JobListResponse, JobResponse
from fieldmark.server.strict_json import ApiResponse, StrictRoute
from fieldmark.values.json_text import finite_json

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["jobs"])
_LOOK_SECONDS: Final = 0.1
_BEAT_LOOKS: Final = 100
"""A word now and then keeps the connection, and shows when nobody listens any more."""


@router.get("/jobs", response_model=JobListResponse, responses=error_responses())
def jobs(state: Annotated[AppState, Depends(get_state)]) -> ApiResponse:
    """The jobs of this session."""
    return ApiResponse({"jobs": [job.to_dict() for job in state.jobs.all()]})


@router.get("/jobs/{job}", response_model=JobResponse, responses=error_responses(404))
def job_state(job: str, state: Annotated[AppState, Depends(get_state)]) -> ApiResponse:
    """One job."""
    return ApiResponse(state.jobs.find(job).to_dict())


@router.delete("/jobs/{job}", response_model=JobResponse, responses=error_responses(403, 404))
def cancel(job: str, state: Annotated[AppState, Depends(get_state)]) -> ApiResponse:
    """Stop a job; what it made so far is removed."""
    return ApiResponse(state.jobs.cancel(job).to_dict())


@router.get(
    "/jobs/{job}/events",
    response_class=StreamingResponse,
    responses={
        **error_responses(404, 429),
        200: {
            "description": "Server-sent events: `job` with the state of the job, until it is over.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
    },
)
async def events(job: str, state: Annotated[AppState, Depends(get_state)]) -> StreamingResponse:
    """The states of a job as they change."""
    found = state.jobs.find(job)
    if state.streams >= state.options.limits.streams:
        raise ApiError(ErrorCode.BUSY, "Too many listen already.", headers={"Retry-After": "5"})
    return StreamingResponse(_told(found, state), media_type="text/event-stream")


async def _told(job: BackgroundJob, state: AppState) -> AsyncIterator[bytes]:
    state.streams += 1
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
        state.streams -= 1
