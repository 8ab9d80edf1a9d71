"""How many leaves of two items are equal: what decides between equally similar pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from fieldmark.align.columns import codes_of
from fieldmark.align.leaves import Cells, Path, tokens_of
from fieldmark.align.limits import MAX_AGREEMENTS, TooMuchWork
from fieldmark.model.json import JsonValue

if TYPE_CHECKING:
    from fieldmark.align.columns import Integers

__all__ = ["Agreement"]


class Agreement:
    """Counts the equal leaves of pairs of items; an item is taken apart when first asked for."""

    __slots__ = ("_candidate", "_expected", "_left", "_right")

    def __init__(self, expected: Sequence[JsonValue], candidate: Sequence[JsonValue]) -> None:
        self._expected = expected
        self._candidate = candidate
        self._left: dict[int, Cells] = {}
        self._right: dict[int, Cells] = {}

    def of(self, place: int, other: int) -> int:
        """The equal leaves of one pair."""
        left, right = self._left.get(place), self._right.get(other)
        if left is None:
            left = self._left[place] = tokens_of(self._expected[place])
        if right is None:
            right = self._right[other] = tokens_of(self._candidate[other])
        return len(left.items() & right.items())

    def of_all(self, places: Integers, others: Integers) -> Integers:
        """The equal leaves of many pairs at once."""
        import numpy as np

        left = _columns(self._expected, np.unique(places).tolist())
        right = _columns(self._candidate, np.unique(others).tolist())
        shared = left.keys() & right.keys()
        if len(shared) * len(places) > MAX_AGREEMENTS:
            raise TooMuchWork
        counts = np.zeros(len(places), dtype=np.intp)
        for path in shared:
            ours, theirs = left[path], right[path]
            codes, other_codes = codes_of(list(ours.values()), list(theirs.values()))
            code = np.full(len(self._expected), -1)
            other_code = np.full(len(self._candidate), -2)
            code[list(ours)] = codes
            other_code[list(theirs)] = other_codes
            counts += code[places] == other_code[others]
        return counts


def _columns(items: Sequence[JsonValue], places: list[int]) -> dict[Path, dict[int, Hashable]]:
    """The tokens at each path, by the places of the items that have one there."""
    columns: dict[Path, dict[int, Hashable]] = defaultdict(dict)
    for place in places:
        for path, token in tokens_of(items[place]).items():
            columns[path][place] = token
    return columns
