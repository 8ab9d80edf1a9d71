"""One portion of a run from its bytes to its rows, the same wherever it is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

from fieldmark.data.pairs import PartRead
from fieldmark.data.portions import Portion, Recipe
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.intervals_sample import CaseSample, Threshold
from fieldmark.metrics.tally import Tally
from fieldmark.model.alignment import Aligner
from fieldmark.model.block import Attribute
from fieldmark.model.case import Case
from fieldmark.model.rule import Rules
from fieldmark.plan import Plan, compile_plan
from fieldmark.run.faults import Faults
from fieldmark.run.flags import Flags
from fieldmark.run.pipeline import Batch, Known, Watcher, run_cases
from fieldmark.run.segments import segments
from fieldmark.store.segments import SegmentEncoder, seeded

__all__ = ["Job", "PortionWorker", "Shard"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """All that another process must know to do its share of a run.

    `shared` are the attributes that have the same number in all segments; `sampled` is whether a
    sample of the cases is wanted.
    """

    recipe: Recipe
    rules: Rules
    convention: Convention
    shared: tuple[Attribute, ...] = ()
    values: bool = True
    keep_rows: bool = True
    sampled: bool = False


class Shard(NamedTuple):
    """What came of one segment: rows to be written, and sums that add up."""

    number: int
    rows: bytes
    tally: Tally
    flags: Flags
    faults: Faults
    read: PartRead
    lists: Mapping[str, Aligner]
    size: int
    ids: Sequence[str]
    sample: CaseSample | None = None
    short: bool = False

    @property
    def in_step(self) -> bool:
        """Whether every line held a case that found its candidate, and none was left over."""
        coverage = self.read.coverage
        return not (self.short or coverage.missing or coverage.unexpected)


class PortionWorker:
    """Does one segment after the other, with a plan of its own."""

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

    def work(self, number: int, portion: Portion) -> Shard:
        """Read, compare and count one segment."""
        job = self._job
        flags, faults = Flags(), Faults(self.plan.table, notes=job.values)
        lines: list[bytes] = []
        ids: list[str] = []
        stream = job.recipe.open(portion)
        if self._readers:
            stream.keep_lines(self._readers)

        def write(batch: Batch) -> None:
            lines.extend(self._encoder.encode(number, *batch, non_finite=stream.non_finite))

        def named() -> Iterator[list[Case]]:
            for segment in segments(stream.batches()):
                ids.extend(case.id for case in segment)
                yield segment

        sample = CaseSample(self.plan.table, threshold=self._threshold) if job.sampled else None
        watchers: list[Watcher] = [flags, faults, *([] if sample is None else [sample])]
        if job.keep_rows:
            watchers.append(write)
        known = self._known
        with closing(stream):
            tally = run_cases(
                faults.watching(named()),
                self.plan,
                job.convention,
                watchers,
                known=None if known is None else lambda _, cases: known(number, cases),
                counter=self._counter,
            )
        read, lists, size = stream.part_read(), self.plan.lists(), portion.size
        short = len(ids) < portion.cases
        rows = b"".join(lines)
        return Shard(number, rows, tally, flags, faults, read, lists, size, ids, sample, short)
