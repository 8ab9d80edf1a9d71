"""The work of one process: reading, comparing and counting partitions of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from fieldmark.data.pairing import ReadStatistics
from fieldmark.data.partitions import PartitionReader
from fieldmark.evaluators.base import CaseScorer, ConfiguredEvaluator
from fieldmark.metrics.case_sample import Threshold
from fieldmark.model.alignment import Aligner
from fieldmark.model.case import Case
from fieldmark.model.outcomes import Attribute, AttributeTable
from fieldmark.plan import Plan, compile_plan
from fieldmark.runs.attribute_table import NumberedAttribute, RowNumbers, is_list
from fieldmark.runs.case_processor import CaseProcessor, RunTotals, segments, split_unreadable
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.case_rows import CaseEncoder
from fieldmark.runs.evaluator_runner import open_evaluators
from fieldmark.runs.settings import Settings

if TYPE_CHECKING:
    from fieldmark.data.partitions import Partition, PartitionOpener
    from fieldmark.metrics.slices import SliceKey
    from fieldmark.runs.evaluator_runner import EvaluatorRunner, EvaluatorState


_BLOCK_SEGMENTS: Final = 128
"""The maximum number of segments of a task that are in the same block of a file."""
_FEW_LINES: Final = 8_192
"""The number of lines of a block that a task may skip before its own."""


class Worker(Protocol):
    """Processes tasks one after another."""

    def work(self, task: Task, write: Callable[[list[bytes]], object]) -> PartitionResult:
        """Process a task, and write the rows of each segment."""

    def start_over(self) -> None:
        """Forget which attributes were reported, so that the next task reports all it uses."""


class Job(Protocol):
    """The task that an engine sends to worker processes for the partitions of a run."""

    @property
    def keep_rows(self) -> bool:
        """Whether workers write rows."""

    @property
    def waits(self) -> bool:
        """Whether workers wait for judges or models, so that tasks must be small."""

    def check_readable(self) -> None:
        """Raise an error if this machine does not have the files that another machine opened."""

    def open(self) -> AbstractContextManager[Worker]:
        """Start a worker in this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerJob:
    """Everything that a worker process needs to process partitions of a run.

    `seeds` are the attributes with small numbers in rows. `scorers` are the judges, which are open
    already; `concurrency` of their calls may run at the same time.
    """

    opener: PartitionOpener
    settings: Settings
    evaluators: Sequence[ConfiguredEvaluator] = ()
    scorers: Sequence[CaseScorer] = ()
    concurrency: int = 1
    waits: bool = False
    seeds: tuple[Attribute, ...] = ()
    values: bool = True
    keep_rows: bool = True
    sampled: bool = False
    by: tuple[SliceKey, ...] = ()

    def check_readable(self) -> None:
        """Raise an error if this machine does not have the files that another machine opened."""
        self.opener.check_readable()

    def open(self) -> AbstractContextManager[PartitionWorker]:
        """Start a worker in this process."""
        return open_worker(self)


NumberedPartition: TypeAlias = "tuple[int, Partition]"
"""A partition with the number of its segment."""
Task: TypeAlias = "Sequence[NumberedPartition]"
"""Consecutive partitions that one worker processes together."""
Restore: TypeAlias = "Callable[[int, Sequence[Case]], Sequence[CaseResult] | None]"
"""Returns the results of a segment that an interrupted run has already written."""


def group_tasks(
    partitions: Iterable[NumberedPartition], *, segments: int, size: int
) -> Iterator[Task]:
    """Yield consecutive partitions together, to reduce communication between processes.

    A task is complete when it has this number of `segments`, or `size` bytes of input. Partitions
    of one large block stay together, up to a limit, because each task reads it from its start.
    """
    task: list[NumberedPartition] = []
    held, block = 0, -1
    for numbered in partitions:
        full = len(task) >= segments or held >= size
        truth = numbered[1].truth
        skips = truth.start == block and getattr(truth, "skip", 0) > _FEW_LINES
        if full and not (skips and len(task) < _BLOCK_SEGMENTS):
            yield task
            task, held = [], 0
        block = truth.start
        task.append(numbered)
        held += numbered[1].size
    if task:
        yield task


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
    evaluations: EvaluatorState | None = None
    rows: Iterable[bytes] = ()

    @property
    def in_step(self) -> bool:
        """Whether every line contained a case with a candidate, and no candidate was left over."""
        coverage = self.statistics.coverage
        return not (self.short or coverage.missing or coverage.unexpected)


