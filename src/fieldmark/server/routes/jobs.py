"""`/api/jobs`: the state of background jobs, as events too, and cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.app_state import AppState, StateDependency
from fieldmark.server.jobs import BackgroundJob
from fieldmark.server.response_models import JobListResponse, JobResponse, error_responses
from fieldmark.server.strict_json import ApiResponse, StrictRoute
from fieldmark.values.json_text import finite_json

__all__ = ["router"]

router = APIRouter(route_class=StrictRoute, tags=["jobs"])
_POLL_SECONDS: Final = 0.1
_POLLS_PER_COMMENT: Final = 100
"""A comment now and then keeps the connection open, and finds out when the client has gone."""


@router.get("/jobs", response_model=JobListResponse, responses=error_responses())
def jobs(state: StateDependency) -> ApiResponse:
    """The jobs of this session."""
    return ApiResponse({"jobs": [job.to_dict() for job in state.jobs.all()]})


@router.get("/jobs/{job}", response_model=JobResponse, responses=error_responses(404))
def job_state(job: str, state: StateDependency) -> ApiResponse:
    """One job."""
    return ApiResponse(state.jobs.find(job).to_dict())


@router.delete("/jobs/{job}", response_model=JobResponse, responses=error_responses(403, 404))
def cancel(job: str, state: StateDependency) -> ApiResponse:
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
async def events(job: str, state: StateDependency) -> StreamingResponse:
    """The states of a job as they change."""
    found = state.jobs.find(job)
    if state.streams >= state.options.limits.streams:
        message = "Too many listen already."
        raise ApiError(ErrorCode.BUSY, message, headers={"Retry-After": "5"})
    return StreamingResponse(_events(found, state), media_type="text/event-stream")


async def _events(job: BackgroundJob, state: AppState) -> AsyncIterator[bytes]:
    state.streams += 1
    try:
        sent, polls = -1, 0
        while True:
            finished, version = job.is_finished, job.version
            if finished or version != sent:
                sent, polls = version, 0
                yield b"event: job\nid: %d\ndata: %s\n\n" % (version, finite_json(job.to_dict()))
            if finished:
                return
            polls += 1
            if polls % _POLLS_PER_COMMENT == 0:
                yield b": still there\n\n"
            await asyncio.sleep(_POLL_SECONDS)
    finally:
        state.streams -= 1
