"""Lookup of candidates by id: in memory, in a directory, or in a stream that is read in parallel.

If a stream is not in the order of the truth, its rows are read with an index of offsets.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from fieldmark.data.directories import DirectorySource
from fieldmark.data.duplicate_ids import DuplicateIds
from fieldmark.data.json_lines import JsonlSource, spill_to_lines
from fieldmark.data.json_parser import parse_lines
from fieldmark.data.layout import Layout, SideBatch, SideCursor, SideValue, apply_layout
from fieldmark.data.rows import RowBlock, RowSource
from fieldmark.model.json import MISSING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_MAX_WAITING: Final = 4096
_MAX_WAITING_BYTES: Final = 8 << 20
_MIN_WAITING: Final = 64
_PULL_ROWS: Final = 256
_MAX_NAMES: Final = 3


class UnmatchedCandidates(NamedTuple):
    """The number of candidates without ground truth, and the ids of the first few."""

    total: int
    names: list[str]


class CandidateLookup(Protocol):
    """Candidates by id; each candidate is returned once."""

    @property
    def without_id(self) -> list[tuple[int, SideValue]]:
        """The places and values of rows without a readable id."""
        ...

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """Return the candidates with these ids, `MISSING` if there is none."""
        ...

    def unmatched(self, truth: DuplicateIds) -> UnmatchedCandidates:
        """Return the candidates that are left after all ids of the truth were fetched."""
        ...


def open_lookup(source: RowSource, blocks: Iterator[RowBlock], layout: Layout) -> CandidateLookup:
    """Return the fastest lookup that the source supports."""
    if not source.has_lines and isinstance(source, DirectorySource):
        return DirectoryCandidates(source, layout)
    if source.in_memory:
        return InMemoryCandidates(source, blocks, layout)
    return StreamedCandidates(source, blocks, layout)


class InMemoryCandidates:
    """Candidates in memory."""

    __slots__ = ("_by_id", "without_id")

    def __init__(self, source: RowSource, blocks: Iterator[RowBlock], layout: Layout) -> None:
        self._by_id: dict[str, SideValue] = {}
        self.without_id: list[tuple[int, SideValue]] = []
        duplicates = DuplicateIds(source, layout)
        for block in blocks:
            batch = apply_layout(block, layout)
            duplicates.add(batch.ids)
            self.without_id += batch.rows_without_id()
            named = zip(batch.ids, batch.values, strict=True)
            self._by_id.update((name, value) for name, value in named if name is not None)
        duplicates.check()

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """Return the candidates with these ids."""
        return [MISSING if name is None else self._by_id.pop(name, MISSING) for name in ids]

    def unmatched(self, truth: DuplicateIds) -> UnmatchedCandidates:
        """Return the candidates that were not fetched."""
        del truth
        return UnmatchedCandidates(len(self._by_id), list(self._by_id)[:_MAX_NAMES])


class DirectoryCandidates:
    """Candidates in a directory, read when they are fetched."""

    __slots__ = ("_layout", "_numbers", "_source")

    def __init__(self, source: DirectorySource, layout: Layout) -> None:
        self._source = source
        self._layout = layout
        self._numbers = {name: number for number, name in enumerate(source.ids())}

    @property
    def without_id(self) -> list[tuple[int, SideValue]]:
        """Always empty: the id is the file name."""
        return []

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """Return the documents with these ids."""
        values: list[SideValue] = [MISSING] * len(ids)
        known = [place for place, name in enumerate(ids) if name in self._numbers]
        names = [str(ids[place]) for place in known]
        numbers = [self._numbers.pop(name) for name in names]
        rows = [self._source.read(number) for number in numbers]
        batch = apply_layout(RowBlock(rows, numbers, names), self._layout)
        for place, value in zip(known, batch.values, strict=True):
            values[place] = value
        return values

    def unmatched(self, truth: DuplicateIds) -> UnmatchedCandidates:
        """Return the files that were not fetched."""
        del truth
        return UnmatchedCandidates(len(self._numbers), list(self._numbers)[:_MAX_NAMES])


class _OutOfOrderError(Exception):
    """The two sides are in different orders."""


class StreamedCandidates:
    """Candidates that are read in parallel with the truth, or with an index if the order differs.

    A limited number of candidates is held in memory until its truth is read. Beyond this limit, an
    index of the whole file is used, which contains no documents.
    """

    __slots__ = ("_cursor", "_duplicates", "_index", "_layout", "_source", "_waiting")

    def __init__(self, source: RowSource, blocks: Iterator[RowBlock], layout: Layout) -> None:
        self._source = source
        self._layout = layout
        self._duplicates = DuplicateIds(source, layout)
        self._cursor = SideCursor(blocks, layout, self._duplicates)
        self._waiting: dict[str | None, SideValue] = {}
        self._index: OffsetIndex | None = None

    @property
    def without_id(self) -> list[tuple[int, SideValue]]:
        """The places and values of rows without a readable id."""
        return self._cursor.without_id if self._index is None else self._index.without_id

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """Return the candidates with these ids."""
        if self._index is None:
            try:
                return self._fetch_in_order(ids)
            except _OutOfOrderError:
                self._waiting.clear()
                lines = spill_to_lines(self._source)
                if lines is self._source:
                    # Its rows are read from the start again, so what was counted is counted again.
                    lines.dialect.non_finite = lines.dialect.repeated_keys = 0
                self._index = OffsetIndex(lines, self._layout, self._duplicates)
        return self._index.fetch(ids)

    def _fetch_in_order(self, ids: list[str | None]) -> list[SideValue]:
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
        """Read until the candidate with this id is found."""
        waiting = self._waiting
        while name not in waiting:
            ids, values = self._cursor.take(_PULL_ROWS)
            if not ids:
                return MISSING
            waiting.update(zip(ids, values, strict=True))
            waiting.pop(None, None)
            row_bytes = self._source.bytes_read // max(1, self._cursor.rows)
            limit = min(_MAX_WAITING, _MAX_WAITING_BYTES // max(1, row_bytes))
            if len(waiting) > max(_MIN_WAITING, limit):
                raise _OutOfOrderError
        return waiting.pop(name)

    def unmatched(self, truth: DuplicateIds) -> UnmatchedCandidates:
        """Return the candidates that are unread or waiting."""
        if self._index is not None:
            return self._index.unmatched(truth)
        names = [name for name in self._waiting if name is not None]
        count = len(names)
        names = names[:_MAX_NAMES]
        while ids := self._cursor.take(_PULL_ROWS)[0]:
            known = [name for name in ids if name is not None]
            count += len(known)
            names += known[: _MAX_NAMES - len(names)]
        self._duplicates.check()
        return UnmatchedCandidates(count, names)


class OffsetIndex:
    """An index of a JSONL file by the hash of the id, with twenty bytes per row."""

    __slots__ = ("_end", "_hashes", "_layout", "_order", "_source", "_starts", "without_id")

    def __init__(self, source: JsonlSource, layout: Layout, duplicates: DuplicateIds) -> None:

        self._source = source
        self._layout = layout
        self.without_id: list[tuple[int, SideValue]] = []
        self._starts = array("q")
        self._end = 0
        duplicates.restart()
        for block in source.line_blocks():
            parsed = source.parse(block)
            lengths = [len(line) + 1 for line in block.raw.split(b"\n")]
            offsets = list(accumulate(lengths, initial=block.offset))
            self._starts.extend(offsets[place - block.first] for place in parsed.places)
            batch = apply_layout(parsed, layout)
            self.without_id += batch.rows_without_id()
            duplicates.add(batch.ids)
            self._end = block.offset + len(block.raw)
        duplicates.check()
        hashes = np.frombuffer(duplicates.hashes, dtype=np.int64)
        self._order: NDArray[np.uint32] = np.argsort(hashes, kind="stable").astype(np.uint32)
        self._hashes: NDArray[np.int64] = hashes[self._order]
        duplicates.restart()

    def fetch(self, ids: list[str | None]) -> list[SideValue]:
        """Return the documents with these ids, read in the order of the file."""
        wanted = np.fromiter(map(hash, ids), dtype=np.int64, count=len(ids))
        places = np.minimum(np.searchsorted(self._hashes, wanted), len(self._hashes) - 1)
        found = np.flatnonzero(self._hashes[places] == wanted)
        rows = self._order[places[found]]
        values: list[SideValue] = [MISSING] * len(ids)
        in_file_order = np.argsort(rows)
        batch = self._read(rows[in_file_order].tolist())
        for name, value, place in zip(
            batch.ids, batch.values, found[in_file_order].tolist(), strict=True
        ):
            if name is not None and name == ids[place]:
                values[place] = value
        return values

    def _read(self, rows: list[int]) -> SideBatch:
        starts, last = self._starts, len(self._starts) - 1
        lines = [
            self._source.line_at(starts[row], starts[row + 1] if row < last else self._end)
            for row in rows
        ]
        dialect = self._source.dialect
        counted = dialect.non_finite, dialect.repeated_keys
        parsed = parse_lines(b"\n".join(lines), lines, dialect)
        dialect.non_finite, dialect.repeated_keys = counted
        return apply_layout(RowBlock(parsed, rows), self._layout)

    def unmatched(self, truth: DuplicateIds) -> UnmatchedCandidates:
        """Return the rows whose id is not in the truth."""
        known = np.isin(self._hashes, np.frombuffer(truth.hashes, dtype=np.int64))
        rows = np.sort(self._order[~known])
        first = self._read(rows[: _MAX_NAMES + len(self.without_id)].tolist())
        names = [name for name in first.ids if name]
        return UnmatchedCandidates(len(rows) - len(self.without_id), names[:_MAX_NAMES])
