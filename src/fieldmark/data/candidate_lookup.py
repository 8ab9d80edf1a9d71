"""An index of a JSONL file: where each id stands, in twenty bytes a row."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from fieldmark.data.duplicate_ids import DuplicateIds
from fieldmark.data.folders import FolderSource
from fieldmark.data.json_lines import JsonlSource, spill_to_lines
from fieldmark.data.json_parser import parse_lines
from fieldmark.data.layout import Layout, SideBatch, SideValue, apply_layout
from fieldmark.data.line_offsets import LineBlock
from fieldmark.data.rows import RowBlock, RowSource
from fieldmark.model.json import MISSING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "CandidateLookup",
    "FolderCandidates",
    "InMemoryCandidates",
    "OffsetIndex",
    "SideCursor",
    "StreamedCandidates",
    "UnmatchedCandidates",
    "look_up_candidates",
]


class UnmatchedCandidates(NamedTuple):
    """Candidates without ground truth: how many, and the ids of the first few."""

    total: int
    names: list[str]


class OffsetIndex:
    """Finds the row of an id by its hash, and reads it from the file when it is asked for."""

    __slots__ = ("_end", "_hashes", "_layout", "_order", "_source", "_starts", "lost")

    def __init__(self, source: JsonlSource, layout: Layout, seen: DuplicateIds) -> None:
        import numpy as np

        self._source = source
        self._layout = layout
        self.lost: list[tuple[int, SideValue]] = []
        starts = array("q")
        seen.restart()
        end = 0
        for block in source.line_blocks():
            entries = self._scan(block, starts)
            seen.add(entries.ids)
            end = block.offset + len(block.raw)
        seen.check()
        hashes = np.frombuffer(seen.hashes, dtype=np.int64)
        self._order: NDArray[np.uint32] = np.argsort(hashes, kind="stable").astype(np.uint32)
        self._hashes: NDArray[np.int64] = hashes[self._order]
        seen.restart()
        self._starts = starts
        self._end = end

    def _scan(self, block: LineBlock, starts: array[int]) -> SideBatch:
        parsed = self._source.parse(block)
        lengths = [len(line) + 1 for line in block.raw.split(b"\n")]
        offsets = list(accumulate(lengths, initial=block.offset))
        starts.extend(offsets[place - block.first] for place in parsed.places)
        entries = apply_layout(parsed, self._layout)
        if not entries.plain:
            columns = zip(entries.ids, entries.values, entries.places, strict=True)
            self.lost += [(place, value) for name, value, place in columns if name is None]
        return entries

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """The documents of these ids, read in the order in which they stand in the file."""
        import numpy as np

        wanted = np.fromiter(map(hash, ids), dtype=np.int64, count=len(ids))
        places = np.minimum(np.searchsorted(self._hashes, wanted), len(self._hashes) - 1)
        found = np.flatnonzero(self._hashes[places] == wanted)
        rows = self._order[places[found]]
        values: list[SideValue] = [MISSING] * len(ids)
        in_file_order = np.argsort(rows)
        entries = self._read(rows[in_file_order].tolist())
        for name, value, place in zip(
            entries.ids, entries.values, found[in_file_order].tolist(), strict=True
        ):
            if name is not None and name == ids[place]:
                values[place] = value
        return values

    def _read(self, rows: list[int]) -> SideBatch:
        lines = [self._line(row) for row in rows]
        parsed = parse_lines(b"\n".join(lines), lines, self._source.dialect)
        return apply_layout(RowBlock(parsed, rows), self._layout)

    def _line(self, row: int) -> bytes:
        end = self._starts[row + 1] if row + 1 < len(self._starts) else self._end
        return self._source.line_at(self._starts[row], end)

    def leftover(self, truth: array[int]) -> UnmatchedCandidates:
        """How many rows belong to no id of the truth, and the first few of their ids."""
        import numpy as np

        known = np.isin(self._hashes, np.frombuffer(truth, dtype=np.int64))
        rows = np.sort(self._order[~known])
        names = [name for name in self._read(rows[: _NAMES + len(self.lost)].tolist()).ids if name]
        return UnmatchedCandidates(len(rows) - len(self.lost), names[:_NAMES])


_NAMES: Final = 3
_WINDOW_ROWS: Final = 4096
_WINDOW_BYTES: Final = 8 << 20
_FEWEST: Final = 64
_PULL: Final = 256


class CandidateLookup(Protocol):
    """The candidate side, asked by id. `lost` are rows whose id cannot be read."""

    @property
    def lost(self) -> list[tuple[int, SideValue]]:
        """Places and faults of the rows that belong to nobody."""
        ...

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """The candidates of these ids, `MISSING` where there is none."""
        ...

    def leftover(self, truth: DuplicateIds) -> UnmatchedCandidates:
        """What is left when every id of the truth has been asked for."""
        ...


class SideCursor:
    """The entries of a stream, as many at a time as one likes."""

    __slots__ = ("_blocks", "_current", "_layout", "_offset", "_seen", "lost", "rows")

    def __init__(
        self, blocks: Iterator[RowBlock], layout: Layout, seen: DuplicateIds | None
    ) -> None:
        self._blocks = blocks
        self._layout = layout
        self._seen = seen
        self._current: SideBatch | None = None
        self._offset = 0
        self.rows = 0
        self.lost: list[tuple[int, SideValue]] = []

    def take(self, count: int) -> tuple[list[str | None], list[SideValue]]:
        """The ids and values of the next entries; fewer only at the end."""
        ids: list[str | None] = []
        values: list[SideValue] = []
        while len(values) < count and (entries := self._loaded()) is not None:
            end = self._offset + count - len(values)
            ids += entries.ids[self._offset : end]
            values += entries.values[self._offset : end]
            self._offset = min(end, len(entries))
        return ids, values

    def _loaded(self) -> SideBatch | None:
        while self._current is None or self._offset == len(self._current):
            block = next(self._blocks, None)
            if block is None:
                return None
            self._current = apply_layout(block, self._layout)
            self._offset = 0
            self.rows += len(self._current)
            if self._seen is not None:
                self._note(self._current, self._seen)
        return self._current

    def _note(self, entries: SideBatch, seen: DuplicateIds) -> None:
        seen.add(entries.ids)
        if not entries.plain:
            self.lost += [
                (place, value)
                for name, value, place in zip(
                    entries.ids, entries.values, entries.places, strict=True
                )
                if name is None
            ]


class InMemoryCandidates:
    """Candidates that are in memory anyway."""

    __slots__ = ("_by_id", "lost")

    def __init__(self, all_entries: Iterable[SideBatch], seen: DuplicateIds) -> None:
        self._by_id: dict[str, SideValue] = {}
        self.lost: list[tuple[int, SideValue]] = []
        for entries in all_entries:
            seen.add(entries.ids)
            for name, value, place in zip(entries.ids, entries.values, entries.places, strict=True):
                if name is None:
                    self.lost.append((place, value))
                else:
                    self._by_id[name] = value
        seen.check()

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """The candidates of these ids; each is given away once."""
        return [MISSING if name is None else self._by_id.pop(name, MISSING) for name in ids]

    def leftover(self, truth: DuplicateIds) -> UnmatchedCandidates:
        """What nobody asked for."""
        del truth
        return UnmatchedCandidates(len(self._by_id), list(self._by_id)[:_NAMES])


class FolderCandidates:
    """Candidates in a folder, read when they are asked for."""

    __slots__ = ("_layout", "_numbers", "_source")

    def __init__(self, source: FolderSource, layout: Layout) -> None:
        self._source = source
        self._layout = layout
        self._numbers = {name: number for number, name in enumerate(source.ids())}

    @property
    def lost(self) -> list[tuple[int, SideValue]]:
        """A file always has a name."""
        return []

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """The documents of these ids; each is given away once."""
        values: list[SideValue] = [MISSING] * len(ids)
        known = [place for place, name in enumerate(ids) if name in self._numbers]
        names = [str(ids[place]) for place in known]
        numbers = [self._numbers.pop(name) for name in names]
        rows = [self._source.read(number) for number in numbers]
        entries = apply_layout(RowBlock(rows, numbers, names), self._layout)
        for place, value in zip(known, entries.values, strict=True):
            values[place] = value
        return values

    def leftover(self, truth: DuplicateIds) -> UnmatchedCandidates:
        """The files nobody asked for."""
        del truth
        return UnmatchedCandidates(len(self._numbers), list(self._numbers)[:_NAMES])


class _OutOfOrderError(Exception):
    """The two sides are in different orders."""


class StreamedCandidates:
    """Candidates read beside the truth while their order agrees, by an index when it does not.

    A bounded number of candidates waits for its truth. Beyond that, an index of the whole file
    takes over: it holds no documents, so memory stays small however the rows are ordered.
    """

    __slots__ = ("_cursor", "_index", "_layout", "_seen", "_source", "_waiting")

    def __init__(self, source: RowSource, blocks: Iterator[RowBlock], layout: Layout) -> None:
        self._source = source
        self._layout = layout
        self._seen = DuplicateIds(source, layout)
        self._cursor = SideCursor(blocks, layout, self._seen)
        self._waiting: dict[str | None, SideValue] = {}
        self._index: OffsetIndex | None = None

    @property
    def lost(self) -> list[tuple[int, SideValue]]:
        """Rows without a readable id."""
        return self._cursor.lost if self._index is None else self._index.lost

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """The candidates of these ids."""
        if self._index is None:
            try:
                return self._beside(ids)
            except _OutOfOrderError:
                self._waiting.clear()
                self._index = OffsetIndex(self._lines(), self._layout, self._seen)
        return self._index.fetch(ids)

    def _beside(self, ids: list[str | None]) -> list[SideValue]:
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

    def _pull(self, name: str) -> SideValue:
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
        return spill_to_lines(self._source)

    def leftover(self, truth: DuplicateIds) -> UnmatchedCandidates:
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
        return UnmatchedCandidates(count, names)


def look_up_candidates(
    source: RowSource, blocks: Iterator[RowBlock], layout: Layout
) -> CandidateLookup:
    """The candidates of a source by id, in the cheapest way that the source allows."""
    if isinstance(source, FolderSource):
        return FolderCandidates(source, layout)
    if source.in_memory:
        return InMemoryCandidates(
            (apply_layout(block, layout) for block in blocks), DuplicateIds(source, layout)
        )
    return StreamedCandidates(source, blocks, layout)
