"""Results in segments: rows that are written together, and can be read without what came before.

The attributes of the first segment keep their numbers for the whole run. Others, met later, are
numbered anew in each segment, so that a segment is the same bytes whoever makes it and whatever
was done before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from fieldmark.metrics.case_score import CaseStats
from fieldmark.model.case import Case
from fieldmark.model.outcome import CELL_BITS
from fieldmark.model.outcomes import Attribute, AttributeTable, Outcomes
from fieldmark.store.rows import RowEncoder
from fieldmark.values.json_text import strict_json

__all__ = ["SegmentEncoder", "seeded"]

Complete: TypeAlias = Callable[[Iterable[bytes]], list[bytes]]
"""Makes all lines of a segment from those of its compared cases."""


def seeded(attributes: Iterable[Attribute]) -> AttributeTable:
    """A table in which some attributes have the numbers of their order."""
    table = AttributeTable()
    for attribute in attributes:
        table.add(attribute)
    return table


class SegmentEncoder:
    """Turns the cases of a segment into lines.

    `shared` attributes have the same number in all segments: those of the first one, which is
    the one that sets it, or those of a run that goes on.
    """

    __slots__ = ("_rows", "_table", "shared")

    def __init__(self, table: AttributeTable, *, values: bool, shared: int | None = None) -> None:
        self._table = table
        self._rows = RowEncoder(values=values)
        self.shared = shared

    def encode(
        self,
        number: int,
        cases: Sequence[Case],
        blocks: Sequence[Outcomes],
        stats: Sequence[CaseStats],
        *,
        non_finite: bool = False,
        complete: Complete = list,
    ) -> list[bytes]:
        """The lines of a segment; the first one says which segment it is and how long.

        `complete` adds what else there is to say: to the lines, and between them.
        """
        self._rows.non_finite = non_finite
        start, named, blocks = self._described(blocks) if cases else (0, [], blocks)
        lines = complete(map(self._rows.encode, cases, blocks, stats))
        if lines:
            lines[0] = _begun(lines[0], number, len(lines), start, named)
        return lines

    def _described(
        self, blocks: Sequence[Outcomes]
    ) -> tuple[int, Sequence[Attribute], Sequence[Outcomes]]:
        """The attributes that this segment describes, from which number on, and its blocks."""
        attributes = self._table.attributes
        if self.shared is None:
            self.shared = len(attributes)
            return 0, attributes, blocks
        own = [] if len(attributes) == self.shared else self._own(blocks, self.shared)
        if not own:
            return self.shared, [], blocks
        numbers = list(range(len(attributes)))
        for new, old in enumerate(own, self.shared):
            numbers[old] = new
        least = self.shared << CELL_BITS
        renumbered = [
            block if max(block.cells, default=0) < least else block.renumbered(numbers)
            for block in blocks
        ]
        return self.shared, [attributes[number] for number in own], renumbered

    def _own(self, blocks: Sequence[Outcomes], shared: int) -> list[int]:
        """The attributes that only this segment has, in the order in which its rows use them."""
        found: dict[int, None] = {}
        least = shared << CELL_BITS
        for block in blocks:
            for cell in block.cells:
                if cell >= least:
                    found[cell >> CELL_BITS] = None
        return list(found)


def _begun(
    line: bytes, number: int, rows: int, start: int, attributes: Sequence[Attribute]
) -> bytes:
    """The first line of a segment, with what a reader must know to begin with it."""
    head = b',"segment":' + strict_json([number, rows])
    if attributes:
        described = [
            [each.path, each.comparator, each.weight, each.required, each.configured]
            for each in attributes
        ]
        head += b',"attributes":' + strict_json([start, described])
    cut = line.index(b',"score":')
    return line[:cut] + head + line[cut:]
