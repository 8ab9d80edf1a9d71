"""The state of a running server that all routes share."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import anyio.to_thread
from fastapi import Depends, Request

from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.data_roots import DataRoots
from fieldmark.server.jobs import JobQueue
from fieldmark.server.options import ServerOptions
from fieldmark.server.redaction import PathRedactor
from fieldmark.server.run_catalog import RunCatalog
from fieldmark.server.uploads import Uploads

__all__ = ["AppState", "StateDependency", "get_state"]

_Result = TypeVar("_Result")


class AppState:
    """Options, data roots, jobs and runs of one server, from its start to its end."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self._folder = tempfile.TemporaryDirectory(prefix="fieldmark-serve-")
        self._scratch = Path(os.path.realpath(self._folder.name))
        folders = [options.workspace, *options.roots.values(), Path.cwd()]
        self.redactor = PathRedactor(self._scratch, folders)
        self.roots = DataRoots(options.roots)
        self._temporary_runs = self._scratch / "runs"
        self.catalog = RunCatalog(options.runs, self._temporary_runs)
        limits = options.limits
        self.jobs = JobQueue(
            waiting=limits.waiting_jobs,
            kept=limits.kept_jobs,
            redact=self.redactor.redact_error,
        )
        self._evaluation_slots = anyio.CapacityLimiter(limits.evaluations)
        self.streams = 0

    def close(self) -> None:
        """Stop all jobs and remove temporary files."""
        self.jobs.close()
        self._folder.cleanup()

    def uploads(self) -> Uploads:
        """Return a new folder for the inputs of one job."""
        folder = self._scratch / "inbox" / secrets.token_hex(8)
        return Uploads(folder, self.roots, self.options.limits)

    @property
    def new_runs(self) -> Path:
        """The folder for new runs: the workspace's if it is writable, else a temporary one."""
        return self.options.runs if self.options.write else self._temporary_runs

    def check_writable(self) -> None:
        """Raise an error if the server is read-only."""
        if not self.options.write:
            message = "This server only reads; start it with --write to keep changes."
            raise ApiError(ErrorCode.READ_ONLY, message)

    async def run_evaluation(self, function: Callable[..., _Result], *args: object) -> _Result:
        """Call a function in a worker thread; raise an error if too many calls are waiting."""
        waiting = self._evaluation_slots.statistics().tasks_waiting
        if waiting >= self.options.limits.waiting_evaluations:
            message = "Too many evaluations wait; try again."
            raise ApiError(ErrorCode.BUSY, message, headers={"Retry-After": "2"})
        return await anyio.to_thread.run_sync(function, *args, limiter=self._evaluation_slots)


def get_state(request: Request) -> AppState:
    """Return the state of the server that received a request."""
    state: AppState = request.app.state.fieldmark
    return state


StateDependency: TypeAlias = Annotated[AppState, Depends(get_state)]
