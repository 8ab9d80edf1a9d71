"""Which ids have been met: eight bytes a row, enough to find any id that is used twice."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from operator import lt
from typing import Final, NamedTuple, cast

from fieldmark.data.entries import Entries, entries_of
from fieldmark.data.layout import Layout
from fieldmark.data.rows import RowSource
from fieldmark.errors import DataError, Location

__all__ = ["Leftover", "Seen", "entries_from", "first_repeated"]

_FIRST_LOOK: Final = 1024
_BY_SORTING: Final = 1 << 16
"""From this many rows on, sorting an array takes less memory than a set."""


def entries_from(source: RowSource, layout: Layout) -> Iterator[Entries]:
    """The entries of a source from its beginning."""
    return (entries_of(block, layout) for block in source.blocks())


class Leftover(NamedTuple):
    """Candidates that no truth asked for: how many, and the first few by name."""

    total: int
    names: list[str]


class Seen:
    """The hashes of the ids of one side, in the order of its rows.

    As long as every id is greater than the one before, none can be repeated. Otherwise looking for
    a repeated one costs little more than sorting, so it is done whenever the number of rows has
    doubled, and once at the end.
    """

    __slots__ = ("_ascending", "_greatest", "_layout", "_next", "_source", "hashes")

    def __init__(self, source: RowSource, layout: Layout) -> None:
        self.hashes = array("q")
        self._source = source
        self._layout = layout
        self._next = _FIRST_LOOK
        self._greatest = ""
        self._ascending = True

    def restart(self) -> None:
        """Forget everything, to read the side again from its beginning."""
        self.hashes = array("q")
        self._next = _FIRST_LOOK
        self._greatest = ""
        self._ascending = True

    def add(self, entries: Entries) -> None:
        """Remember some ids; a row without one is like no other."""
        if entries.plain:
            self.hashes.extend(map(hash, entries.ids))
        else:
            start = len(self.hashes)
            self.hashes.extend(
                hash((start, place)) if name is None else hash(name)
                for place, name in enumerate(entries.ids)
            )
        self._ascending = self._ascending and entries.plain and self._ascends(entries.ids)
        if len(self.hashes) >= self._next:
            self._next = 2 * len(self.hashes)
            self.check()

    def check(self) -> None:
        """Refuse an id that occurs twice, naming both places."""
        twice = None if self._ascending else first_repeated(self.hashes)
        if twice is not None:
            raise self._error(*twice)

    def _ascends(self, ids: list[str | None]) -> bool:
        """Whether every id is a text greater than the one before."""
        names = cast("list[str]", ids)
        if None in ids or not all(map(lt, [self._greatest, *names], names)):
            return False
        self._greatest = names[-1] if names else self._greatest
        return True

    def _error(self, first: int, second: int) -> DataError:
        source = self._source
        met: dict[int, tuple[str | None, int]] = {}
        number = 0
        for entries in entries_from(source, self._layout):
            for name, place in zip(entries.ids, entries.places, strict=True):
                if number in (first, second):
                    met[number] = (name, place)
                number += 1
            if second in met and first in met:
                break
        if second not in met or first not in met:
            return DataError(f"rows {first + 1} and {second + 1} have the same id")
        name, place = met[second]
        where = source.where(place)
        here = "" if where.line else f" at {source.phrase(place)}"
        return DataError(
            f"the id {name!r} occurs a second time{here}; first at {source.phrase(met[first][1])}",
            where if source.name else Location(),
        )


def first_repeated(hashes: array[int]) -> tuple[int, int] | None:
    """The rows of the earliest repetition."""
    if len(hashes) < _BY_SORTING:
        if len(set(hashes)) == len(hashes):
            return None
        met: dict[int, int] = {}
        for number, value in enumerate(hashes):
            if met.setdefault(value, number) != number:
                return met[value], number
        return None
    import numpy as np

    values = np.frombuffer(hashes, dtype=np.int64)
    if not (np.diff(np.sort(values)) == 0).any():
        return None
    order = np.argsort(values, kind="stable")
    again = np.flatnonzero(np.diff(values[order]) == 0)
    earliest = again[np.argmin(order[again + 1])]
    return int(order[earliest]), int(order[earliest + 1])
