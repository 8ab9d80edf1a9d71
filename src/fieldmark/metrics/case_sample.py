"""What single cases contribute to a run, and a bounded sample of them for resampling."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import add, itemgetter
from typing import Final, NamedTuple, TypeAlias
from zlib import crc32

from fieldmark.metrics.case_score import SHORT, CaseStats
from fieldmark.metrics.tally import f1_in_mean
from fieldmark.model.case import Case
from fieldmark.model.outcomes import AttributeTable, Outcomes, renumber

__all__ = ["MEANS", "STEP", "CaseRow", "CaseSample", "SampledCase", "Threshold", "row_means"]

STEP: Final = 1 << 24
"""Scores are counted in whole steps, so that sums do not depend on their order."""

MEANS: Final = 4
"""Columns of means: the sum and the number of scores, then of F1s by case."""

_SAMPLED: Final = 2_048
"""The most cases in a sample; so many estimate the variation of a figure to within 2 percent."""

_CODE: Final = "q"
_ONE: Final = array(_CODE, [1]).tobytes()
_BITS: Final = 32


class PackedCells(NamedTuple):
    """Cells as the bytes of 64-bit integers, and how often each occurs; `None` for once each."""

    cells: bytes
    counts: bytes | None = None

    @classmethod
    def pack(cls, cells: Iterable[int], counts: Iterable[int] | None = None) -> PackedCells:
        """The cells as bytes."""
        packed = None if counts is None else array(_CODE, counts).tobytes()
        return cls(array(_CODE, cells).tobytes(), packed)

    @property
    def number(self) -> int:
        """How many different cells there are."""
        return len(self.cells) // len(_ONE)

    @property
    def times(self) -> bytes:
        """How often each cell occurs."""
        return self.counts or _ONE * self.number

    def renumbered(self, numbers: Sequence[int]) -> PackedCells:
        """The same cells under other numbers of their attributes."""
        cells = renumber(array(_CODE, self.cells), numbers)
        return self._replace(cells=array(_CODE, cells).tobytes())


class CaseRow:
    """The cells and the scores of several cases, summed."""

    __slots__ = ("cells", "means")

    def __init__(self) -> None:
        self.cells: Counter[int] = Counter()
        self.means = [0] * MEANS

    def add(self, cells: Mapping[int, int], means: Sequence[int]) -> None:
        """Add one case."""
        for cell, times in cells.items():
            self.cells[cell] += times
        self.means = [*map(add, self.means, means)]

    @property
    def packed(self) -> PackedCells:
        """The cells, each with how often it occurs."""
        return PackedCells.pack(self.cells, self.cells.values())


@lru_cache(maxsize=2_048)
def row_means(stats: CaseStats) -> tuple[int, ...]:
    """The score of a case and its F1 in steps, each followed by 1 if it is defined, else 0."""
    if stats.score is None:
        return (0,) * MEANS
    score, f1 = stats.score, f1_in_mean(stats)
    return (round(score * STEP), 1, *((0, 0) if f1 is None else (round(f1 * STEP), 1)))


class SampledCase(NamedTuple):
    """A sampled case; `draw` is the number that decides how long it stays in the sample."""

    draw: int
    id: str
    packed: PackedCells
    means: tuple[int, ...]


class Threshold:
    """The bound on the numbers of sampled cases: halved whenever there are too many.

    A bound found from a part of a run holds for the whole run, which has at least as many cases.
    """

    __slots__ = ("_draws", "bits", "limit")

    def __init__(self, limit: int = _SAMPLED, bits: int = _BITS) -> None:
        self.limit = limit
        self.bits = bits
        self._draws: list[int] = []

    def take(self, draws: Sequence[int]) -> None:
        """Add the numbers of further cases, all below the threshold."""
        self._draws += draws
        while len(self._draws) > self.limit and self.bits:
            self.lower(self.bits - 1)

    def lower(self, bits: int) -> None:
        """Lower the threshold to this many bits, if it is higher."""
        if bits < self.bits:
            self.bits = bits
            self._draws = [draw for draw in self._draws if not draw >> bits]


class CaseSample:
    """A random sample of the cases of a run; up to the limit, all of them.

    Each id hashes to a number. When there are too many cases, those with the higher half of the
    numbers are dropped, so neither order nor partition changes the sample. Parts of a run may
    share a `threshold`, so that later parts keep less.
    """

    __slots__ = ("_kept", "_threshold", "cases", "table")

    def __init__(
        self,
        table: AttributeTable,
        *,
        limit: int = _SAMPLED,
        threshold: Threshold | None = None,
    ) -> None:
        self.table = table
        self.cases = 0
        self._threshold = Threshold(limit) if threshold is None else threshold
        self._kept: list[SampledCase] = []

    def __call__(
        self, batch: tuple[Sequence[Case], Sequence[Outcomes], Sequence[CaseStats]]
    ) -> None:
        """Add finished cases: the cases, their outcomes and their figures, in the same order."""
        cases, blocks, stats = batch
        self.cases += len(cases)
        limit = 1 << self._threshold.bits
        further: list[SampledCase] = []
        for place, draw in enumerate(_draws(cases)):
            if draw >= limit:
                continue
            block = blocks[place]
            if len(block.cells) <= SHORT:
                packed = PackedCells.pack(block.cells)
            else:
                times = Counter(block.cells) if block.times is None else block.times
                packed = PackedCells.pack(times, times.values())
            further.append(SampledCase(draw, cases[place].id, packed, row_means(stats[place])))
        self._keep(further)

    def add(self, case_id: str, block: Outcomes, stats: CaseStats) -> None:
        """Add one case."""
        self(([Case(case_id, None)], [block], [stats]))

    def merge(self, other: CaseSample) -> None:
        """Add the sample of another part of the run."""
        numbers = [self.table.add(attribute) for attribute in other.table.attributes]
        kept = other._kept
        if numbers != list(range(len(numbers))):
            kept = [each._replace(packed=each.packed.renumbered(numbers)) for each in kept]
        self.cases += other.cases
        self._keep(kept, other._threshold.bits)

    def rows(self) -> list[SampledCase]:
        """The sampled cases, in an order that depends only on their ids."""
        return sorted(self._kept, key=itemgetter(0, 1))

    def _keep(self, further: Sequence[SampledCase], bits: int = _BITS) -> None:
        """Add the cases that are below all thresholds."""
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
    """A hash of each id; the multiplication breaks the regularity of the checksum."""
    ids = (case.id.encode("utf-8", "surrogatepass") for case in cases)
    return [crc32(each) * 0x9E3779B1 & 0xFFFFFFFF for each in ids]
