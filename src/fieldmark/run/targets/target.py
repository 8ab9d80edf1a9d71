"""The plug-in protocol of targets: what produces candidates, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

__all__ = ["TargetCall", "TargetResponse", "TargetSource"]


class TargetResponse(NamedTuple):
    """One response: the text of a model, or a JSON value, or a failure.

    A transient failure is worth a retry, `retry_after` seconds later if the target said so.
    """

    text: str | None = None
    value: JsonValue | Missing = MISSING
    failure: str = ""
    transient: bool = False
    retry_after: float | None = None


TargetCall: TypeAlias = Callable[[JsonObject], TargetResponse]
"""Sends one request; thread-safe, and never raises on what comes back."""


class TargetSource(Protocol):
    """A kind of target: a frozen dataclass whose fields are its options."""

    name: ClassVar[str]

    def unready(self) -> str | None:
        """Return why the target cannot produce any candidate, or none; asked before the run."""
        ...

    def identity(self) -> JsonObject:
        """Return everything that a response depends on besides the request, without secrets."""
        ...

    def opened(self, timeout: float) -> AbstractContextManager[TargetCall]:
        """Open the target for one run, with `timeout` seconds for each call.

        Leaving the context ends everything that was started.
        """
        ...
