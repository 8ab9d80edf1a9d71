"""Limits the requests to an endpoint, at the same time and per minute."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fieldmark.judges.clock import Clock

__all__ = ["RateLimiter", "rate_limiter"]

_MINUTE: Final = 60.0


class RateLimiter:
    """Admits a number of requests at the same time, evenly spaced by the rate."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._active = 0
        self._next = 0.0

    @contextmanager
    def slot(self, *, concurrency: int, per_minute: float | None, clock: Clock) -> Iterator[None]:
        """Wait until a request may be sent; leaving the context admits another one."""
        with self._condition:
            self._condition.wait_for(lambda: self._active < concurrency)
            self._active += 1
        try:
            if per_minute is not None:
                clock.sleep(self._reserve_time(_MINUTE / per_minute, clock))
            yield
        finally:
            with self._condition:
                self._active -= 1
                self._condition.notify()

    def _reserve_time(self, spacing: float, clock: Clock) -> float:
        """Reserve the next free time and return the seconds until then."""
        with self._condition:
            now = clock.now()
            reserved = max(now, self._next)
            self._next = reserved + spacing
        return reserved - now


_LIMITERS: Final[dict[str, RateLimiter]] = {}
_LOCK: Final = threading.Lock()


def rate_limiter(endpoint: str) -> RateLimiter:
    """Return the limiter that everything in this process shares for an endpoint."""
    with _LOCK:
        return _LIMITERS.setdefault(endpoint, RateLimiter())
