"""What a target is asked, what it answers, and the protocol by which targets plug in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

__all__ = ["Asking", "Produced", "Source"]


class Produced(NamedTuple):
    """One answer: text that a model wrote, or a JSON value, or the failure to get either.

    A transient failure may be gone when asked again, after the `pause` in seconds that the other
    side asked for.
    """

    text: str | None = None
    value: JsonValue | Missing = MISSING
    failure: str = ""
    transient: bool = False
    pause: float | None = None


Asking: TypeAlias = Callable[[JsonObject], Produced]
"""Asks once; never raises on what comes back, and may be called from several threads at once."""


class Source(Protocol):
    """Something outside that makes candidates; a frozen dataclass whose fields are its options."""

    name: ClassVar[str]

    def unready(self) -> str | None:
        """Why not a single candidate could be made, found out before the first; else nothing."""
        ...

    def identity(self) -> JsonObject:
        """All that an answer depends on besides the request, without any secret."""
        ...

    def opened(self, timeout: float) -> AbstractContextManager[Asking]:
        """What is asked during one run, `timeout` seconds at most each time.

        Leaving it ends all that was started.
        """
        ...
