"""Which failures may pass, and how long to wait before asking again."""

from __future__ import annotations

from typing import Final

from fieldmark.judges.llm.clock import Clock

__all__ = ["LONGEST_ASKED_FOR", "TRANSIENT", "pause"]

TRANSIENT: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""Too busy, broken down for now, or late."""
LONGEST_ASKED_FOR: Final = 60.0
"""The most seconds that an endpoint can make us wait."""
_FIRST: Final = 0.5
_LONGEST: Final = 20.0


def pause(attempt: int, asked_for: float | None, clock: Clock) -> float:
    """The seconds to wait before an attempt, where 1 is the first that is made again.

    Any time up to half a second, doubled with every attempt: those who failed together do not
    come back together. What the endpoint asks for is honoured within bounds.
    """
    most = min(_FIRST * 2.0 ** min(attempt - 1, 16), _LONGEST)
    least = min(asked_for or 0.0, LONGEST_ASKED_FOR)
    return least + clock.chance() * most
