"""Nearest counterparts of items that were not aligned, for display."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from fieldmark.align.greedy import Greedy
from fieldmark.model.json import JsonValue

_ANY: Final = Greedy(threshold=0.0)
_SIMILAR: Final = Greedy(threshold=1e-6)
_MAX_PAIRS: Final = 10_000
_Key = TypeVar("_Key", int, str, int | str)


def nearest_counterparts(
    expected: Mapping[_Key, JsonValue], candidate: Mapping[_Key, JsonValue]
) -> dict[_Key, tuple[_Key, float]]:
    """Return the nearest candidate for unaligned expected items, with its similarity.

    Items with the same key (or index) are counterparts, and then the most similar ones. The result
    has the keys of both; an item is the counterpart of at most one other item.

    >>> nearest_counterparts({0: "blue", 3: "red"}, {1: "bread", 3: "green"})
    {3: (3, 0.4), 0: (1, 0.2)}
    """
    counterparts: dict[_Key, tuple[_Key, float]] = {}
    for key in expected:
        if key in candidate:
            pairs = _ANY.align([expected[key]], [candidate[key]]).pairs
            counterparts[key] = key, pairs[0][2] if pairs else 0.0
    keys = [key for key in expected if key not in counterparts]
    other_keys = [key for key in candidate if key not in counterparts]
    if keys and other_keys and len(keys) * len(other_keys) <= _MAX_PAIRS:
        alignment = _SIMILAR.align(
            [expected[key] for key in keys], [candidate[key] for key in other_keys]
        )
        for index, other_index, similarity in alignment.pairs:
            counterparts[keys[index]] = other_keys[other_index], similarity
    return counterparts
