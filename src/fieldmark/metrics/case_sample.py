"""What single cases contribute to a run, and a bounded sample of them for resampling."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple, Protocol, TypeAlias
from zlib import crc32

from fieldmark.metrics.case_score import CaseStats
from fieldmark.metrics.tally import f1_in_a_mean
from fieldmark.model.case import Case
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.model.outcomes import AttributeTable, Outcomes

__all__ = [
    "MEANS",
    "ONCE",
    "SAMPLED",
    "STEP",
    "WIDTH",
    "CaseContribution",
    "CaseRow",
    "CaseSample",
    "FinishedCases",
    "PackedCells",
    "SampledCase",
    "Threshold",
    "packed",
    "row_means",
]

STEP: Final = 1 << 24
"""Scores are counted in whole steps, so that sums do not depend on their order."""

MEANS: Final = 4
"""Columns of means: the sum and the number of scores, then of F1s by case."""

_CODE: Final = "q"
WIDTH: Final = array(_CODE).itemsize
ONCE: Final = array(_CODE, [1]).tobytes()


class PackedCells(NamedTuple):
    """Cells as the bytes of whole numbers, and how often each occurs; without `times`, once."""

    cells: bytes
    times: bytes | None = None

    def unpacked(self) -> Sequence[int]:
        """The cells as numbers."""
        return array(_CODE, self.cells)


def packed(cells: Iterable[int], times: Iterable[int] | None = None) -> PackedCells:
    """Cells in little room."""
    counted = None if times is None else array(_CODE, times).tobytes()
    return PackedCells(array(_CODE, cells).tobytes(), counted)


class CaseContribution(Protocol):
    """What some cases add to a run."""

    @property
    def packed(self) -> PackedCells:
        """Their cells."""
        ...

    @property
    def means(self) -> Sequence[int]:
        """Their scores, summed."""
        ...


class CaseRow:
    """The cells and the scores of some cases, summed."""

    __slots__ = ("cells", "means")

    def __init__(self) -> None:
        self.cells: Counter[int] = Counter()
        self.means = [0] * MEANS

    def add(self, cells: Mapping[int, int], means: Sequence[int]) -> None:
        """Add one case."""
        for cell, times in cells.items():
            self.cells[cell] += times
        for place, value in enumerate(means):
            self.means[place] += value

    @property
    def packed(self) -> PackedCells:
        """The cells, each with how often it occurs."""
        return packed(self.cells, self.cells.values())


def row_means(stats: CaseStats) -> tuple[int, ...]:
    """The score of a case and its F1, each with how many there are: one or none."""
    if stats.score is None:
        return (0,) * MEANS
    parts = (stats.score, f1_in_a_mean(stats))
    return tuple(
        value for part in parts for value in ((0, 0) if part is None else (round(part * STEP), 1))
    )


SAMPLED: Final = 2_048
"""Cases that are kept at most. So many say how much a figure varies to within two in a hundred."""

_SHORT: Final = 64
"""Cells of a case that are kept as they are; those of a longer one are counted already."""

_BITS: Final = 32
_MIX: Final = 0x9E3779B1
_WORD: Final = (1 << _BITS) - 1


class SampledCase(NamedTuple):
    """A case that was kept, with the number that decides how long it stays."""

    draw: int
    id: str
    packed: PackedCells
    means: tuple[int, ...]


FinishedCases: TypeAlias = tuple[Sequence[Case], Sequence[Outcomes], Sequence[CaseStats]]
"""Cases with their outcomes and figures, in step: what a run shows to those who watch it."""


class Threshold:
    """Below which number a case may stay in a sample: halved whenever too many do.

    What some cases of a run say of it holds for the whole run, which has at least as many.
    """

    __slots__ = ("_draws", "bits", "limit")

    def __init__(self, limit: int = SAMPLED, bits: int = _BITS) -> None:
        self.limit = limit
        self.bits = bits
        self._draws: list[int] = []

    def take(self, draws: Sequence[int]) -> None:
        """Take note of the numbers of further cases, which are below the threshold."""
        self._draws += draws
        while len(self._draws) > self.limit and self.bits:
            self.lower(self.bits - 1)

    def lower(self, bits: int) -> None:
        """Be no higher than that."""
        if bits < self.bits:
            self.bits = bits
            self._draws = [draw for draw in self._draws if not draw >> bits]


class CaseSample:
    """Watches a run and keeps some of its cases; below a limit, all of them.

    Each id has a number that decides how long its case stays: when there are too many, those
    with the higher half of the numbers go. So neither order nor partition changes the sample.
    Several parts of a run may have one `threshold`: then the later ones keep less.
    """

    __slots__ = ("_kept", "_threshold", "cases", "table")

    def __init__(
        self,
        table: AttributeTable,
        *,
        limit: int = SAMPLED,
        threshold: Threshold | None = None,
    ) -> None:
        self.table = table
        self.cases = 0
        self._threshold = Threshold(limit) if threshold is None else threshold
        self._kept: list[SampledCase] = []

    def __call__(self, batch: FinishedCases) -> None:
        """Take note of finished cases."""
        cases, blocks, stats = batch
        self.cases += len(cases)
        limit = 1 << self._threshold.bits
        self._keep(
            [
                SampledCase(draw, cases[place].id, _cells(blocks[place]), row_means(stats[place]))
                for place, draw in enumerate(_draws(cases))
                if draw < limit
            ]
        )

    def add(self, case_id: str, block: Outcomes, stats: CaseStats) -> None:
        """Take note of one case."""
        self(([Case(case_id, None)], [block], [stats]))

    def merge(self, other: CaseSample) -> None:
        """Take in the sample of another part of the run."""
        numbers = [self.table.add(attribute) for attribute in other.table.attributes]
        kept = other._kept
        if numbers != list(range(len(numbers))):
            kept = [each._replace(packed=_renumbered(each.packed, numbers)) for each in kept]
        self.cases += other.cases
        self._keep(kept, other._threshold.bits)

    def rows(self) -> list[SampledCase]:
        """The cases that were kept, in an order of their own."""
        return sorted(self._kept, key=itemgetter(0, 1))

    def _keep(self, further: Sequence[SampledCase], bits: int = _BITS) -> None:
        """Keep further cases too, as far as they are below all thresholds."""
        threshold = self._threshold
        before = threshold.bits
        threshold.lower(bits)
        further = [each for each in further if not each.draw >> threshold.bits]
        threshold.take([each.draw for each in further])
        self._kept += further
        if threshold.bits < before:
            self._kept = [each for each in self._kept if not each.draw >> threshold.bits]

    def __getstate__(self) -> _State:
        return self.table, self.cases, self._threshold.limit, self._threshold.bits, self._kept

    def __setstate__(self, state: _State) -> None:
        self.table, self.cases, limit, bits, self._kept = state
        self._threshold = Threshold(limit, bits)
        self._threshold.take([each.draw for each in self._kept])


_State: TypeAlias = tuple[AttributeTable, int, int, int, list[SampledCase]]


def _draws(cases: Sequence[Case]) -> list[int]:
    """A number for each case that spreads ids evenly.

    Multiplying breaks the regularity of the checksum.
    """
    try:
        return [crc32(case.id.encode()) * _MIX & _WORD for case in cases]
    except UnicodeEncodeError:
        return [crc32(case.id.encode("utf-8", "surrogatepass")) * _MIX & _WORD for case in cases]


def _cells(block: Outcomes) -> PackedCells:
    if len(block.cells) <= _SHORT:
        return packed(block.cells)
    times = Counter(block.cells) if block.times is None else block.times
    return packed(times, times.values())


def _renumbered(cells: PackedCells, numbers: Sequence[int]) -> PackedCells:
    renumbered = packed(
        numbers[cell >> CELL_BITS] << CELL_BITS | cell & FACT_MASK for cell in cells.unpacked()
    )
    return renumbered._replace(times=cells.times)
