"""Portions of a run from their bytes to their rows, the same wherever it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, TypeAlias

from fieldmark.data.json_lines import LineReader
from fieldmark.data.pairing import ReadStatistics
from fieldmark.data.partitions import Partition, PartitionOpener
from fieldmark.metrics.case_sample import CaseSample, Threshold
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.tally import Tally
from fieldmark.model.alignment import Aligner
from fieldmark.model.case import Case
from fieldmark.model.outcomes import Attribute
from fieldmark.model.rule import Rules
from fieldmark.plan import Plan, compile_plan
from fieldmark.run.faults import Faults
from fieldmark.run.flags import Flags
from fieldmark.run.pipeline import Batch, Known, Watcher, run_cases
from fieldmark.run.segments import segments
from fieldmark.store.segments import SegmentEncoder, seeded

__all__ = ["Job", "Numbered", "PortionWorker", "Shard", "Task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """All that another process must know to do its share of a run.

    `shared` are the attributes that have the same number in all segments; `sampled` is whether a
    sample of the cases is wanted.
    """

    recipe: PartitionOpener
    rules: Rules
    convention: Convention
    shared: tuple[Attribute, ...] = ()
    values: bool = True
    keep_rows: bool = True
    sampled: bool = False


Numbered: TypeAlias = tuple[int, Partition]
"""A portion with the number of its segment."""
Task: TypeAlias = Sequence[Numbered]
"""Portions that follow one another, which one worker does in one go."""


class Shard(NamedTuple):
    """What came of a task: rows to be written, and sums that add up.

    `number` is that of its first segment, `after` the one behind its last.
    """

    number: int
    after: int
    tally: Tally
    flags: Flags
    faults: Faults
    read: ReadStatistics
    lists: Mapping[str, Aligner]
    size: int
    ids: Sequence[str]
    sample: CaseSample | None = None
    short: bool = False
    rows: Iterable[bytes] = ()

    @property
    def in_step(self) -> bool:
        """Whether every line held a case that found its candidate, and none was left over."""
        coverage = self.read.coverage
        return not (self.short or coverage.missing or coverage.unexpected)


class PortionWorker:
    """Does one task after the other, with a plan of its own."""

    __slots__ = ("_counter", "_encoder", "_job", "_known", "_readers", "_threshold", "plan")

    def __init__(
        self,
        job: Job,
        *,
        plan: Plan | None = None,
        shared: int | None = None,
        known: Known | None = None,
    ) -> None:
        self._job = job
        self._known = known
        self._threshold = Threshold()
        if plan is None:
            plan = compile_plan(job.rules, seeded(job.shared))
            shared = len(job.shared)
        self.plan = plan
        self._counter = CaseCounter(job.convention, plan.table)
        lines = not job.keep_rows and plan.takes_lines
        self._readers = job.recipe.line_readers() if lines else ()
        self._encoder = SegmentEncoder(plan.table, values=job.values, shared=shared)

    @property
    def shared(self) -> Sequence[Attribute] | None:
        """The attributes that all segments share, once they are known."""
        number = self._encoder.shared
        return None if number is None else self.plan.table.attributes[:number]

    def work(self, task: Task, write: Callable[[list[bytes]], object]) -> Shard:
        """Read, compare and count some portions; the rows of each segment are written."""
        job, known, table = self._job, self._known, self.plan.table
        reading = _Reading(job.recipe, task, self._readers)
        flags, faults = Flags(), Faults(table, notes=job.values)

        def write_rows(batch: Batch) -> None:
            finite = reading.non_finite
            write(self._encoder.encode(reading.number, *batch, non_finite=finite))

        sample = CaseSample(table, threshold=self._threshold) if job.sampled else None
        watchers: list[Watcher] = [flags, faults, *([] if sample is None else [sample])]
        if job.keep_rows:
            watchers.append(write_rows)
        tally = run_cases(
            faults.watching(reading.segments()),
            self.plan,
            job.convention,
            watchers,
            known=None if known is None else lambda _, cases: known(reading.number, cases),
            counter=self._counter,
        )
        size = sum(portion.size for _, portion in task)
        lists, read, ids, short = self.plan.lists(), reading.read(), reading.ids, reading.short
        after = task[-1][0] + 1
        return Shard(task[0][0], after, tally, flags, faults, read, lists, size, ids, sample, short)


class _Reading:
    """Reads the portions of a task one after the other.

    `number` is the segment that was read last, `non_finite` whether it may hold such numbers; when
    all is read, `short` says that somewhere there were fewer cases than lines.
    """

    def __init__(self, recipe: PartitionOpener, task: Task, readers: Sequence[LineReader]) -> None:
        self.number = 0
        self.non_finite = self.short = False
        self.ids: list[str] = []
        self._recipe = recipe
        self._task = task
        self._readers = readers
        self._parts: list[ReadStatistics] = []

    def segments(self) -> Iterator[list[Case]]:
        """The cases of each portion, which is a segment."""
        for number, portion in self._task:
            self.number, before = number, len(self.ids)
            with closing(self._recipe.open(portion)) as stream:
                if self._readers:
                    stream.keep_lines(self._readers)
                for segment in segments(stream.batches()):
                    self.ids += [case.id for case in segment]
                    self.non_finite = stream.non_finite
                    yield segment
            self.short |= len(self.ids) - before < portion.cases
            self._parts.append(stream.read_statistics())

    def read(self) -> ReadStatistics:
        """What was found in all portions."""
        return reduce(ReadStatistics.joined, self._parts)
