"""What single cases contribute to a run, and a bounded sample of cases for resampling."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Annotated, Final, NamedTuple, TypeAlias
from zlib import crc32

from fieldmark.metrics.case_score import SMALL_CASE, CaseStats, count_cells
from fieldmark.metrics.quality import quality_metrics
from fieldmark.model.outcomes import AttributeTable, Outcomes, renumber
from fieldmark.values.records import EXACT_ARRAY

STEP: Final = 1 << 40
"""Scores are counted in integer steps, so that sums do not depend on their order."""

_SAMPLED: Final = 2_048
"""The maximum size of a sample, which estimates the variation of a metric to within 2 percent."""

_HELD: Final = 512
"""The maximum number of cells that a row holds before it adds them up."""
_INT64: Final = "q"
_ONCE: Final = array(_INT64, [1] * SMALL_CASE)
_BITS: Final = 32
_MIX: Final = 0x9E3779B1
"""Multiplying by it breaks up the regularity of a checksum."""


class CaseSums(NamedTuple):
    """The sums of one or more cases that metrics are computed from; scores are in steps.

    Each sum of scores is followed by the number of cases that have one: the scores, the F1s by
    case, the buckets of keys, the scores of a safety judge, and the quality metrics by case if an
    evaluator computes them. `left_out` is the number of vacuous cases that are not in the mean
    score.
    """

    score: int = 0
    scored: int = 0
    f1: int = 0
    f1s: int = 0
    extra: int = 0
    unexpected: int = 0
    missing: int = 0
    both_non_null: int = 0
    both_null: int = 0
    ignored: int = 0
    failed: int = 0
    matched: int = 0
    safety: int = 0
    judged: int = 0
    completeness: int = 0
    hallucination: int = 0
    accuracy: int = 0
    rqs: int = 0
    rated: int = 0
    left_out: int = 0


class CaseRow:
    """The summed cells and scores of several cases, which are added up several at a time."""

    __slots__ = ("_cells", "_held", "_size", "_sums")

    def __init__(self) -> None:
        self._cells: dict[int, int] = {}
        self._held: list[list[int]] = []
        self._size = 0
        self._sums: list[Sequence[int]] = []

    def add(self, block: Outcomes, sums: Sequence[int]) -> None:
        """Add one case; all cases have equally many sums."""
        if block.times is None:
            self._held.append(block.cells)
            self._size += len(block.cells)
        else:
            self._count(block.times)
        self._sums.append(sums)
        self._size += 1
        if self._size > _HELD:
            self.settle()

    @property
    def cells(self) -> Mapping[int, int]:
        """How often each cell occurs."""
        self.settle()
        return self._cells

    @property
    def times(self) -> Iterable[int]:
        """How often each cell occurs, in the order of the cells."""
        return self.cells.values()

    @property
    def sums(self) -> Sequence[int]:
        """The sums of all cases."""
        self.settle()
        return self._sums[0] if self._sums else ()

    def _count(self, times: Mapping[int, int]) -> None:
        cells = self._cells
        for cell, number in times.items():
            cells[cell] = cells.get(cell, 0) + number

    def settle(self) -> None:
        """Add up the held results."""
        self._size = 0
        if self._held:
            self._count(count_cells([*chain.from_iterable(self._held)]))
            self._held.clear()
        if len(self._sums) > 1:
            self._sums = [[*map(sum, zip(*self._sums, strict=True))]]


@lru_cache(maxsize=2_048)
def case_sums(stats: CaseStats) -> CaseSums:
    """Return the sums of one case."""
    means = stats.in_means
    rated: tuple[int, ...] = (0,) * 5
    if means.rqs is not None:
        rated = (*map(steps, (*quality_metrics(stats.quality), means.rqs)), 1)
    safety = score_sums([stats.safety])
    scores = score_sums([means.score, means.f1])
    left_out = int(stats.score is not None and means.score is None)
    return CaseSums._make((*scores, *stats.quality, *safety, *rated, left_out))


def score_sums(scores: Iterable[float | None]) -> list[int]:
    """Return each score in steps, followed by the number of cases that have it: 1 or 0."""
    return [
        number for score in scores for number in ((0, 0) if score is None else (steps(score), 1))
    ]


def steps(score: float) -> int:
    """Return a score in steps."""
    return round(score * STEP)


class SampledCase(NamedTuple):
    """A sampled case; `draw` is the number that decides how long it stays in the sample.

    A cell may be listed several times; each entry counts as often as `times` says.
    """

    draw: int
    id: str
    cells: Sequence[int]
    times: Sequence[int]
    sums: Annotated[CaseSums, EXACT_ARRAY]


class Threshold:
    """The upper bound on the draws of sampled cases; halved whenever there are too many.

    A bound from one part of a run is valid for the whole run, which has at least as many cases.
    """

    __slots__ = ("_draws", "bits", "limit")

    def __init__(self, limit: int = _SAMPLED, bits: int = _BITS) -> None:
        self.limit = limit
        self.bits = bits
        self._draws: list[int] = []

    def take(self, draws: Sequence[int]) -> None:
        """Add the draws of further cases, all below the threshold."""
        self._draws += draws
        while len(self._draws) > self.limit and self.bits:
            self.lower(self.bits - 1)

    def lower(self, bits: int) -> None:
        """Lower the threshold to this many bits if it is higher."""
        if bits < self.bits:
            self.bits = bits
            self._draws = [draw for draw in self._draws if not draw >> bits]


class CaseSample:
    """A random sample of the cases of a run, or all cases up to the limit.

    The hash of each id is its draw. If there are too many cases, the upper half by draw is dropped,
    so the sample depends neither on the order of the cases nor on how they are partitioned. Parts
    of a run may share a `threshold`, so that later parts store less.
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

    def add_all(
        self, ids: Sequence[str], blocks: Sequence[Outcomes], stats: Sequence[CaseStats]
    ) -> None:
        """Add many cases, given as their ids, outcomes and metrics in the same order."""
        self.cases += len(ids)
        bits = self._threshold.bits
        further: list[SampledCase] = []
        try:
            checksums = [*map(crc32, map(str.encode, ids))]
        except UnicodeEncodeError:
            checksums = [crc32(text.encode("utf-8", "surrogatepass")) for text in ids]
        draws = [checksum * _MIX & 0xFFFFFFFF for checksum in checksums]
        sums: dict[int, CaseSums] = {}  # many cases share their statistics
        for index, draw in enumerate(draws):
            if draw >> bits:
                continue
            block, own = blocks[index], stats[index]
            cells: Sequence[int] = block.cells
            if len(cells) <= SMALL_CASE:
                times = _ONCE[: len(cells)]
            else:
                counted = Counter(cells) if block.times is None else block.times
                cells, times = array(_INT64, counted), array(_INT64, counted.values())
            summed = sums.get(id(own))
            if summed is None:
                summed = sums[id(own)] = case_sums(own)
            further.append(SampledCase(draw, ids[index], cells, times, summed))
        self._keep(further)

    def add(self, case_id: str, block: Outcomes, stats: CaseStats) -> None:
        """Add one case."""
        self.add_all([case_id], [block], [stats])

    def merge(self, other: CaseSample) -> None:
        """Add the sample of another part of the run."""
        numbers = [self.table.add(attribute) for attribute in other.table.attributes]
        cases = other._kept
        if numbers != list(range(len(numbers))):
            cases = [
                case._replace(cells=array(_INT64, renumber(case.cells, numbers))) for case in cases
            ]
        self.cases += other.cases
        self._keep(cases, other._threshold.bits)

    def rows(self) -> list[SampledCase]:
        """Return the sampled cases in an order that depends only on their ids."""
        return sorted(self._kept, key=itemgetter(0, 1))

    def _keep(self, further: Sequence[SampledCase], bits: int = _BITS) -> None:
        """Add the cases that are below all thresholds."""
        threshold = self._threshold
        before = threshold.bits
        threshold.lower(bits)
        further = [case for case in further if not case.draw >> threshold.bits]
        threshold.take([case.draw for case in further])
        self._kept += further
        if threshold.bits < before:
            self._kept = [case for case in self._kept if not case.draw >> threshold.bits]

    def __getstate__(self) -> _State:
        return self.table, self.cases, self._threshold.limit, self._threshold.bits, self._kept

    def __setstate__(self, state: _State) -> None:
        self.table, self.cases, limit, bits, self._kept = state
        self._threshold = Threshold(limit, bits)
        self._threshold.take([case.draw for case in self._kept])


_State: TypeAlias = tuple[AttributeTable, int, int, int, list[SampledCase]]
