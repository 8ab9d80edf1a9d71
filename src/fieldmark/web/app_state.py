"""The state of a running server, shared by all routes."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Final, TypeAlias, TypeVar

import anyio.to_thread
from fastapi import Depends, Request

from fieldmark.data.roots import DataRoots
from fieldmark.model.json import JsonValue
from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.jobs import JobQueue
from fieldmark.web.page_images import PageImages
from fieldmark.web.run_catalog import RunCatalog, RunDiffs
from fieldmark.web.server_options import ServerOptions

_Result = TypeVar("_Result")


INBOX: Final = "inbox"
"""The directory below `AppState.scratch` with the inputs of batches."""
_BEGIN: Final = r"(?<![\w.-])"
_END: Final = r"(?![\w-]|\.\w)"
"""Only whole paths are replaced: `/data` is not replaced in `n/data` or `/database`."""
_SEPARATOR: Final = r"(?:/|\\+)"
"""A slash, or a backslash of Windows, which is doubled in quoted text."""


class PathRedactor:
    """Removes the paths of known directories from text, but not the part below them."""

    def __init__(self, scratch: Path, directories: Iterable[Path]) -> None:
        absolute = {os.path.abspath(path) for path in directories}  # noqa: PTH100 - keeps links
        paths = absolute | {os.path.realpath(path) for path in absolute}
        longest = sorted((path for path in paths if path != "/"), key=len, reverse=True)
        private = _escape(os.path.realpath(scratch))
        upload = f"{private}{_SEPARATOR}{INBOX}{_SEPARATOR}[0-9a-f]+{_SEPARATOR}(?:truth|candidate)"
        known = "|".join(
            [
                upload + _SEPARATOR,
                f"{private}(?:{_SEPARATOR})?",
                *(f"{_escape(path)}(?:{_SEPARATOR}|{_END})" for path in longest),
            ]
        )
        ignores_case = os.path.normcase("A") == "a"
        self._pattern = re.compile(
            f"{_BEGIN}(?:{known})", re.IGNORECASE if ignores_case else re.NOFLAG
        )

    def redact_text(self, text: str) -> str:
        """Return the text without the paths of known directories."""
        return self._pattern.sub("", text)

    def redact(self, value: JsonValue) -> JsonValue:
        """Redact all strings of a JSON value except keys, which are never file paths."""
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, list):
            return [self.redact(item) for item in value]
        if isinstance(value, dict):
            return {key: self.redact(item) for key, item in value.items()}
        return value

    def redact_error(self, error: ApiError) -> None:
        """Redact the message and the problems of an error in place."""
        error.message = self.redact_text(error.message)
        error.problems = [self.redact(problem) for problem in error.problems]


def _escape(path: str) -> str:
    """Return the pattern of a path, however its separators are written."""
    return _SEPARATOR.join(map(re.escape, re.split(r"[/\\]", path)))


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
