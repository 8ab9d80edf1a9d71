"""The sums of a run: integers only, so any partition of the cases gives the same totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import add
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

from fieldmark.metrics.case_score import (
    SMALL_CASE,
    CaseMeans,
    CaseStats,
    count_cells,
    score_in_means,
)
from fieldmark.metrics.completions import Completion, failed_cells
from fieldmark.metrics.quality import QualityCounts, quality_metrics
from fieldmark.metrics.rates import ExactSum, MacroMean
from fieldmark.model.case import CaseInput, Verdict
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.model.outcomes import AttributeTable, Outcomes, renumber
from fieldmark.values.records import Key


class CaseTotals(NamedTuple):
    """The number of cases by status.

    `total` counts the rows of the ground truth; `unexpected` counts further candidates. `errors`
    counts the cases with errors, which are not scored unless an error scores 0. `vacuous` counts
    the scored cases that had nothing to score.
    """

    total: int = 0
    scored: int = 0
    perfect: int = 0
    errors: int = 0
    missing: int = 0
    unparseable: int = 0
    invalid_truth: int = 0
    unexpected: int = 0
    vacuous: int = 0

    def __add__(self, other: object) -> CaseTotals:
        if not isinstance(other, CaseTotals):
            return NotImplemented
        return CaseTotals(*map(add, self, other))


_INPUT_TOTALS: Final = {
    CaseInput.MISSING: CaseTotals(missing=1),
    CaseInput.PARSE_ERROR: CaseTotals(unparseable=1),
    CaseInput.INVALID_TRUTH: CaseTotals(invalid_truth=1),
}


class VerdictCounts(NamedTuple):
    """The number of cases by verdict."""

    passed: Annotated[int, Key("pass")] = 0
    partial: int = 0
    failed: Annotated[int, Key("fail")] = 0

    def __add__(self, other: object) -> VerdictCounts:
        if not isinstance(other, VerdictCounts):
            return NotImplemented
        return VerdictCounts(*map(add, self, other))


class ScoreSums(NamedTuple):
    """The sums of the scores that count in a mean, and of the vacuous scores that are left out."""

    counted: ExactSum = ExactSum()
    left_out: ExactSum = ExactSum()

    def __add__(self, other: object) -> ScoreSums:
        if not isinstance(other, ScoreSums):
            return NotImplemented
        return ScoreSums(*map(add, self, other))

    @classmethod
    def of(cls, scores: Iterable[tuple[float, bool, int]]) -> ScoreSums:
        """Return the sums of scores, each with whether it is vacuous and how often it occurs."""
        counted: list[tuple[float, int]] = []
        left_out: list[tuple[float, int]] = []
        for score, vacuous, times in scores:
            own = counted if score_in_means(score, vacuous=vacuous) is not None else left_out
            own.append((score, times))
        return cls(_sum(counted), _sum(left_out))

    @property
    def number(self) -> int:
        """The number of all scores."""
        return self.counted.number + self.left_out.number

    @property
    def mean(self) -> float | None:
        """The mean of the scores that count; of vacuous scores only if there are no others."""
        return (self.counted if self.counted.number else self.left_out).mean


class QualitySums(NamedTuple):
    """The sums of the quality metrics of cases, if an evaluator computes them."""

    completeness: ExactSum = ExactSum()
    hallucination: ExactSum = ExactSum()
    accuracy: ExactSum = ExactSum()
    rqs: ExactSum = ExactSum()

    def __add__(self, other: object) -> QualitySums:
        if not isinstance(other, QualitySums):
            return NotImplemented
        return QualitySums(*map(add, self, other))

    def means(self) -> dict[str, Any]:
        """Return the mean of each metric by name."""
        return {name: total.mean for name, total in self._asdict().items()}

    @classmethod
    def of(cls, counted: Iterable[tuple[CaseStats, CaseMeans, int]]) -> QualitySums:
        """Return the sums over the cases that have a response quality score."""
        rows = [
            (*quality_metrics(stats.quality), means.rqs, times)
            for stats, means, times in counted
            if means.rqs is not None
        ]
        return cls(*(_sum((row[column], row[-1]) for row in rows) for column in range(4)))


class RunSums(NamedTuple):
    """All sums over cases; `+` merges two parts of a run."""

    cases: CaseTotals = CaseTotals()
    verdicts: VerdictCounts = VerdictCounts()
    scores: ScoreSums = ScoreSums()
    precisions: ExactSum = ExactSum()
    recalls: ExactSum = ExactSum()
    f1s: ExactSum = ExactSum()
    safety: ExactSum = ExactSum()
    quality: QualityCounts = QualityCounts()
    qualities: QualitySums = QualitySums()

    def __add__(self, other: object) -> RunSums:
        if not isinstance(other, RunSums):
            return NotImplemented
        return RunSums(*map(add, self, other))

    def macro_by_case(self) -> MacroMean:
        """Return the means over cases; F1 is 1 and vacuous if no case remains."""
        vacuous = not self.f1s.number
        f1 = 1.0 if vacuous else self.f1s.mean
        return MacroMean(self.precisions.mean, self.recalls.mean, f1, vacuous)

    @classmethod
    def of(cls, counted: Sequence[tuple[CaseStats, int]]) -> RunSums:
        """Return the sums over distinct cases, each with its number of occurrences."""
        scored = [pair for pair in counted if pair[0].score is not None]
        means = [(stats, stats.in_means, times) for stats, times in counted]
        verdicts: Counter[Verdict | None] = Counter()
        quality: Counter[QualityCounts] = Counter()  # many cases have the same counts
        for stats, times in counted:
            verdicts[stats.verdict] += times
            quality[stats.quality] += times
        columns = zip(
            *([number * times for number in counts] for counts, times in quality.items()),
            strict=True,
        )
        return cls(
            cases=CaseTotals(
                total=sum([times for _, times in counted]),
                scored=sum([times for _, times in scored]),
                perfect=sum([times for stats, times in scored if stats.perfect]),
                errors=sum([times for stats, times in counted if stats.errors_count]),
                vacuous=sum([times for stats, times in scored if stats.vacuous]),
            ),
            verdicts=VerdictCounts(*(verdicts[verdict] for verdict in Verdict)),
            scores=ScoreSums(
                counted=_sum([(own.score, times) for _, own, times in means]),
                left_out=_sum(
                    [(stats.score, times) for stats, own, times in means if own.score is None]
                ),
            ),
            precisions=_sum([(own.precision, times) for _, own, times in means]),
            recalls=_sum([(own.recall, times) for _, own, times in means]),
            f1s=_sum([(own.f1, times) for _, own, times in means]),
            safety=_sum([(stats.safety, times) for stats, times in counted]),
            quality=QualityCounts(*map(sum, columns)),
            qualities=QualitySums.of(means),
        )


def _sum(values: Iterable[tuple[float | None, int]]) -> ExactSum:
    """Return the sum of the defined values, grouped first because many are equal."""
    times_of: dict[float, int] = {}
    for value, times in values:
        if value is not None:
            times_of[value] = times_of.get(value, 0) + times
    return ExactSum.of(times_of.items())


FactsByPath: TypeAlias = Mapping[str, Mapping[int, int]]
"""How often each fact occurred, by attribute."""


def joined_facts(first: FactsByPath, second: FactsByPath) -> FactsByPath:
    """Return how often each fact occurred in two groups of cases, sorted by path."""
    joined = {path: Counter(facts) for path, facts in first.items()}
    for path, facts in second.items():
        joined.setdefault(path, Counter()).update(facts)
    return dict(sorted(joined.items()))


CompletedCases: TypeAlias = Mapping[Completion, tuple[Outcomes, CaseStats]]
"""The outcomes and metrics of a failed case, by completion."""


class TallyState(NamedTuple):
    """Everything about a tally."""

    table: AttributeTable
    cells: Counter[int]
    sums: RunSums
    failed_cells: Counter[int]
    failed: FailedTally | None


_BATCH: Final = 8192
"""The maximum number of buffered cases; equal ones are counted together."""
_BATCH_CELLS: Final = 1 << 18
"""The maximum number of buffered cells; cases with long lists reach this limit first."""


class FailedTally:
    """Sums over the failed cases of a run, for every completion.

    `ids` are the cases, and `unbounded` counts those with failed lists, whose fields are not known.
    """

    __slots__ = ("completions", "ids", "unbounded")

    def __init__(self, table: AttributeTable) -> None:
        self.ids: list[str] = []
        self.unbounded = 0
        self.completions = {completion: Tally(table) for completion in Completion}

    def merge(self, other: FailedTally) -> None:
        """Add the failed cases of another part of the run."""
        self.ids += other.ids
        self.unbounded += other.unbounded
        for completion, tally in self.completions.items():
            tally.merge(other.completions[completion])


class Tally:
    """Sums over cases; tallies of parts of a run merge into the tally of the whole.

    Failed cases are only in `failed`, which is `None` without any.
    """

    __slots__ = (
        "_cells",
        "_failed_cells",
        "_held",
        "_stats",
        "_sums",
        "_waiting",
        "failed",
        "table",
    )

    def __init__(self, table: AttributeTable) -> None:
        self.table = table
        self._cells: Counter[int] = Counter()
        self._sums = RunSums()
        self._waiting: dict[int, Outcomes] = {}
        self._stats: list[CaseStats] = []
        self._held = 0
        self._failed_cells: Counter[int] = Counter()
        self.failed: FailedTally | None = None

    def add(self, block: Outcomes, stats: CaseStats, read: CaseInput = CaseInput.OK) -> None:
        """Add one compared case."""
        if read in _INPUT_TOTALS:
            self._sums += RunSums(cases=_INPUT_TOTALS[read])
        self._waiting[id(stats)] = block
        self._stats.append(stats)
        self._held += len(block.cells)
        if len(self._stats) >= _BATCH or self._held >= _BATCH_CELLS:
            self.settle()

    def add_all(self, blocks: Sequence[Outcomes], stats: Sequence[CaseStats]) -> None:
        """Add many readable cases."""
        self._waiting.update(zip(map(id, stats), blocks, strict=True))
        self._stats += stats
        self._held += sum([len(block.cells) for block in blocks])
        if len(self._stats) >= _BATCH or self._held >= _BATCH_CELLS:
            self.settle()

    def add_invalid_truth(self) -> None:
        """Add one case whose ground truth could not be read; it is not scored."""
        self._sums += RunSums(cases=CaseTotals(total=1, invalid_truth=1))

    def add_failed(
        self,
        case_id: str,
        block: Outcomes,
        completed: CompletedCases,
        read: CaseInput = CaseInput.OK,
        *,
        unbounded: bool = False,
    ) -> None:
        """Add one failed case: it is counted, and every completion has it."""
        own = _INPUT_TOTALS.get(read, CaseTotals())
        self._sums += RunSums(cases=own + CaseTotals(total=1, errors=1))
        self.add_errors(block)
        if self.failed is None:
            self.failed = FailedTally(self.table)
        self.failed.ids.append(case_id)
        self.failed.unbounded += unbounded
        for completion, (outcomes, stats) in completed.items():
            self.failed.completions[completion].add(outcomes, stats)

    def add_errors(self, block: Outcomes) -> None:
        """Count the failed fields of a case."""
        self._failed_cells.update(failed_cells(block))

    def add_unexpected(self, number: int = 1) -> None:
        """Add candidates without ground truth."""
        self._sums += RunSums(cases=CaseTotals(unexpected=number))

    def merge(self, other: Tally) -> None:
        """Add another part of the run, renumbering its attributes for this table."""
        numbers = [self.table.add(attribute) for attribute in other.table.attributes]
        cells = other.cells()
        for cell, times in zip(renumber(cells, numbers), cells.values(), strict=True):
            self._cells[cell] += times
        self._sums += other.sums()
        failed = other._failed_cells
        for cell, times in zip(renumber(failed, numbers), failed.values(), strict=True):
            self._failed_cells[cell] += times
        if other.failed is not None:
            self.failed = self.failed or FailedTally(self.table)
            self.failed.merge(other.failed)

    def cells(self) -> Mapping[int, int]:
        """Return how often each cell occurred."""
        self.settle()
        return self._cells

    def sums(self) -> RunSums:
        """Return the sums over cases."""
        self.settle()
        return self._sums

    def facts(self) -> FactsByPath:
        """Return how often each fact occurred, for every attribute, sorted by path."""
        return self._by_path(self.cells())

    def all_facts(self) -> FactsByPath:
        """Return the same with the failed cases, whose failed fields count as wrong values."""
        if self.failed is None:
            return self.facts()
        failed = self.failed.completions[Completion.WRONG_VALUE]
        return joined_facts(self.facts(), failed.facts())

    def errors(self) -> FactsByPath:
        """Return how often each failed fact occurred, by attribute, sorted by path."""
        return self._by_path(self._failed_cells)

    def _by_path(self, cells: Mapping[int, int]) -> FactsByPath:
        by_path: dict[str, dict[int, int]] = {}
        for cell, times in cells.items():
            facts = by_path.setdefault(self.table.path(cell >> CELL_BITS), {})
            facts[cell & FACT_MASK] = facts.get(cell & FACT_MASK, 0) + times
        return dict(sorted(by_path.items()))

    def settle(self) -> None:
        """Count the buffered cases; equal cells share a record, so `id` groups them."""
        if not self._stats:
            return
        distinct = {id(stats): stats for stats in self._stats}
        times = Counter(map(id, self._stats))
        cells = self._cells
        known = cells.get
        short: list[int] = []
        for key, number in times.items():
            block = self._waiting[key]
            if len(block.cells) <= SMALL_CASE:
                short += block.cells * number
                continue
            for cell, count in (block.times or Counter(block.cells)).items():
                cells[cell] = known(cell, 0) + count * number
        for cell, count in count_cells(short).items():
            cells[cell] = known(cell, 0) + count
        self._sums += RunSums.of([(stats, times[key]) for key, stats in distinct.items()])
        self._waiting.clear()
        self._stats.clear()
        self._held = 0

    def __getstate__(self) -> TallyState:
        self.settle()
        return TallyState(self.table, self._cells, self._sums, self._failed_cells, self.failed)

    def __setstate__(self, state: TallyState) -> None:
        self.table, self._cells, self._sums, self._failed_cells, self.failed = state
        self._waiting, self._stats, self._held = {}, [], 0
