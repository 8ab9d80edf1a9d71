"""Detection of duplicate ids in a stream of rows, with eight bytes per row."""

from __future__ import annotations

from array import array
from operator import lt
from typing import Final, cast

import numpy as np

from fieldmark.data.layout import Layout, apply_layout
from fieldmark.data.rows import RowSource
from fieldmark.errors import DataError, Location
from fieldmark.model.kernel import COMPILED, kernel

_FIRST_CHECK: Final = 1024
_BY_SORTING: Final = 1 << 16
"""The number of rows from which sorting an array takes less memory than a set."""
_MAX_ASCENDING: Final = 1 << 17
"""The maximum number of hashes stored for ascending ids if there is no source."""


class DuplicateIds:
    """Collects the hashes of ids and detects duplicates.

    Ascending ids cannot contain duplicates; otherwise the hashes are searched. With a `source`,
    this happens each time the number of rows has doubled and at the end, and a duplicate is an
    error that names both places. Without a source, duplicates are reported only by `may_repeat`,
    and hashes of ascending ids are not stored beyond a limit.

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
        """Discard all ids, to read the source again from the start."""
        self.hashes = array("q")
        self._next = _FIRST_CHECK
        self._greatest = ""
        self._ascending = True
        self._dropped = False

    def add(self, ids: list[str | None]) -> None:
        """Add the ids of the next rows; rows without an id are never duplicates."""
        hashed = (
            kernel.hash_ids(ids, self._greatest) if COMPILED else _hash_ids(ids, self._greatest)
        )
        if self._ascending and ids:
            self._ascending = hashed is not None and hashed[1]
            self._greatest = ids[-1] or ""
        if self._source is None and self._ascending and len(self.hashes) >= _MAX_ASCENDING:
            self._dropped = True
        elif hashed is None:
            start = len(self.hashes)
            self.hashes.extend(
                hash((start, place)) if name is None else hash(name)
                for place, name in enumerate(ids)
            )
        else:
            self.hashes.frombytes(hashed[0])
        if self._source is not None and len(self.hashes) >= self._next:
            self._next = 2 * len(self.hashes)
            self.check()

    def may_repeat(self) -> bool:
        """Return whether an id occurs twice, or may occur twice because hashes were not stored."""
        if self._ascending:
            return False
        return self._dropped or first_duplicate(self.hashes) is not None

    def check(self) -> None:
        """Raise a `DataError` with both places of the first duplicate, if any."""
        duplicate = None if self._ascending else first_duplicate(self.hashes)
        if duplicate is not None and self._source is not None:
            raise _duplicate_error(self._source, self._layout, *duplicate)


def _hash_ids(ids: list[str | None], greatest: str) -> tuple[bytes, bool] | None:
    """Return the hashes of ids, and whether they are ascending; `None` if an id is `None`.

    >>> _hash_ids(["b", "c"], "a")[1], _hash_ids(["b", "c"], "b")[1], _hash_ids(["b", None], "a")
    (True, False, None)
    """
    if None in ids:
        return None
    names = cast("list[str]", ids)
    return array("q", map(hash, names)).tobytes(), all(map(lt, [greatest, *names], names))


def first_duplicate(hashes: array[int]) -> tuple[int, int] | None:
    """Return the row numbers, from 0, of the first occurrence and the earliest duplicate."""
    if len(hashes) < _BY_SORTING:
        if len(set(hashes)) == len(hashes):
            return None
        numbers: dict[int, int] = {}
        for number, value in enumerate(hashes):
            if numbers.setdefault(value, number) != number:
                return numbers[value], number
        return None

    values = np.frombuffer(hashes, dtype=np.int64)
    if not (np.diff(np.sort(values)) == 0).any():
        return None
    order = np.argsort(values, kind="stable")
    again = np.flatnonzero(np.diff(values[order]) == 0)
    earliest = again[np.argmin(order[again + 1])]
    return int(order[earliest]), int(order[earliest + 1])


def _duplicate_error(source: RowSource, layout: Layout, first: int, second: int) -> DataError:
    """Read the source again up to the duplicate, and return an error with both places."""
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
    if len(found) < 2:  # noqa: PLR2004 - the source can be read only once
        return DataError(f"rows {first + 1} and {second + 1} have the same id")
    name, place = found[second]
    where = source.location(place)
    here = "" if where.line else f" at {source.describe(place)}"
    return DataError(
        f"duplicate id {name!r}{here}; first used at {source.describe(found[first][1])}",
        where if source.name else Location(),
    )
