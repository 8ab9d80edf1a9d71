"""What a run has done already, taken from its results instead of being done again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fieldmark.errors import DataError, Location
from fieldmark.model.case import Case
from fieldmark.model.outcomes import AttributeTable, Outcomes
from fieldmark.store.reader import StoredCase, StoredRun

__all__ = ["Replay"]


class Replay:
    """The outcomes of segments that are on disk, in the numbers of the table of this run."""

    __slots__ = ("_held", "_rows", "_run", "_segments", "_table")

    def __init__(self, run: StoredRun, segments: int, table: AttributeTable) -> None:
        self._run = run
        self._segments = segments
        self._table = table
        self._rows: Iterator[StoredCase] = run.cases()
        self._held: StoredCase | None = None

    def rows(self, segment: int, cases: Sequence[Case]) -> list[StoredCase] | None:
        """The rows of a segment, one for each of its cases; nothing if it is still to be done."""
        if segment >= self._segments:
            return None
        rows = list(self._of(segment))
        for case, row in zip(cases, rows, strict=False):
            if case.id != row.id:
                raise self._changed(f"case {case.id!r} stands where {row.id!r} was")
        if len(rows) != len(cases):
            raise self._changed(f"a segment has {len(cases)} cases where {len(rows)} were")
        return rows

    def blocks(self, segment: int, cases: Sequence[Case]) -> list[Outcomes] | None:
        """The outcomes of the cases of a segment; nothing if it is still to be done."""
        rows = self.rows(segment, cases)
        return None if rows is None else [self.block(row) for row in rows]

    def block(self, row: StoredCase) -> Outcomes:
        """The outcomes of a row in the numbers of this run."""
        numbers = [self._table.add(attribute) for attribute in row.table.attributes]
        unchanged = numbers == list(range(len(numbers)))
        return row.block if unchanged else row.block.renumbered(numbers)

    def _of(self, segment: int) -> Iterator[StoredCase]:
        """The rows of one segment; the first row of the next is held back."""
        row = self._held or next(self._rows, None)
        self._held = None
        while row is not None:
            begun = row.segment
            if begun is not None and begun > segment:
                self._held = row
                return
            yield row
            row = next(self._rows, None)

    def _changed(self, how: str) -> DataError:
        said = f"the inputs are not those of the run: {how}"
        return DataError(said, Location(str(self._run.path)))
