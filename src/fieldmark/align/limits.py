"""Limits on the work of one alignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason

__all__ = [
    "FALLBACK_PAIRS",
    "MAX_AGREEMENTS",
    "MAX_CHARACTER_PAIRS",
    "MAX_PAIRS",
    "MAX_TEXT",
    "SMALL_CHARACTER_PAIRS",
    "SMALL_PAIRS",
    "TooMuchWork",
    "refused",
    "within",
]

MAX_PAIRS: Final = 4_000_000
"""Similarities between items without an equal one."""

FALLBACK_PAIRS: Final = 25_000_000
"""Similarities that the greedy method may compute as the fallback of the optimal one."""

MAX_TEXT: Final = 10_000
"""Characters of a text that is compared by edit distance; longer ones by equality."""

MAX_CHARACTER_PAIRS: Final = 200_000_000_000
"""Character comparisons of one alignment: about ten seconds of edit distances."""

MAX_AGREEMENTS: Final = 500_000_000
"""Leaf comparisons to break the ties of one alignment."""

SMALL_PAIRS: Final = 400
"""Similarities up to which a loop is always faster than arrays."""

SMALL_CHARACTER_PAIRS: Final = 1_000_000_000
"""Character comparisons up to which a loop is used, by the longest items."""


class TooMuchWork(Exception):
    """The items are too large to compare all pairs."""


def within(expected: int, candidate: int) -> bool:
    """Whether so many items may be compared pair by pair."""
    return expected * candidate <= MAX_PAIRS


def refused(expected: Sequence[JsonValue], candidate: Sequence[JsonValue], note: str) -> Alignment:
    """Return an alignment without pairs that reports an exceeded limit."""
    return Alignment(
        (),
        range(len(expected)),
        range(len(candidate)),
        failed=Reason.TOO_MANY_ITEMS,
        note=note,
    )
