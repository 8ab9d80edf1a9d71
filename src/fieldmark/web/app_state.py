"""The state of a running server, shared by all routes."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import anyio.to_thread
from fastapi import Depends, Request

from fieldmark.data.roots import DataRoots
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.jobs import JobQueue
from fieldmark.web.options import ServerOptions
from fieldmark.web.page_images import PageImages
from fieldmark.web.recent_values import PathRedactor
from fieldmark.web.run_catalog import RunCatalog, RunDiffs
from fieldmark.web.uploads import Uploads

_Result = TypeVar("_Result")


class AppState:
    """The options, data roots, jobs and runs of one server."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self._temporary_directory = tempfile.TemporaryDirectory(prefix="fieldmark-serve-")
        self.scratch = Path(os.path.realpath(self._temporary_directory.name))
        directories = [
            options.workspace, *options.roots.values(), *options.pages.values(), Path.cwd(),
        ]  # fmt: skip
        self.redactor = PathRedactor(self.scratch, directories)
        self.roots = DataRoots(options.roots)
        page_roots = DataRoots({**options.roots, **options.pages})
        self.pages = PageImages(page_roots, tuple(options.pages))
        self._temporary_runs = self.scratch / "runs"
        self.catalog = RunCatalog(options.runs, self._temporary_runs)
        self.diffs = RunDiffs()
        limits = options.limits
        self.jobs = JobQueue(
            max_waiting=limits.waiting_jobs,
            max_listed=limits.listed_jobs,
            redact=self.redactor.redact_error,
        )
        self._evaluation_slots = anyio.CapacityLimiter(limits.evaluations)
        self.streams = 0

    def close(self) -> None:
        """Stop all jobs and delete temporary files."""
        self.jobs.close()
        self.pages.close()
        self._temporary_directory.cleanup()

    def uploads(self) -> Uploads:
        """Return a new directory for the inputs of one job."""
        directory = self.scratch / "inbox" / secrets.token_hex(8)
        return Uploads(directory, self.roots, self.options.limits)

    @property
    def new_runs(self) -> Path:
        """The directory for new runs: in the workspace if it is writable, else temporary."""
        return self.options.runs if self.options.write else self._temporary_runs

    def check_writable(self) -> None:
        """Raise an error if the server is read-only."""
        if not self.options.write:
            message = "The server is read-only. Restart it with write access to save changes."
            raise ApiError(ErrorCode.READ_ONLY, message)

    def writable_run(self, run: str) -> Path:
        """Return the directory of a run; raise an error if it is in a read-only workspace."""
        path = self.catalog.path(run)
        if self.catalog.is_saved(path):
            self.check_writable()
        return path

    async def run_evaluation(self, function: Callable[..., _Result], *args: object) -> _Result:
        """Call a function in a worker thread; raise an error if too many calls are waiting."""
        waiting = self._evaluation_slots.statistics().tasks_waiting
        if waiting >= self.options.limits.waiting_evaluations:
            message = "Too many evaluations are waiting. Try again later."
            raise ApiError(ErrorCode.BUSY, message, headers={"Retry-After": "2"})
        return await anyio.to_thread.run_sync(function, *args, limiter=self._evaluation_slots)


def get_state(request: Request) -> AppState:
    """Return the state of the server that received a request."""
    state: AppState = request.app.state.fieldmark
    return state


StateDependency: TypeAlias = Annotated[AppState, Depends(get_state)]
