"""Limits on the work of one alignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason

MAX_PAIRS: Final = 4_000_000
"""The maximum number of pairs of unequal items in one alignment."""

FALLBACK_PAIRS: Final = 25_000_000
"""The maximum number of pairs for the greedy method as the fallback of the optimal method."""

MAX_TEXT: Final = 10_000
"""The longest string that is compared by edit distance; longer strings are only equal or not."""

MAX_CHARACTER_PAIRS: Final = 200_000_000_000
"""Character comparisons in one alignment; edit distances of about ten seconds."""

MAX_AGREEMENTS: Final = 500_000_000
"""Leaf comparisons to break ties in one alignment."""

SMALL_PAIRS: Final = 400
"""The number of pairs up to which a loop is always faster than arrays."""

SMALL_CHARACTER_PAIRS: Final = 1_000_000_000
"""The number of character comparisons, by the longest items, up to which a loop is used."""


class TooMuchWork(Exception):
    """The items are too large to compare all pairs."""


def within(expected: int, candidate: int) -> bool:
    """Whether this many items can be compared pair by pair."""
    return expected * candidate <= MAX_PAIRS


def refused(expected: Sequence[JsonValue], candidate: Sequence[JsonValue], note: str) -> Alignment:
    """Return an alignment without pairs that reports the exceeded limit."""
    return Alignment(
        (),
        range(len(expected)),
        range(len(candidate)),
        failed=Reason.TOO_MANY_ITEMS,
        note=note,
    )
