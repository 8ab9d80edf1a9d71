"""Everything that routes share: options, places, jobs, runs, and what may be said aloud."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

import anyio
from fastapi import Request

from fieldmark.server.hiding import Hiding
from fieldmark.server.jobs import Jobs
from fieldmark.server.options import ServerOptions
from fieldmark.server.places import Places
from fieldmark.server.refusals import Code, Refusal
from fieldmark.server.scratch import Inbox
from fieldmark.server.shelf import Shelf

__all__ = ["Desk", "desk_of"]


class Desk:
    """The state of one server, from its start to its end."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self._folder = tempfile.TemporaryDirectory(prefix="fieldmark-serve-")
        scratch = Path(os.path.realpath(self._folder.name))
        self.hiding = Hiding(scratch, [options.workspace, *options.roots.values(), Path.cwd()])
        self.places = Places(options.roots)
        self.fleeting = scratch / "runs"
        self.shelf = Shelf(options.runs, self.fleeting)
        self._scratch = scratch
        bounds = options.bounds
        self.jobs = Jobs(waiting=bounds.waiting_jobs, kept=bounds.kept_jobs, shown=self.hiding.text)
        self.turns = anyio.CapacityLimiter(bounds.evaluations)
        self.streams = 0

    def close(self) -> None:
        """Stop all work and remove what was only for this session."""
        self.jobs.close()
        self._folder.cleanup()

    def inbox(self) -> Inbox:
        """A folder for the inputs of one job."""
        folder = self._scratch / "inbox" / secrets.token_hex(8)
        return Inbox(folder, self.places, self.options.bounds)

    @property
    def new_runs(self) -> Path:
        """Where a new run goes: to the others if anything may be written, else for the session."""
        return self.options.runs if self.options.write else self.fleeting

    def must_write(self) -> None:
        """Refuse a change where nothing may be written."""
        if not self.options.write:
            message = "This server only reads; start it with --write to keep changes."
            raise Refusal(Code.READ_ONLY, message)

    def must_have_a_turn(self) -> None:
        """Refuse an evaluation where too many wait already."""
        if self.turns.statistics().tasks_waiting >= self.options.bounds.waiting_evaluations:
            raise Refusal(
                Code.BUSY, "Too many evaluations wait; try again.", headers={"Retry-After": "2"}
            )


def desk_of(request: Request) -> Desk:
    """The desk of the server that a request came to."""
    desk: Desk = request.app.state.desk
    return desk
