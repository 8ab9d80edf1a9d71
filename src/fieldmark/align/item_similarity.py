"""Similarities of pairs that share enough, one by one; `columns` computes those of all pairs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, TypeAlias

from rapidfuzz.distance import Levenshtein

from fieldmark.align import compiled
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

_TINY: Final = 16  # pairs that are compared each with each before an index of leaves is made

_WHOLE: Final = 2.0**52
"""What to add to a smaller float, and to take away again, to round it to the next whole number."""

_similarity: Final = Levenshtein.normalized_similarity
_Texts: TypeAlias = list[tuple[Path, str]]
_NearPair: TypeAlias = tuple[int, int, int]
"""The places of two items, and how many leaves are equal."""
_Holders: TypeAlias = dict[tuple[Path, Hashable], list[int]]


def gate_of(threshold: float) -> float:
    """The weight from which on two items may be paired."""
    return (threshold - _TOLERANCE) * UNIT


def text_similarity(expected: str, candidate: str) -> float:
    """One minus the edit distance by the longer length; two dates that differ have nothing alike.

    >>> text_similarity("kitten", "mitten") == 1 - 1 / 6
    True
    """
    if expected[4:5] == "-" == candidate[4:5] and is_iso_date(expected) and is_iso_date(candidate):
        return 0.0
    return _similarity(expected, candidate)


def edges(
    expected: list[Cells], candidate: list[Cells], gate: float, most: int
) -> list[Edge] | None:
    """Every pair whose weight reaches the gate.

    None if more than the given number of pairs would have to be looked at: most pairs share too
    few equal leaves to reach the gate, whatever their texts are, and are not.
    """
    near_of = compiled.items.near if compiled.COMPILED else _near
    near = near_of(expected, candidate, gate / UNIT - _MARGIN, _UNEQUAL, most, _TINY)
    if near is None:
        return None
    texts = {place: _texts(expected[place]) for place in {pair[0] for pair in near}}
    found: list[Edge] = []
    for place, other, shared in near:
        weight = _weight(expected[place], candidate[other], texts[place], shared)
        if weight >= gate:
            found.append((weight, place, other))
    return found


def _near(
    expected: list[Cells],
    candidate: list[Cells],
    share: float,
    unequal: float,
    most: int,
    tiny: int,
) -> list[_NearPair] | None:
    """The pairs whose shared leaves and texts may reach a share of their leaves.

    A text that is not the same adds up to `unequal`.
    """
    reaches = [sum(type(cell) is str for cell in cells.values()) * unequal for cells in expected]
    if len(expected) * len(candidate) <= min(most, tiny):
        return _near_each(expected, candidate, reaches, share)
    return _near_by_leaf(expected, candidate, reaches, share, most)


def _near_each(
    expected: list[Cells], candidate: list[Cells], reaches: list[float], share: float
) -> list[_NearPair]:
    """The same, found by comparing each with each."""
    near: list[_NearPair] = []
    for place, cells in enumerate(expected):
        size, reach, leaves = len(cells), reaches[place], cells.items()
        for other, others in enumerate(candidate):
            shared = len(leaves & others.items())
            if shared + reach >= share * max(size, len(others)):
                near.append((place, other, shared))
    return near


def _near_by_leaf(
    expected: list[Cells],
    candidate: list[Cells],
    reaches: list[float],
    share: float,
    most: int,
) -> list[_NearPair] | None:
    """The same, found by looking up who has a leaf; none if more than so many share one."""
    sizes = list(map(len, candidate))
    smallest = min(sizes)
    # Where unequal texts may do, no leaf need be shared.
    alone = [
        reach >= share * max(len(cells), smallest)
        for reach, cells in zip(reaches, expected, strict=True)
    ]
    if sum(alone) * len(candidate) > most:
        return None
    holders = _holders(candidate)
    near: list[_NearPair] = []
    for place, cells in enumerate(expected):
        size, reach = len(cells), reaches[place]
        counts = dict.fromkeys(range(len(candidate)), 0) if alone[place] else {}
        for leaf in cells.items():
            for other in holders.get(leaf, ()):
                counts[other] = counts.get(other, 0) + 1
        most -= len(counts)
        if most < 0:
            return None
        for other, shared in counts.items():
            if shared + reach >= share * max(size, sizes[other]):
                near.append((place, other, shared))
    return near


def _holders(candidate: list[Cells]) -> _Holders:
    """The places of the items that have a leaf, for each leaf."""
    holders: _Holders = {}
    for place, cells in enumerate(candidate):
        for leaf in cells.items():
            if leaf in holders:
                holders[leaf].append(place)
            else:
                holders[leaf] = [place]
    return holders


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
        if text == other:
            total += 1.0
            equal_leaves -= 1
        elif type(other) is str:
            total += text_similarity(text, other)
    return (total + equal_leaves) / (leaves or 1) * UNIT + _WHOLE - _WHOLE
