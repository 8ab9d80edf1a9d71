"""Similarities of a few items, by plain loops; `columns` computes the same ones for many."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple, TypeAlias

from rapidfuzz.distance import Levenshtein

from fieldmark.align.leaves import Cells, Path, is_iso_date

__all__ = ["UNIT", "Edge", "edges", "gate_of", "text_similarity"]

UNIT: Final = 1e12
"""A weight is a similarity in units of 1e-12, rounded: whole numbers add and compare exactly."""

_TOLERANCE: Final = 1e-9
_MARGIN: Final = 1e-6  # so that no rounding rules out a pair that would reach the gate
_distance: Final = Levenshtein.distance
_Texts: TypeAlias = list[tuple[Path, str]]


class Edge(NamedTuple):
    """Two items, by their places in the rests, that are similar enough to be paired."""

    weight: float
    expected: int
    candidate: int


def gate_of(threshold: float) -> float:
    """The weight from which on two items may be paired."""
    return (threshold - _TOLERANCE) * UNIT


def text_similarity(expected: str, candidate: str) -> float:
    """One minus the edit distance by the longer length; two dates are equal or not.

    >>> text_similarity("kitten", "mitten") == 1 - 1 / 6
    True
    """
    if expected == candidate:
        return 1.0
    if expected[4:5] == "-" == candidate[4:5] and is_iso_date(expected) and is_iso_date(candidate):
        return 0.0
    longer = max(len(expected), len(candidate))
    return 1.0 - _distance(expected, candidate) / longer


def edges(expected: Sequence[Cells], candidate: Sequence[Cells], gate: float) -> list[Edge]:
    """Every pair whose similarity reaches the gate, in the order of the places."""
    holders: dict[tuple[Path, Hashable], list[int]] = {}
    for place, cells in enumerate(candidate):
        for leaf in cells.items():
            holders.setdefault(leaf, []).append(place)
    smallest = min(map(len, candidate))
    share = gate / UNIT - _MARGIN
    found = []
    for place, cells in enumerate(expected):
        texts, size = _texts(cells), len(cells)
        # Each text can add 1 at most. Most pairs share too little else, and are not looked at.
        alone = len(texts) >= share * max(size, smallest)
        equal_leaves = dict.fromkeys(range(len(candidate)), 0) if alone else {}
        for leaf in cells.items():
            for other in holders.get(leaf, ()):
                equal_leaves[other] = equal_leaves.get(other, 0) + 1
        for other, count in equal_leaves.items() if alone else sorted(equal_leaves.items()):
            if count + len(texts) >= share * max(size, len(candidate[other])):
                weight = _weight(cells, candidate[other], texts, count)
                if weight >= gate:
                    found.append(Edge(weight, place, other))
    return found


def _texts(cells: Cells) -> _Texts:
    texts = [(path, cell) for path, cell in cells.items() if type(cell) is str]
    if len(texts) > 2:  # noqa: PLR2004 - the order of two does not change a sum
        texts.sort(key=lambda leaf: repr(leaf[0]))
    return texts


def _weight(expected: Cells, candidate: Cells, texts: _Texts, equal_leaves: int) -> float:
    """The mean over the leaves present in either item, as a weight."""
    leaves = len(expected)
    if expected.keys() != candidate.keys():
        leaves += len(candidate) - len(expected.keys() & candidate.keys())
    total = 0.0
    for path, text in texts:
        other = candidate.get(path)
        if type(other) is str:
            similarity = text_similarity(text, other)
            total += similarity
            if similarity == 1.0:
                equal_leaves -= 1
    return float(round((total + equal_leaves) / (leaves or 1) * UNIT))
