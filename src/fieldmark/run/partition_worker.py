"""The work of one process: reading, comparing and counting partitions of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fieldmark.data.pairing import ReadStatistics
from fieldmark.metrics.case_sample import Threshold
from fieldmark.metrics.conventions import Convention
from fieldmark.model.alignment import Aligner
from fieldmark.model.case import Case
from fieldmark.model.outcomes import Attribute, AttributeTable
from fieldmark.model.rule import Rules
from fieldmark.plan import Plan, compile_plan
from fieldmark.run.case_processor import CaseProcessor, RunTotals, segments, split_unreadable
from fieldmark.wire.attributes import NumberedAttribute, RowNumbers, is_list
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.cases import CaseEncoder

if TYPE_CHECKING:
    from fieldmark.data.partitions import Partition, PartitionOpener

__all__ = ["NumberedPartition", "PartitionResult", "PartitionWorker", "Task", "WorkerJob"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerJob:
    """Everything that a worker process needs to process partitions of a run.

    `seeds` are the attributes with small numbers in rows.
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
"""Consecutive partitions that one worker processes together."""
Restore: TypeAlias = "Callable[[int, Sequence[Case]], Sequence[CaseResult] | None]"
"""Returns the results of a segment that an interrupted run has already written."""


class PartitionResult(NamedTuple):
    """The result of a task: rows and totals.

    `number` is the first segment and `after` the segment after the last. `short` is true if a
    partition had fewer cases than lines.
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
        """Whether every line contained a case with a candidate, and no candidate was left over."""
        coverage = self.statistics.coverage
        return not (self.short or coverage.missing or coverage.unexpected)


class PartitionWorker:
    """Processes tasks one after another, with its own plan."""

    __slots__ = ("_encoder", "_job", "_processor", "_restore", "_threshold")

    def __init__(
        self,
        job: WorkerJob,
        *,
        plan: Plan | None = None,
        numbers: RowNumbers | None = None,
        restore: Restore | None = None,
    ) -> None:
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
        numbers = RowNumbers(plan.table, job.seeds) if numbers is None else numbers
        self._encoder = CaseEncoder(numbers, values=job.values)

    def work(self, task: Task, write: Callable[[list[bytes]], object]) -> PartitionResult:
        """Read, compare and count the partitions of a task, and write the rows of each segment."""
        job, plan = self._job, self._processor.plan
        totals = RunTotals(
            plan.table,
            values=job.values,
            sampled=job.sampled,
            threshold=self._threshold,
            rule_sets=[job.rules],
        )
        ids: list[str] = []
        read: list[ReadStatistics] = []
        short = False
        for number, partition in task:
            before = len(ids)
            with closing(job.opener.open(partition)) as stream:
                if self._restore is None:
                    stream.keep_unparsed()
                for segment in segments(stream.batches()):
                    ids += [case.id for case in segment]
                    cases, unreadable = split_unreadable(segment)
                    stored = None if self._restore is None else self._restore(number, cases)
                    results = self._processor.process(cases) if stored is None else stored
                    totals.add(results, unreadable)
                    if job.keep_rows:
                        write(self._encoder.encode(number, results, non_finite=stream.non_finite))
            short |= len(ids) - before < partition.cases
            read.append(stream.read_statistics())
        return PartitionResult(
            number=task[0][0],
            after=task[-1][0] + 1,
            totals=totals,
            statistics=reduce(ReadStatistics.joined, read),
            lists=plan.lists(),
            attributes=self._encoder.numbers.take_new(),
            size=sum(partition.size for _, partition in task),
            ids=ids,
            short=short,
        )
