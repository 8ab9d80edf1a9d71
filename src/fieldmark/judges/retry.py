"""Retries with exponential backoff, for models and targets."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
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
