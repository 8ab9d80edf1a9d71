"""`/api/jobs`: the state of background jobs, also as server-sent events, and cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from fieldmark.values.json_text import finite_json
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import AppState, StateDependency
from fieldmark.web.jobs import BackgroundJob, JobKind
from fieldmark.web.response_models import JobListResponse, JobResponse, errors
from fieldmark.web.responses import ApiResponse, StrictRoute

router = APIRouter(route_class=StrictRoute, tags=["jobs"])
_POLL_SECONDS: Final = 0.1
_POLLS_PER_COMMENT: Final = 100
"""Regular comments keep the connection open and detect clients that have disconnected."""


@router.get("/jobs", response_model=JobListResponse, responses=errors())
def list_jobs(state: StateDependency) -> ApiResponse:
    """List all batches, newest first."""
    batches = [job for job in state.jobs.all() if job.kind is JobKind.BATCH]
    return ApiResponse({"jobs": [job.to_dict() for job in batches]})


@router.get("/jobs/{job}", response_model=JobResponse, responses=errors(404))
def get_job(job: str, state: StateDependency) -> ApiResponse:
    """Return the state and progress of a job."""
    return ApiResponse(state.jobs.find(job).to_dict())


@router.delete("/jobs/{job}", response_model=JobResponse, responses=errors(403, 404))
def cancel_job(job: str, state: StateDependency) -> ApiResponse:
    """Cancel a job; the cases that a batch has compared are kept in an interrupted run."""
    return ApiResponse(state.jobs.cancel(job).to_dict())


@router.get(
    "/jobs/{job}/events",
    response_class=StreamingResponse,
    responses={
        **errors(404, 429),
        200: {
            "description": "Server-sent `job` events with the state of the job until it ends.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
    },
)
async def stream_job_events(job: str, state: StateDependency) -> StreamingResponse:
    """Stream the state of a job whenever it changes."""
    running = state.jobs.find(job)
    if state.streams >= state.options.limits.streams:
        message = "Too many event streams are open. Try again later."
        raise ApiError(ErrorCode.BUSY, message, headers={"Retry-After": "5"})
    return StreamingResponse(_events(running, state), media_type="text/event-stream")


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
                yield b": keep-alive\n\n"
            await asyncio.sleep(_POLL_SECONDS)
    finally:
        state.streams -= 1
