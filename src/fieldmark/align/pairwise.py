"""Similarities of pairs that share enough, one by one; `columns` computes the same for all pairs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Final, TypeAlias

from rapidfuzz.distance import Levenshtein

from fieldmark.align.leaves import Cells, Path, is_iso_date
from fieldmark.align.limits import MAX_TEXT

__all__ = ["UNIT", "Edge", "edges", "gate_of", "text_similarity"]

UNIT: Final = 1e12
"""A weight is a similarity in units of 1e-12, rounded: whole numbers add and compare exactly."""

Edge: TypeAlias = tuple[float, int, int]
"""The weight of two items that may be paired, and their places in the two rests."""

_TOLERANCE: Final = 1e-9
_MARGIN: Final = 1e-6  # so that no rounding rules out a pair that would reach the gate
_UNEQUAL: Final = 1 - 1 / MAX_TEXT
"""No two texts that differ are more similar than this."""

_similarity: Final = Levenshtein.normalized_similarity
_Texts: TypeAlias = list[tuple[Path, str]]
_Holders: TypeAlias = dict[tuple[Path, Hashable], list[int]]


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
    return _similarity(expected, candidate)


def edges(
    expected: Sequence[Cells], candidate: Sequence[Cells], gate: float, most: float
) -> list[Edge] | None:
    """Every pair whose weight reaches the gate, in the order of the places.

    None if more than the given number of pairs would have to be looked at: most pairs share too
    few equal leaves to reach the gate, whatever their texts are, and are not.
    """
    holders: _Holders = {}
    for place, cells in enumerate(candidate):
        for leaf in cells.items():
            if leaf in holders:
                holders[leaf].append(place)
            else:
                holders[leaf] = [place]
    texts = [_texts(cells) for cells in expected]
    share, smallest = gate / UNIT - _MARGIN, min(map(len, candidate))
    # Where unequal texts may do, a pair need not share any leaf.
    alone = [
        len(own) * _UNEQUAL >= share * max(len(cells), smallest)
        for cells, own in zip(expected, texts, strict=True)
    ]
    if _looked_at(expected, candidate, holders, sum(alone)) > most:
        return None
    found = []
    for place, cells in enumerate(expected):
        own, size = texts[place], len(cells)
        shared = dict.fromkeys(range(len(candidate)), 0) if alone[place] else {}
        for leaf in cells.items():
            for other in holders.get(leaf, ()):
                shared[other] = shared.get(other, 0) + 1
        reach = len(own) * _UNEQUAL
        for other, count in shared.items() if alone[place] else sorted(shared.items()):
            others = candidate[other]
            larger = len(others)
            if count + reach >= share * (size if size > larger else larger):
                weight = _weight(cells, others, own, count)
                if weight >= gate:
                    found.append((weight, place, other))
    return found
