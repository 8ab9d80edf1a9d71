"""Nearest counterparts of items that were not aligned, for display."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from fieldmark.align.greedy import Greedy
from fieldmark.model.json import JsonValue

_ANY: Final = Greedy(threshold=0.0)
_SIMILAR: Final = Greedy(threshold=1e-6)
_MAX_PAIRS: Final = 10_000
_Place = TypeVar("_Place", int, str, int | str)


def nearest_counterparts(
    expected: Mapping[_Place, JsonValue], candidate: Mapping[_Place, JsonValue]
) -> dict[_Place, tuple[_Place, float]]:
    """Return the nearest candidate for unaligned expected items, with its similarity.

    Items in the same place are counterparts, and then the most similar ones. Both are given by
    their place; an item is the counterpart of at most one other item.

    >>> nearest_counterparts({0: "blue", 3: "red"}, {1: "bread", 3: "green"})
    {3: (3, 0.4), 0: (1, 0.2)}
    """
    counterparts: dict[_Place, tuple[_Place, float]] = {}
    for place in expected:
        if place in candidate:
            pairs = _ANY.align([expected[place]], [candidate[place]]).pairs
            counterparts[place] = place, pairs[0][2] if pairs else 0.0
    places = [place for place in expected if place not in counterparts]
    other_places = [place for place in candidate if place not in counterparts]
    if places and other_places and len(places) * len(other_places) <= _MAX_PAIRS:
        alignment = _SIMILAR.align(
            [expected[place] for place in places], [candidate[place] for place in other_places]
        )
        for index, other_index, similarity, _ in alignment.pairs:
            counterparts[places[index]] = other_places[other_index], similarity
    return counterparts
