"""Limits concurrent requests and requests per minute to an endpoint."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Monotonic time in seconds, sleep, and random numbers from 0 to 1; replaceable in tests."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random


SYSTEM_CLOCK: Final = Clock()


class RateLimiter:
    """Limits concurrent requests, and spaces them evenly by the rate."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._active = 0
        self._next = 0.0

    @contextmanager
    def slot(self, concurrency: int, per_minute: float | None) -> Iterator[None]:
        """Wait until a request may be sent; leaving the context admits the next one."""
        with self._condition:
            self._condition.wait_for(lambda: self._active < concurrency)
            self._active += 1
        try:
            if per_minute is not None:
                with self._condition:
                    now = SYSTEM_CLOCK.now()
                    reserved = max(now, self._next)
                    self._next = reserved + 60.0 / per_minute
                SYSTEM_CLOCK.sleep(reserved - now)
            yield
        finally:
            with self._condition:
                self._active -= 1
                self._condition.notify()


_LIMITERS: Final[dict[str, RateLimiter]] = {}
_LOCK: Final = threading.Lock()


def shared_rate_limiter(endpoint: str) -> RateLimiter:
    """Return the limiter of an endpoint, which is shared within the process."""
    with _LOCK:
        return _LIMITERS.setdefault(endpoint, RateLimiter())
