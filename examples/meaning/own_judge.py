"""A custom similarity: the share of common words."""

from __future__ import annotations

from collections.abc import Sequence


def similarity(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Return a similarity from 0 to 1 for each pair of strings."""
    return [_jaccard(expected, candidate) for expected, candidate in pairs]


def _jaccard(expected: str, candidate: str) -> float:
    left, right = set(expected.lower().split()), set(candidate.lower().split())
    return len(left & right) / len(left | right) if left | right else 1.0
