"""The plug-in protocol of targets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar, Final, NamedTuple, Protocol, TypeAlias

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

__all__ = ["TargetCall", "TargetResponse", "TargetSource", "file_digest"]

_MAX_HASHED_BYTES: Final = 64 << 20
"""Larger files, such as models, are identified by size and modification time."""


class TargetResponse(NamedTuple):
    """One response: model output as text, a JSON value, or a failure.

    `unreadable` says why a response has no prediction, although the target works: a refusal, or a
    filtered answer. Then all fields of the case are missing. A transient failure is retried, after
    `retry_after` seconds if the target requested it. If it was `unauthorized`, no further request
    is sent. `usage` is the served model and the tokens, cost and seconds of the response. `on_use`
    is called when the response becomes the candidate of a case. A `warning` concerns the whole run.
    """

    text: str | None = None
    value: JsonValue | Missing = MISSING
    failure: str = ""
    unreadable: str = ""
    transient: bool = False
    retry_after: float | None = None
    unauthorized: bool = False
    usage: JsonObject | None = None
    on_use: Callable[[], None] | None = None
    warning: str = ""


TargetCall: TypeAlias = Callable[[JsonObject], TargetResponse]
"""Sends one request; thread-safe, and never raises an exception for a response."""


class TargetSource(Protocol):
    """A type of target: a frozen dataclass whose fields are its options."""

    name: ClassVar[str]

    def unready(self) -> str | None:
        """Return why the target cannot produce candidates, or `None`; called before the run."""
        ...

    def identity(self) -> JsonObject:
        """Return everything that a response depends on besides the request, without secrets."""
        ...

    def opened(self, timeout: float) -> AbstractContextManager[TargetCall]:
        """Open the target for one run, with a time limit of `timeout` seconds per call.

        Leaving the context ends everything that was started.
        """
        ...


def file_digest(path: Path) -> str | None:
    """Return the digest of a file, or `None` if it cannot be read."""
    try:
        if not path.is_file():
            return None
        stat = path.stat()
        if stat.st_size > _MAX_HASHED_BYTES:
            return f"{stat.st_size}:{stat.st_mtime_ns}"
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None
