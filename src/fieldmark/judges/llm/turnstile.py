"""How many requests an endpoint gets at once and in a minute, from all who ask it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fieldmark.judges.llm.clock import Clock

__all__ = ["Turnstile", "turnstile"]

_MINUTE: Final = 60.0


class Turnstile:
    """Lets so many pass at once, and no two closer together than the rate allows."""

    __slots__ = ("_inside", "_left", "_next")

    def __init__(self) -> None:
        self._left = threading.Condition()
        self._inside = 0
        self._next = 0.0

    @contextmanager
    def passing(self, *, at_once: int, per_minute: float | None, clock: Clock) -> Iterator[None]:
        """Wait for a place and for the time; leaving frees the place."""
        with self._left:
            self._left.wait_for(lambda: self._inside < at_once)
            self._inside += 1
        try:
            if per_minute is not None:
                clock.sleep(self._wait(_MINUTE / per_minute, clock))
            yield
        finally:
            with self._left:
                self._inside -= 1
                self._left.notify()

    def _wait(self, spacing: float, clock: Clock) -> float:
        """The seconds until the next free moment, which is taken."""
        with self._left:
            now = clock.now()
            moment = max(now, self._next)
            self._next = moment + spacing
        return moment - now


_TURNSTILES: Final[dict[str, Turnstile]] = {}
_LOCK: Final = threading.Lock()


def turnstile(endpoint: str) -> Turnstile:
    """The one turnstile of an endpoint in this process."""
    with _LOCK:
        return _TURNSTILES.setdefault(endpoint, Turnstile())
