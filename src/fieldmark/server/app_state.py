"""Everything that routes share: options, places, jobs, runs, and what may be said aloud."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

import anyio
from fastapi import Request

from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.data_roots import DataRoots
from fieldmark.server.jobs import JobQueue
from fieldmark.server.options import ServerOptions
from fieldmark.server.redaction import PathRedactor
from fieldmark.server.run_catalog import RunCatalog
from fieldmark.server.uploads import Uploads

__all__ = ["AppState", "get_state"]


class AppState:
    """The state of one server, from its start to its end."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self._folder = tempfile.TemporaryDirectory(prefix="fieldmark-serve-")
        scratch = Path(os.path.realpath(self._folder.name))
        self.redactor = PathRedactor(
            scratch, [options.workspace, *options.roots.values(), Path.cwd()]
        )
        self.roots = DataRoots(options.roots)
        self.temporary_runs = scratch / "runs"
        self.catalog = RunCatalog(options.runs, self.temporary_runs)
        self._scratch = scratch
        limits = options.limits
        self.jobs = JobQueue(
            waiting=limits.waiting_jobs, kept=limits.kept_jobs, shown=self.redactor.text
        )
        self.evaluation_slots = anyio.CapacityLimiter(limits.evaluations)
        self.streams = 0

    def close(self) -> None:
        """Stop all work and remove what was only for this session."""
        self.jobs.close()
        self._folder.cleanup()

    def uploads(self) -> Uploads:
        """A folder for the inputs of one job."""
        folder = self._scratch / "inbox" / secrets.token_hex(8)
        return Uploads(folder, self.roots, self.options.limits)

    @property
    def new_runs(self) -> Path:
        """Where a new run goes: to the others if anything may be written, else for the session."""
        return self.options.runs if self.options.write else self.temporary_runs

    def check_writable(self) -> None:
        """Refuse a change where nothing may be written."""
        if not self.options.write:
            message = "This server only reads; start it with --write to keep changes."
            raise ApiError(ErrorCode.READ_ONLY, message)

    def check_capacity(self) -> None:
        """Refuse an evaluation where too many wait already."""
        if (
            self.evaluation_slots.statistics().tasks_waiting
            >= self.options.limits.waiting_evaluations
        ):
            raise ApiError(
                ErrorCode.BUSY,
                "Too many evaluations wait; try again.",
                headers={"Retry-After": "2"},
            )


def get_state(request: Request) -> AppState:
    """The desk of the server that a request came to."""
    state: AppState = request.app.state.fieldmark
    return state
