"""Greedy alignment: the most similar pairs first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from fieldmark.align.item_similarity import Edge, EdgeArrays, EqualLeafCounter
from fieldmark.align.similarity_alignment import (
    SelectionMethod,
    SimilarityAligner,
)
from fieldmark.values.arrays import np

_BATCH: Final = 16_384  # pairs per pass before pairs of aligned items are dropped


def _select_few(edges: list[Edge], agreement: EqualLeafCounter) -> list[Edge]:
    expected_weights = Counter(edge[:2] for edge in edges)
    candidate_weights = Counter(edge[::2] for edge in edges)
    order = []
    for edge in edges:
        weight, index, other = edge
        # Equal leaves are only counted for equally similar pairs with a common item.
        tied = expected_weights[edge[:2]] > 1 or candidate_weights[edge[::2]] > 1
        order.append((-weight, -agreement.count(index, other) if tied else 0, index, other))
    order.sort()
    return _without_conflicts((-entry[0], *entry[2:]) for entry in order)


def _select_many(edges: EdgeArrays, agreement: EqualLeafCounter) -> Iterator[Edge]:
    weights, places, others = edges
    rivals = (np.bincount(places)[places] > 1) | (np.bincount(others)[others] > 1)
    agreements = np.zeros(len(weights), dtype=np.intp)
    if rivals.any():
        agreements[rivals] = agreement.count_all(places[rivals], others[rivals])
    order = np.lexsort((-agreements, -weights))  # stable: equals keep their order
    free = np.ones(places.max(initial=0) + 1, dtype=np.bool_)
    other_free = np.ones(others.max(initial=0) + 1, dtype=np.bool_)
    for start in range(0, len(order), _BATCH):
        chunk = order[start : start + _BATCH]
        chunk = chunk[free[places[chunk]] & other_free[others[chunk]]]
        for edge in _without_conflicts(
            zip(*(column[chunk].tolist() for column in edges), strict=True)
        ):
            free[edge[1]] = other_free[edge[2]] = False
            yield edge


def _without_conflicts(edges: Iterable[Edge]) -> list[Edge]:
    """Return the pairs whose items are in no earlier pair."""
    taken: set[int] = set()
    others: set[int] = set()
    chosen = []
    for edge in edges:
        _, index, other = edge
        if index not in taken and other not in others:
            taken.add(index)
            others.add(other)
            chosen.append(edge)
    return chosen


GREEDY: Final = SelectionMethod(few=_select_few, many=_select_many)
"""Select the most similar remaining pair first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy(SimilarityAligner):
    """Align the most similar items first, if their similarity is at least `threshold`.

    Items are compared by `match_fields`, or by all their leaves if it is not set. The default
    threshold is 0.8 with match fields and 0.5 without. Ties are broken by the number of equal
    leaves, then by canonical order. With `similarity: equality`, only equal leaves count. With
    `iou` or `distance`, lists and objects are compared as boxes or points, and the comparator sets
    the default threshold.

    >>> Greedy().align(["blue", "red"], ["bleu", "black"]).pairs
    [(0, 0, 0.5)]
    """

    name: ClassVar[str] = "greedy"
    selection: ClassVar[SelectionMethod] = GREEDY
