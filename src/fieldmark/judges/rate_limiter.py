"""Limits the requests to an endpoint, at the same time and per minute, by a replaceable clock."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

__all__ = ["SYSTEM_CLOCK", "Clock", "RateLimiter", "shared_rate_limiter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """A monotonic time in seconds, a way to sleep, and a random number between 0 and 1."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


SYSTEM_CLOCK: Final = Clock()


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
                with self._condition:
                    now = clock.now()
                    reserved = max(now, self._next)
                    self._next = reserved + 60.0 / per_minute
                clock.sleep(reserved - now)
            yield
        finally:
            with self._condition:
                self._active -= 1
                self._condition.notify()


_LIMITERS: Final[dict[str, RateLimiter]] = {}
_LOCK: Final = threading.Lock()


def shared_rate_limiter(endpoint: str) -> RateLimiter:
    """Return the limiter that everything in this process shares for an endpoint."""
    with _LOCK:
        return _LIMITERS.setdefault(endpoint, RateLimiter())
