"""Compares and counts the cases of a run, or of a part of it: the same in every process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import reduce
from itertools import repeat
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fieldmark.data.pairing import ReadStatistics
from fieldmark.evaluators.base import Score
from fieldmark.metrics.case_sample import CaseSample, Threshold
from fieldmark.metrics.case_score import CaseCounter, CaseStats
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.quality import QualityCounts
from fieldmark.metrics.tally import Tally
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.alignment import Aligner
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.counts import Counts
from fieldmark.model.outcomes import Attribute, AttributeTable, Outcomes
from fieldmark.model.rule import Rules
from fieldmark.plan import Plan, compile_plan
from fieldmark.run.error_boundary import compare_cases
from fieldmark.run.run_warnings import CaseWarnings
from fieldmark.wire.attributes import NumberedAttribute, RowNumbers, is_list
from fieldmark.wire.case_result import CaseResult

if TYPE_CHECKING:
    from fieldmark.data.json_lines import LineReader
    from fieldmark.data.partitions import Partition, PartitionOpener

if TYPE_CHECKING:
    from fieldmark.data.partitions import Partition, PartitionOpener

__all__ = [
    "SEGMENT",
    "CaseProcessor",
    "NumberedPartition",
    "PartitionResult",
    "PartitionWorker",
    "RunTotals",
    "Task",
    "WorkerJob",
    "segment_size",
    "segments",
]

SEGMENT: Final = 512
"""Cases that are compared, written and acknowledged together, at most."""
_SEGMENT_BYTES: Final = 4 << 20
"""JSON in one segment, about; as Python objects it is some eight times as large."""
_READ: Final = frozenset({CaseInput.OK})
_FAILED: Final = CaseStats(
    Counts(), ErrorCounts(), QualityCounts(), *(None,) * 5, 0, 0, 0, 1, vacuous=False
)
"""The figures of a case without a candidate, because its target failed."""


def segment_size(case_bytes: int) -> int:
    """How many cases of about this size make a segment, which is held in memory.

    >>> segment_size(1_000), segment_size(100_000), segment_size(10**9)
    (512, 41, 1)
    """
    return max(1, min(SEGMENT, _SEGMENT_BYTES // max(1, case_bytes)))


def segments(batches: Iterable[Sequence[Case]], size: int = SEGMENT) -> Iterator[list[Case]]:
    """The same cases in lists of this size; only the last one is shorter.

    >>> cases = [Case(name, 1) for name in "abcde"]
    >>> [len(segment) for segment in segments([cases[:4], cases[4:]], size=2)]
    [2, 2, 1]
    """
    waiting: list[Case] = []
    for batch in batches:
        waiting += batch
        start = 0
        while len(waiting) - start >= size:
            yield waiting[start : start + size]
            start += size
        del waiting[:start]
    if waiting:
        yield waiting


class CaseProcessor:
    """Turns cases into results under one set of rules and one convention."""

    __slots__ = ("_convention", "_counter", "plan")

    def __init__(self, plan: Plan, convention: Convention) -> None:
        self.plan = plan
        self._convention = convention
        self._counter = CaseCounter(convention, plan.table)

    def process(self, cases: Sequence[Case]) -> list[CaseResult]:
        """Compare and count cases whose truth could be read."""
        if {case.input for case in cases} <= _READ:
            outcomes = compare_cases(self.plan, cases)
            stats = self._counter.all(outcomes)
            table, convention = repeat(self.plan.table), repeat(self._convention)
            return list(map(CaseResult, cases, outcomes, stats, table, convention))
        compared = [case for case in cases if case.input is not CaseInput.FAILED]
        found = iter(compare_cases(self.plan, compared))
        return [
            self._failed(case) if case.input is CaseInput.FAILED else self._counted(case, found)
            for case in cases
        ]

    def _counted(self, case: Case, found: Iterator[Outcomes]) -> CaseResult:
        outcomes = next(found)
        stats = self._counter.stats(outcomes, unreadable=case.input is not CaseInput.OK)
        return CaseResult(case, outcomes, stats, self.plan.table, self._convention)

    def _failed(self, case: Case) -> CaseResult:
        overall = Score.error(case.note)
        table, convention = self.plan.table, self._convention
        return CaseResult(case, Outcomes(), _FAILED, table, convention, overall=overall)


class RunTotals:
    """Everything that is summed over cases; the totals of two parts of a run merge exactly."""

    __slots__ = ("sample", "tally", "warnings")

    def __init__(
        self,
        table: AttributeTable,
        *,
        values: bool,
        sampled: bool,
        threshold: Threshold | None = None,
    ) -> None:
        self.tally = Tally(table)
        self.warnings = CaseWarnings(values=values)
        self.sample = CaseSample(table, threshold=threshold) if sampled else None

    def add(self, results: Sequence[CaseResult], unreadable: Sequence[Case] = ()) -> None:
        """Add cases; the truth of `unreadable` ones could not be read."""
        self.warnings.add(results, unreadable)
        tally = self.tally
        for _ in unreadable:
            tally.add_invalid_truth()
        if {result.case.input for result in results} <= _READ:
            compared = results
            tally.add_all(
                [result.outcomes for result in results], [result.stats for result in results]
            )
        else:
            compared = [each for each in results if each.case.input is not CaseInput.FAILED]
            for each in compared:
                tally.add(each.outcomes, each.stats, each.case.input)
            for _ in range(len(results) - len(compared)):
                tally.add_failed()
        if self.sample is not None:
            self.sample(
                (
                    [each.case for each in compared],
                    [each.outcomes for each in compared],
                    [each.stats for each in compared],
                )
            )

    def merge(self, other: RunTotals) -> None:
        """Take in the part of the run that comes next."""
        self.tally.merge(other.tally)
        self.warnings.merge(other.warnings)
        if self.sample is not None and other.sample is not None:
            self.sample.merge(other.sample)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerJob:
    """Everything that a worker process must know to do its share of a run.

    `seeds` are the attributes that have small numbers in rows.
    """

    opener: PartitionOpener
    rules: Rules
    convention: Convention
    seeds: tuple[Attribute, ...] = ()
    values: bool = True
    keep_rows: bool = True
    sampled: bool = False


NumberedPartition: TypeAlias = "tuple[int, Partition]"
"""A partition with the number of its segment."""
Task: TypeAlias = "Sequence[NumberedPartition]"
"""Consecutive partitions that one worker does in one go."""
Restore: TypeAlias = "Callable[[int, Sequence[Case]], Sequence[CaseResult] | None]"
"""The results of a segment that an interrupted run has stored already."""


class PartitionResult(NamedTuple):
    """What came of a task: rows, and totals that add up.

    `number` is that of its first segment, `after` the one behind its last.
    """

    number: int
    after: int
    totals: RunTotals
    statistics: ReadStatistics
    lists: Mapping[str, Aligner]
    attributes: list[NumberedAttribute]
    size: int
    ids: Sequence[str]
    short: bool = False
    rows: Iterable[bytes] = ()

    @property
    def in_step(self) -> bool:
        """Whether every line held a case that found its candidate, and none was left over."""
        coverage = self.statistics.coverage
        return not (self.short or coverage.missing or coverage.unexpected)


class PartitionWorker:
    """Does one task after the other, with its own plan."""

    __slots__ = ("_encoder", "_job", "_processor", "_readers", "_restore", "_threshold")

    def __init__(
        self,
        job: WorkerJob,
        *,
        plan: Plan | None = None,
        numbers: RowNumbers | None = None,
        restore: Restore | None = None,
    ) -> None:
        from fieldmark.wire.cases import CaseEncoder

        self._job = job
        self._restore = restore
        self._threshold = Threshold()
        if plan is None:
            table = AttributeTable()
            for attribute in job.seeds:
                if not is_list(attribute):
                    table.add(attribute)
            plan = compile_plan(job.rules, table)
        self._processor = CaseProcessor(plan, job.convention)
        lines = not job.keep_rows and plan.takes_lines
        self._readers = job.opener.line_readers() if lines else ()
        numbers = RowNumbers(plan.table, job.seeds) if numbers is None else numbers
        self._encoder = CaseEncoder(numbers, values=job.values)

    def work(self, task: Task, write: Callable[[list[bytes]], object]) -> PartitionResult:
        """Read, compare and count some partitions; the rows of each segment are written."""
        job, plan = self._job, self._processor.plan
        reader = _PartitionReader(job.opener, task, self._readers)
        totals = RunTotals(
            plan.table, values=job.values, sampled=job.sampled, threshold=self._threshold
        )
        for cases, unreadable in reader.segments():
            stored = None if self._restore is None else self._restore(reader.number, cases)
            results = self._processor.process(cases) if stored is None else stored
            totals.add(results, unreadable)
            if job.keep_rows:
                write(self._encoder.encode(reader.number, results, non_finite=reader.non_finite))
        return PartitionResult(
            number=task[0][0],
            after=task[-1][0] + 1,
            totals=totals,
            statistics=reader.statistics(),
            lists=plan.lists(),
            attributes=self._encoder.numbers.take_new(),
            size=sum(partition.size for _, partition in task),
            ids=reader.ids,
            short=reader.short,
        )


class _PartitionReader:
    """Reads the partitions of a task one after the other.

    `number` is the segment that was read last, `non_finite` whether it may hold such numbers; when
    all is read, `short` says that some partition had fewer cases than lines.
    """

    def __init__(self, opener: PartitionOpener, task: Task, readers: Sequence[LineReader]) -> None:
        self.number = 0
        self.non_finite = self.short = False
        self.ids: list[str] = []
        self._opener = opener
        self._task = task
        self._readers = readers
        self._parts: list[ReadStatistics] = []

    def segments(self) -> Iterator[tuple[list[Case], list[Case]]]:
        """The cases of each partition, and those whose truth could not be read."""
        for number, partition in self._task:
            self.number, before = number, len(self.ids)
            with closing(self._opener.open(partition)) as stream:
                if self._readers:
                    stream.keep_lines(self._readers)
                for segment in segments(stream.batches()):
                    self.ids += [case.id for case in segment]
                    self.non_finite = stream.non_finite
                    yield split_unreadable(segment)
            self.short |= len(self.ids) - before < partition.cases
            self._parts.append(stream.read_statistics())

    def statistics(self) -> ReadStatistics:
        """What was found in all partitions."""
        return reduce(ReadStatistics.joined, self._parts)


def split_unreadable(segment: list[Case]) -> tuple[list[Case], list[Case]]:
    """The cases whose truth could be read, and the others."""
    unreadable = [case for case in segment if case.input is CaseInput.INVALID_TRUTH]
    if not unreadable:
        return segment, []
    return [case for case in segment if case.input is not CaseInput.INVALID_TRUTH], unreadable
