"""Candidates by id: held in memory, in a folder, or streamed beside the truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from fieldmark.data.entries import Entries, Value, entries_of
from fieldmark.data.folders import FolderSource
from fieldmark.data.index import OffsetIndex
from fieldmark.data.jsonl import JsonlSource
from fieldmark.data.layout import Layout
from fieldmark.data.rows import RowBlock, RowSource
from fieldmark.data.seen import Leftover, Seen
from fieldmark.data.spilled import as_lines
from fieldmark.model.json import MISSING

__all__ = ["Cursor", "Held", "InFolder", "Partner", "Streamed", "partner_of"]

_WINDOW_ROWS: Final = 4096
_WINDOW_BYTES: Final = 8 << 20
_FEWEST: Final = 64
_PULL: Final = 256
_NAMES: Final = 3


class Partner(Protocol):
    """The candidate side, asked by id. `lost` are rows whose id cannot be read."""

    @property
    def lost(self) -> list[tuple[int, Value]]:
        """Places and faults of the rows that belong to nobody."""
        ...

    def fetch(self, ids: list[str | None]) -> list[Value]:
        """The candidates of these ids, `MISSING` where there is none."""
        ...

    def leftover(self, truth: Seen) -> Leftover:
        """What is left when every id of the truth has been asked for."""
        ...


class Cursor:
    """The entries of a stream, as many at a time as one likes."""

    __slots__ = ("_blocks", "_current", "_layout", "_offset", "_seen", "lost", "rows")

    def __init__(self, blocks: Iterator[RowBlock], layout: Layout, seen: Seen | None) -> None:
        self._blocks = blocks
        self._layout = layout
        self._seen = seen
        self._current: Entries | None = None
        self._offset = 0
        self.rows = 0
        self.lost: list[tuple[int, Value]] = []

    def take(self, count: int) -> tuple[list[str | None], list[Value]]:
        """The ids and values of the next entries; fewer only at the end."""
        ids: list[str | None] = []
        values: list[Value] = []
        while len(values) < count and (entries := self._loaded()) is not None:
            end = self._offset + count - len(values)
            ids += entries.ids[self._offset : end]
            values += entries.values[self._offset : end]
            self._offset = min(end, len(entries))
        return ids, values

    def _loaded(self) -> Entries | None:
        while self._current is None or self._offset == len(self._current):
            block = next(self._blocks, None)
            if block is None:
                return None
            self._current = entries_of(block, self._layout)
            self._offset = 0
            self.rows += len(self._current)
            if self._seen is not None:
                self._note(self._current, self._seen)
        return self._current

    def _note(self, entries: Entries, seen: Seen) -> None:
        seen.add(entries)
        if not entries.plain:
            self.lost += [
                (place, value)
                for name, value, place in zip(
                    entries.ids, entries.values, entries.places, strict=True
                )
                if name is None
            ]


class Held:
    """Candidates that are in memory anyway."""

    __slots__ = ("_by_id", "lost")

    def __init__(self, all_entries: Iterable[Entries], seen: Seen) -> None:
        self._by_id: dict[str, Value] = {}
        self.lost: list[tuple[int, Value]] = []
        for entries in all_entries:
            seen.add(entries)
            for name, value, place in zip(entries.ids, entries.values, entries.places, strict=True):
                if name is None:
                    self.lost.append((place, value))
                else:
                    self._by_id[name] = value
        seen.check()

    def fetch(self, ids: list[str | None]) -> list[Value]:
        """The candidates of these ids; each is given away once."""
        return [MISSING if name is None else self._by_id.pop(name, MISSING) for name in ids]

    def leftover(self, truth: Seen) -> Leftover:
        """What nobody asked for."""
        del truth
        return Leftover(len(self._by_id), list(self._by_id)[:_NAMES])


class InFolder:
    """Candidates in a folder, read when they are asked for."""

    __slots__ = ("_layout", "_numbers", "_source")

    def __init__(self, source: FolderSource, layout: Layout) -> None:
        self._source = source
        self._layout = layout
        self._numbers = {name: number for number, name in enumerate(source.ids())}

    @property
    def lost(self) -> list[tuple[int, Value]]:
        """A file always has a name."""
        return []

    def fetch(self, ids: list[str | None]) -> list[Value]:
        """The documents of these ids; each is given away once."""
        values: list[Value] = [MISSING] * len(ids)
        known = [place for place, name in enumerate(ids) if name in self._numbers]
        names = [str(ids[place]) for place in known]
        numbers = [self._numbers.pop(name) for name in names]
        rows = [self._source.read(number) for number in numbers]
        entries = entries_of(RowBlock(rows, numbers, names), self._layout)
        for place, value in zip(known, entries.values, strict=True):
            values[place] = value
        return values

    def leftover(self, truth: Seen) -> Leftover:
        """The files nobody asked for."""
        del truth
        return Leftover(len(self._numbers), list(self._numbers)[:_NAMES])


class _OutOfOrderError(Exception):
    """The two sides are in different orders."""


class Streamed:
    """Candidates read beside the truth while their order agrees, by an index when it does not.

    A bounded number of candidates waits for its truth. Beyond that, an index of the whole file
    takes over: it holds no documents, so memory stays small however the rows are ordered.
    """

    __slots__ = ("_cursor", "_index", "_layout", "_seen", "_source", "_waiting")

    def __init__(self, source: RowSource, blocks: Iterator[RowBlock], layout: Layout) -> None:
        self._source = source
        self._layout = layout
        self._seen = Seen(source, layout)
        self._cursor = Cursor(blocks, layout, self._seen)
        self._waiting: dict[str | None, Value] = {}
        self._index: OffsetIndex | None = None

    @property
    def lost(self) -> list[tuple[int, Value]]:
        """Rows without a readable id."""
        return self._cursor.lost if self._index is None else self._index.lost

    def fetch(self, ids: list[str | None]) -> list[Value]:
        """The candidates of these ids."""
        if self._index is None:
            try:
                return self._beside(ids)
            except _OutOfOrderError:
                self._waiting.clear()
                self._index = OffsetIndex(self._lines(), self._layout, self._seen)
        return self._index.fetch(ids)

    def _beside(self, ids: list[str | None]) -> list[Value]:
        waiting = self._waiting
        if not waiting:
            next_ids, values = self._cursor.take(len(ids))
            if next_ids == ids and None not in ids:
                return values
            waiting.update(zip(next_ids, values, strict=True))
            waiting.pop(None, None)
        return [
            waiting.pop(name) if name in waiting else self._pull(name) if name else MISSING
            for name in ids
        ]

    def _pull(self, name: str) -> Value:
        waiting = self._waiting
        while name not in waiting:
            ids, values = self._cursor.take(_PULL)
            if not ids:
                return MISSING
            waiting.update(zip(ids, values, strict=True))
            waiting.pop(None, None)
            if len(waiting) > self._window():
                raise _OutOfOrderError
        return waiting.pop(name)

    def _window(self) -> int:
        """How many candidates may wait: fewer, the larger they are."""
        size = self._source.bytes_read // max(1, self._cursor.rows)
        return max(_FEWEST, min(_WINDOW_ROWS, _WINDOW_BYTES // max(1, size)))

    def _lines(self) -> JsonlSource:
        return as_lines(self._source)

    def leftover(self, truth: Seen) -> Leftover:
        """Everything unread or still waiting."""
        if self._index is not None:
            return self._index.leftover(truth.hashes)
        names = [name for name in self._waiting if name is not None]
        count = len(names)
        names = names[:_NAMES]
        while ids := self._cursor.take(_PULL)[0]:
            known = [name for name in ids if name is not None]
            count += len(known)
            names += known[: _NAMES - len(names)]
        self._seen.check()
        return Leftover(count, names)


def partner_of(source: RowSource, blocks: Iterator[RowBlock], layout: Layout) -> Partner:
    """The candidates of a source by id, in the cheapest way that the source allows."""
    if isinstance(source, FolderSource):
        return InFolder(source, layout)
    if source.in_memory:
        return Held((entries_of(block, layout) for block in blocks), Seen(source, layout))
    return Streamed(source, blocks, layout)
