"""Stops sending requests to an endpoint that rejects the credentials or keeps failing."""

from __future__ import annotations

import threading
from typing import Final

from fieldmark.judges import rate_limiter

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
            now = rate_limiter.SYSTEM_CLOCK.now()
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
                self._closed_until = rate_limiter.SYSTEM_CLOCK.now() + _PAUSE
            else:
                # The endpoint responded, even if it refused this request.
                self._failures = 0
