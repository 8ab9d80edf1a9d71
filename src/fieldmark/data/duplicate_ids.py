"""Duplicate ids in a stream of rows, found with eight bytes per row."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from operator import lt
from typing import Final, cast

from fieldmark.data.layout import Layout, apply_layout
from fieldmark.data.rows import RowSource
from fieldmark.errors import DataError, Location

__all__ = ["DuplicateIds", "first_duplicate"]

_FIRST_CHECK: Final = 1024
_BY_SORTING: Final = 1 << 16
"""From this many rows on, sorting an array takes less memory than a set."""
_KEPT_ASCENDING: Final = 1 << 17
"""Hashes of ascending ids that are kept without a source, in case later ids do not ascend."""


class DuplicateIds:
    """Collects the hashes of ids and detects ids that occur twice.

    While each id is greater than the one before, none can be repeated. Otherwise the hashes are
    searched. With a `source`, that happens each time the number of rows has doubled and once at
    the end, and a duplicate is an error that names both places. Without one, only `may_repeat`
    tells, and the hashes of ids that ascend are dropped beyond a limit.

    >>> ids = DuplicateIds()
    >>> ids.add(["b", "a"])
    >>> ids.may_repeat()
    False
    >>> ids.add(["b"])
    >>> ids.may_repeat()
    True
    """

    __slots__ = ("_ascending", "_dropped", "_greatest", "_layout", "_next", "_source", "hashes")

    def __init__(self, source: RowSource | None = None, layout: Layout | None = None) -> None:
        self._source = source
        self._layout = layout or Layout()
        self.restart()

    def restart(self) -> None:
        """Forget all ids, to read the source again from its beginning."""
        self.hashes = array("q")
        self._next = _FIRST_CHECK
        self._greatest = ""
        self._ascending = True
        self._dropped = False

    def add(self, ids: Sequence[str | None]) -> None:
        """Add the ids of the next rows; a row without an id equals no other."""
        unnamed = None in ids
        self._ascending = self._ascending and not unnamed and self._ascends(ids)
        if self._source is None and self._ascending and len(self.hashes) >= _KEPT_ASCENDING:
            self._dropped = True
        elif unnamed:
            start = len(self.hashes)
            self.hashes.extend(
                hash((start, place)) if name is None else hash(name)
                for place, name in enumerate(ids)
            )
        else:
            self.hashes.extend(map(hash, ids))
        if self._source is not None and len(self.hashes) >= self._next:
            self._next = 2 * len(self.hashes)
            self.check()

    def _ascends(self, ids: Sequence[str | None]) -> bool:
        names = cast("Sequence[str]", ids)
        if not all(map(lt, [self._greatest, *names], names)):
            return False
        self._greatest = names[-1] if names else self._greatest
        return True

    def may_repeat(self) -> bool:
        """Whether some id occurs twice, or the hashes that would tell were dropped."""
        if self._ascending:
            return False
        return self._dropped or first_duplicate(self.hashes) is not None

    def check(self) -> None:
        """Raise a `DataError` that names both places of the first duplicate, if there is one."""
        duplicate = None if self._ascending else first_duplicate(self.hashes)
        if duplicate is not None and self._source is not None:
            raise _duplicate_error(self._source, self._layout, *duplicate)


def first_duplicate(hashes: array[int]) -> tuple[int, int] | None:
    """The row numbers of the earliest duplicate and of its first occurrence, from 0."""
    if len(hashes) < _BY_SORTING:
        if len(set(hashes)) == len(hashes):
            return None
        numbers: dict[int, int] = {}
        for number, value in enumerate(hashes):
            if numbers.setdefault(value, number) != number:
                return numbers[value], number
        return None
    import numpy as np

    values = np.frombuffer(hashes, dtype=np.int64)
    if not (np.diff(np.sort(values)) == 0).any():
        return None
    order = np.argsort(values, kind="stable")
    again = np.flatnonzero(np.diff(values[order]) == 0)
    earliest = again[np.argmin(order[again + 1])]
    return int(order[earliest]), int(order[earliest + 1])


def _duplicate_error(source: RowSource, layout: Layout, first: int, second: int) -> DataError:
    """Read the source again up to the duplicate, to name the id and both places."""
    found: dict[int, tuple[str | None, int]] = {}
    number = 0
    for block in source.blocks():
        batch = apply_layout(block, layout)
        for name, place in zip(batch.ids, batch.places, strict=True):
            if number in (first, second):
                found[number] = (name, place)
            number += 1
        if len(found) > 1:
            break
    if len(found) < 2:  # noqa: PLR2004 - the source could be read only once
        return DataError(f"rows {first + 1} and {second + 1} have the same id")
    name, place = found[second]
    where = source.location(place)
    here = "" if where.line else f" at {source.describe(place)}"
    return DataError(
        f"the id {name!r} occurs a second time{here}; first at {source.describe(found[first][1])}",
        where if source.name else Location(),
    )
