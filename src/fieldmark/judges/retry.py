"""Retries with exponential backoff, for models and targets."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final, Protocol, TypeVar

TRANSIENT_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""HTTP status codes of errors that may be temporary."""


class Attempt(Protocol):
    """The result of one call: whether it may be retried, and the minimum delay in seconds."""

    @property
    def transient(self) -> bool:
        """Whether the same call may succeed later."""
        ...

    @property
    def retry_after(self) -> float | None:
        """The seconds to wait that the other side asked for."""
        ...


_AttemptT = TypeVar("_AttemptT", bound=Attempt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Delays between attempts, in seconds.

    A delay is random between 0 and `first`, doubled with every attempt up to `longest`, so that
    clients that failed together do not retry together. The server's `Retry-After` is added, up to
    `longest_retry_after`.
    """

    first: float = 0.5
    longest: float = 30.0
    longest_retry_after: float = 60.0

    def delay(
        self,
        retry: int,
        retry_after: float | None = None,
        random_share: Callable[[], float] = random.random,
    ) -> float:
        """Return the delay before a retry, counted from 1; `random_share` returns 0 to 1."""
        longest = min(self.first * 2.0 ** min(retry - 1, 64), self.longest)
        return min(retry_after or 0.0, self.longest_retry_after) + random_share() * longest


def call_with_retries(
    call: Callable[[], _AttemptT],
    retries: int,
    wait: Callable[[int, float | None], bool],
) -> tuple[_AttemptT, int]:
    """Call until the result is not transient; return the last result and the number of calls.

    `wait` receives the number of the retry and the server's `Retry-After`. It waits, and returns
    true if the run was stopped in the meantime, which ends the retries.
    """
    for retry in range(1, retries + 1):
        attempt = call()
        if not attempt.transient or wait(retry, attempt.retry_after):
            return attempt, retry
    return call(), retries + 1


def parse_retry_after(header: str | None) -> float | None:
    """Parse a `Retry-After` header, a number or a date, into seconds, or `None` if it is invalid.

    >>> parse_retry_after("120"), parse_retry_after("soon"), parse_retry_after(None)
    (120.0, None, None)
    """
    text = (header or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


UNAUTHORIZED: Final = 401
_MAX_FAILURES: Final = 10
_PAUSE: Final = 30.0
"""Seconds until one request tests whether the endpoint works again."""


class CircuitBreaker:
    """Refuses requests after rejected credentials, or after many failures in a row; thread-safe.

    After repeated failures, one request is sent every 30 seconds; if it succeeds, all are sent.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rejection = ""
        self._failures = 0
        self._last = ""
        self._closed_until = 0.0

    def __reduce__(self) -> tuple[type[CircuitBreaker], tuple[()]]:
        # Every process has its own.
        return CircuitBreaker, ()

    def refusal(self) -> str:
        """Return why a request is not sent, or an empty string."""
        with self._lock:
            if self._rejection:
                return f"not sent, because an earlier request failed: {self._rejection}"
            if self._failures < _MAX_FAILURES:
                return ""
            now = SYSTEM_CLOCK.now()
            if now >= self._closed_until:
                self._closed_until = now + _PAUSE
                return ""
            return f"not sent, because {self._failures} requests in a row failed: {self._last}"

    def record(self, failure: str, *, transient: bool = False, unauthorized: bool = False) -> None:
        """Record the result of a request and its retries; a success has no failure."""
        with self._lock:
            if unauthorized:
                self._rejection = failure
            elif transient:
                self._failures += 1
                self._last = failure
                self._closed_until = SYSTEM_CLOCK.now() + _PAUSE
            else:
                # The endpoint responded, even if it refused this request.
                self._failures = 0


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


MAX_OVERDUE: Final = 32
"""No call is started while this many calls are overdue."""

_Result = TypeVar("_Result")


class OverdueError(Exception):
    """A call exceeded its time limit; it cannot be stopped and may still be running."""


class TimeLimit:
    """Runs each call in a daemon thread and waits at most `seconds` for it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._overdue = 0
        self._lock = threading.Lock()

    def call(self, function: Callable[[], _Result]) -> _Result:
        """Call a function; raise OverdueError if it does not finish in time."""
        if self._overdue >= MAX_OVERDUE:
            raise OverdueError(f"not called: {self._overdue} overdue calls are still running")
        future: Future[_Result] = Future()

        def run() -> None:
            try:
                future.set_result(function())
            except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        if not wait([future], self.seconds).done:
            self._count_overdue(1)
            future.add_done_callback(lambda _: self._count_overdue(-1))
            raise OverdueError(f"no response within {self.seconds:g} s")
        return future.result()

    def _count_overdue(self, step: int) -> None:
        with self._lock:
            self._overdue += step
