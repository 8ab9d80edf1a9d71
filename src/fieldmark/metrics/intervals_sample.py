"""A sample of a run's cases, in bounded memory, that any split of the run gives the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias
from zlib import crc32

from fieldmark.metrics.case_score import CaseStats
from fieldmark.metrics.intervals_rows import CaseRow, row_means
from fieldmark.model.block import AttributeTable, OutcomeBlock
from fieldmark.model.case import Case
from fieldmark.model.outcome import CELL_BITS

__all__ = ["SAMPLED", "CaseSample", "FinishedCases"]

SAMPLED: Final = 2_048
"""Cases that are kept at most. So many say how much a figure varies to within two in a hundred."""

_SHORT: Final = 64
"""Cells of a case that are kept as they are; those of a longer one are counted already."""

_MARGIN: Final = 8
"""Times the limit that a part of a run keeps, in proportion, so that the whole lacks nothing."""

_MIX: Final = 0x9E3779B1
_WORD: Final = 0xFFFFFFFF
_FACT_MASK: Final = (1 << CELL_BITS) - 1

_Cells: TypeAlias = "Sequence[int] | Mapping[int, int]"


class _Kept(NamedTuple):
    draw: int
    id: str
    cells: _Cells
    stats: CaseStats


FinishedCases: TypeAlias = tuple[Sequence[Case], Sequence[OutcomeBlock], Sequence[CaseStats]]
"""Cases with their outcomes and figures, in step: what a run shows to those who watch it."""


class CaseSample:
    """Watches a run and keeps some of its cases; below a limit, all of them.

    Each id has a number that decides how long its case stays: when there are too many, those
    with the higher half of the numbers go. So neither order nor partition changes the sample.
    Where so many cases are `expected` that most will go, those are not kept in the first place.
    """

    __slots__ = ("_bits", "_kept", "cases", "limit", "table")

    def __init__(self, table: AttributeTable, *, limit: int = SAMPLED, expected: int = 0) -> None:
        self.table = table
        self.limit = limit
        self.cases = 0
        # A part of a large run need not keep what the whole will drop.
        self._bits = 32 - max(0, (expected // (_MARGIN * limit)).bit_length() - 1)
        self._kept: list[_Kept] = []

    def __call__(self, batch: FinishedCases) -> None:
        """Take note of finished cases."""
        cases, blocks, stats = batch
        self.cases += len(cases)
        draws = _draws(cases)
        limit = 1 << self._bits
        self._kept += [
            _Kept(draw, cases[place].id, _cells(blocks[place]), stats[place])
            for place, draw in enumerate(draws)
            if draw < limit
        ]
        self._shrink()

    def add(self, case_id: str, block: OutcomeBlock, stats: CaseStats) -> None:
        """Take note of one case."""
        self(([Case(case_id, None)], [block], [stats]))

    def merge(self, other: CaseSample) -> None:
        """Take in the sample of another part of the run."""
        numbers = [self.table.add(attribute) for attribute in other.table.attributes]
        self.cases += other.cases
        self._bits = min(self._bits, other._bits)
        self._kept += [
            kept._replace(cells=_renumbered(kept.cells, numbers)) for kept in other._kept
        ]
        self._kept = [kept for kept in self._kept if not kept.draw >> self._bits]
        self._shrink()

    def rows(self) -> list[CaseRow]:
        """The cases that were kept, in an order of their own."""
        means: dict[CaseStats, tuple[int, ...]] = {}
        rows = []
        for kept in sorted(self._kept, key=lambda kept: kept[:2]):
            known = means.get(kept.stats)
            if known is None:
                known = means[kept.stats] = row_means(kept.stats)
            rows.append(CaseRow(_counted(kept.cells), known))
        return rows

    def _shrink(self) -> None:
        while len(self._kept) > self.limit and self._bits:
            self._bits -= 1
            self._kept = [kept for kept in self._kept if not kept.draw >> self._bits]


def _draws(cases: Sequence[Case]) -> list[int]:
    """A number for each case that spreads ids evenly.

    Multiplying breaks the regularity of the checksum.
    """
    try:
        return [crc32(case.id.encode()) * _MIX & _WORD for case in cases]
    except UnicodeEncodeError:
        return [crc32(case.id.encode("utf-8", "surrogatepass")) * _MIX & _WORD for case in cases]


def _cells(block: OutcomeBlock) -> _Cells:
    if len(block.cells) <= _SHORT:
        return block.cells
    return Counter(block.cells) if block.times is None else block.times


def _counted(cells: _Cells) -> Mapping[int, int]:
    return cells if isinstance(cells, Mapping) else Counter(cells)


def _renumbered(cells: _Cells, numbers: Sequence[int]) -> Mapping[int, int]:
    renumbered: Counter[int] = Counter()
    for cell, times in _counted(cells).items():
        renumbered[numbers[cell >> CELL_BITS] << CELL_BITS | cell & _FACT_MASK] += times
    return renumbered
