"""A judge of one's own: texts are as alike as the words they share."""

from __future__ import annotations

from collections.abc import Sequence


def alike(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """One similarity from 0 to 1 for each pair of texts."""
    return [_shared(expected, candidate) for expected, candidate in pairs]


def _shared(expected: str, candidate: str) -> float:
    want, got = set(expected.lower().split()), set(candidate.lower().split())
    return len(want & got) / len(want | got) if want | got else 1.0