@contextmanager
def open_worker(
    job: WorkerJob,
    *,
    plan: Plan | None = None,
    numbers: RowNumbers | None = None,
    restore: Restore | None = None,
) -> Iterator[PartitionWorker]:
    """Start the evaluators of a job, and return its worker."""
    with ExitStack() as stack:
        runner = None
        if job.evaluators:
            evaluators = open_evaluators(
                job.evaluators,
                concurrency=job.concurrency,
                settings=job.settings,
                scorers=job.scorers,
            )
            runner = stack.enter_context(evaluators)
        yield PartitionWorker(job, plan=plan, numbers=numbers, restore=restore, runner=runner)


class PartitionWorker:
    """Processes tasks one after another, with its own plan."""

    __slots__ = ("_encoder", "_job", "_processor", "_restore", "_runner", "_threshold")

    def __init__(
        self,
        job: WorkerJob,
        *,
        plan: Plan | None = None,
        numbers: RowNumbers | None = None,
        restore: Restore | None = None,
        runner: EvaluatorRunner | None = None,
    ) -> None:
        self._job = job
        self._restore = restore
        self._runner = runner
        self._threshold = Threshold()
        self._start(plan, numbers)

    def _start(self, plan: Plan | None = None, numbers: RowNumbers | None = None) -> None:
        job = self._job
        if plan is None:
            table = AttributeTable()
            for attribute in job.seeds:
                if not is_list(attribute):
                    table.add(attribute)
            plan = compile_plan(job.settings.rules, table)
        rated = job.settings.confidence is not None
        self._processor = CaseProcessor(plan, job.settings.convention, confidences=rated)
        numbers = RowNumbers(plan.table, job.seeds) if numbers is None else numbers
        self._encoder = CaseEncoder(numbers, values=job.values)

    def start_over(self) -> None:
        """Forget which attributes were reported, so that the next task reports all it uses."""
        self._start()

    def work(self, task: Task, write: Callable[[list[bytes]], object]) -> PartitionResult:
        """Read, compare and count the partitions of a task, and write the rows of each segment."""
        job, plan = self._job, self._processor.plan
        totals = RunTotals(
            plan.table,
            values=job.values,
            sampled=job.sampled,
            threshold=self._threshold,
            rule_sets=job.settings.rule_sets,
            by=job.by,
            confidences=job.settings.confidence is not None,
        )
        ids: list[str] = []
        read: list[ReadStatistics] = []
        short = False
        with closing(PartitionReader(job.opener)) as reader:
            for number, partition in task:
                before = len(ids)
                with closing(reader.open(partition)) as stream:
                    if self._restore is None and self._runner is None:
                        stream.keep_unparsed()
                    for segment in segments(stream.batches()):
                        ids += [case.id for case in segment]
                        cases, unreadable = split_unreadable(segment)
                        stored = None if self._restore is None else self._restore(number, cases)
                        results = self._processor.process(cases) if stored is None else stored
                        if self._runner is not None:
                            known = [stored is not None] * len(results)
                            results = self._runner.evaluate(results, stored=known)
                        totals.add(results, unreadable)
                        if self._runner is not None:
                            totals.tally.settle()  # scores differ, so there are no equal cases
                        if job.keep_rows:
                            rows = self._encoder.encode(
                                number, results, non_finite=stream.non_finite
                            )
                            write(rows)
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
            evaluations=None if self._runner is None else self._runner.take_state(),
        )
