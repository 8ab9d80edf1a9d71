"""How much work an alignment may be, and what is said beyond that."""

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
"""Similarities between items that no equal item was found for."""

FALLBACK_PAIRS: Final = 25_000_000
"""Similarities that the greedy method may compute where it stands in for the optimal one."""

MAX_TEXT: Final = 10_000
"""Characters of a text that is compared by edit distance; a longer one is equal or not."""

MAX_CHARACTER_PAIRS: Final = 200_000_000_000
"""Character comparisons of one alignment: some ten seconds of edit distances."""

MAX_AGREEMENTS: Final = 500_000_000
"""Leaf comparisons that the ties of one alignment may need."""

SMALL_PAIRS: Final = 400
"""Similarities up to which a plain loop is always faster than arrays."""

SMALL_CHARACTER_PAIRS: Final = 1_000_000_000
"""Character comparisons that a plain loop may be asked for, by the longest items."""


class TooMuchWork(Exception):
    """The items are few enough, but what they hold is too much to compare."""


def within(expected: int, candidate: int) -> bool:
    """Whether so many items of the two lists may be compared each with each."""
    return expected * candidate <= MAX_PAIRS


def refused(expected: Sequence[JsonValue], candidate: Sequence[JsonValue], note: str) -> Alignment:
    """An alignment that was not made because of a limit: nothing is paired."""
    return Alignment(
        (),
        range(len(expected)),
        range(len(candidate)),
        failed=Reason.TOO_MANY_ITEMS,
        note=note,
    )
