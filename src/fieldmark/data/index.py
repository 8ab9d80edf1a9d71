"""An index of a JSONL file: where each id stands, in twenty bytes a row."""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from fieldmark.data.entries import Entries, Value, entries_of
from fieldmark.data.jsonl import JsonlSource, LineBlock
from fieldmark.data.layout import Layout
from fieldmark.data.parsing import parse_lines
from fieldmark.data.rows import RowBlock
from fieldmark.data.seen import Leftover, Seen
from fieldmark.model.json import MISSING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["OffsetIndex"]

_NAMES: Final = 3


class OffsetIndex:
    """Finds the row of an id by its hash, and reads it from the file when it is asked for."""

    __slots__ = ("_end", "_hashes", "_layout", "_order", "_source", "_starts", "lost")

    def __init__(self, source: JsonlSource, layout: Layout, seen: Seen) -> None:
        import numpy as np

        self._source = source
        self._layout = layout
        self.lost: list[tuple[int, Value]] = []
        starts = array("q")
        seen.restart()
        end = 0
        for block in source.line_blocks():
            entries = self._scan(block, starts)
            seen.add(entries)
            end = block.offset + len(block.raw)
        seen.check()
        hashes = np.frombuffer(seen.hashes, dtype=np.int64)
        self._order: NDArray[np.uint32] = np.argsort(hashes, kind="stable").astype(np.uint32)
        self._hashes: NDArray[np.int64] = hashes[self._order]
        seen.restart()
        self._starts = starts
        self._end = end

    def _scan(self, block: LineBlock, starts: array[int]) -> Entries:
        parsed = self._source.parse(block)
        lengths = [len(line) + 1 for line in block.raw.split(b"\n")]
        offsets = list(accumulate(lengths, initial=block.offset))
        starts.extend(offsets[place - block.first] for place in parsed.places)
        entries = entries_of(parsed, self._layout)
        if not entries.plain:
            columns = zip(entries.ids, entries.values, entries.places, strict=True)
            self.lost += [(place, value) for name, value, place in columns if name is None]
        return entries

    def fetch(self, ids: list[str | None]) -> list[Value]:
        """The documents of these ids, read in the order in which they stand in the file."""
        import numpy as np

        wanted = np.fromiter(map(hash, ids), dtype=np.int64, count=len(ids))
        places = np.minimum(np.searchsorted(self._hashes, wanted), len(self._hashes) - 1)
        found = np.flatnonzero(self._hashes[places] == wanted)
        rows = self._order[places[found]]
        values: list[Value] = [MISSING] * len(ids)
        in_file_order = np.argsort(rows)
        entries = self._read(rows[in_file_order].tolist())
        for name, value, place in zip(
            entries.ids, entries.values, found[in_file_order].tolist(), strict=True
        ):
            if name is not None and name == ids[place]:
                values[place] = value
        return values

    def _read(self, rows: list[int]) -> Entries:
        lines = [self._line(row) for row in rows]
        parsed = parse_lines(b"\n".join(lines), lines, self._source.grammar)
        return entries_of(RowBlock(parsed, rows), self._layout)

    def _line(self, row: int) -> bytes:
        end = self._starts[row + 1] if row + 1 < len(self._starts) else self._end
        return self._source.line_at(self._starts[row], end)

    def leftover(self, truth: array[int]) -> Leftover:
        """How many rows belong to no id of the truth, and the first few of their ids."""
        import numpy as np

        known = np.isin(self._hashes, np.frombuffer(truth, dtype=np.int64))
        rows = np.sort(self._order[~known])
        names = [name for name in self._read(rows[: _NAMES + len(self.lost)].tolist()).ids if name]
        return Leftover(len(rows) - len(self.lost), names[:_NAMES])
