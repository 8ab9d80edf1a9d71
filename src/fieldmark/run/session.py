"""One run, from its first case to its result: the same pipeline for every kind of run.

`score` is a run without evaluators, a resumed run starts with stored results, and a large run
without evaluators is cut into partitions for several processes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.compare.provider_lookup import find_providers
from fieldmark.data.inputs import Role
from fieldmark.data.json_parser import JsonDialect
from fieldmark.data.pairing import PairStream, ReadStatistics
from fieldmark.errors import ConfigError, Location
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.metrics.summary import Summary, summarise
from fieldmark.model.alignment import Aligner
from fieldmark.model.case import Case
from fieldmark.model.rule import Rules
from fieldmark.plan import compile_plan
from fieldmark.run.gates import RunGates
from fieldmark.run.gc_tuning import relaxed_gc
from fieldmark.run.list_alignment import list_notes, list_settings
from fieldmark.run.options import RunOptions
from fieldmark.run.partition_worker import (
    CaseProcessor,
    NumberedPartition,
    PartitionResult,
    PartitionWorker,
    RunTotals,
    WorkerJob,
    segments,
    split_unreadable,
)
from fieldmark.run.provider_set import ProviderSet, RunUsageLog
from fieldmark.run.run_result import RunResult
from fieldmark.run.run_warnings import unused_rules
from fieldmark.run.settings import Settings
from fieldmark.wire.attributes import RowNumbers
from fieldmark.wire.case_result import CaseResult

if TYPE_CHECKING:
    from fieldmark.config.eval_spec import Target
    from fieldmark.run.detection import RegionTotals
    from fieldmark.run.eval_setup import CaseSelection
    from fieldmark.run.evaluator_runner import EvaluatorRunner
    from fieldmark.run.resume import StoredResults
    from fieldmark.store.run_folder import RunFolder
    from fieldmark.wire.manifest import Manifest

__all__ = ["Observer", "PreparedRun", "Progress", "run_session"]

Progress: TypeAlias = Callable[[int, int, int | None], None]
"""Called now and then with the cases done, the bytes read, and all bytes if that is known."""
Observer: TypeAlias = Callable[[Sequence[CaseResult], Sequence[Case]], None]
"""Called with the results of each segment, and the cases whose truth could not be read."""

_PARALLEL_BYTES: Final = 4 << 20
"""Bytes of input below which one process is done before others have started."""
_LOCAL_PROVIDERS: Final = frozenset({"lexical", "recorded"})
"""Providers without state or limits: any number of processes may use them."""
_NON_FINITE: Final = "target: NaN or infinite numbers; each is an invalid number"
_NOT_KEPT: Final = (
    "The run cannot go on: an evaluator has figures for all cases together, and the candidates of "
    "those that are done were not kept."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    """A run that is ready to start: everything is read, resolved and checked.

    `own_evaluators` are those of single cases, by id. `target` produces candidates. `check_end`
    may refuse the finished run.
    """

    settings: Settings
    stream: PairStream
    gates: RunGates
    providers: ProviderSet
    segment_size: int
    manifest: Manifest | None = None
    evaluators: Sequence[ConfiguredEvaluator] = ()
    own_evaluators: Mapping[str, Sequence[ConfiguredEvaluator]] = field(default_factory=dict)
    concurrency: int = 1
    target: Target | None = None
    selection: CaseSelection | None = None
    location: Location = field(default_factory=Location)
    check_end: Callable[[Summary], None] = lambda _: None


def run_session(
    prepared: PreparedRun,
    options: RunOptions,
    *,
    progress: Progress | None = None,
    observers: Sequence[Observer] = (),
) -> RunResult:
    """Run all cases: compare, evaluate, count, write."""
    with ExitStack() as stack:
        stack.enter_context(closing(prepared.stream))
        folder = None
        if prepared.manifest is not None:
            from fieldmark.run.resume import folder_for

            folder = folder_for(options, prepared.manifest)
        stack.enter_context(folder or nullcontext())
        stack.enter_context(relaxed_gc())
        session = _Session(prepared, options, folder, stack, progress, observers)
        usage_log = RunUsageLog(prepared.providers, folder)
        summary = usage_log.added_to(session.summary())
        prepared.check_end(summary)
        summary = prepared.gates.checked(session.with_intervals(summary))
        if folder is not None:
            spent = prepared.providers.spent()
            folder.finish(summary, lists=list_settings(session.lists), spent=spent)
    notes = (*prepared.stream.notes, *list_notes(session.lists))
    path = None if folder is None else folder.path
    return RunResult(summary, notes, path, max_errors=options.max_errors or 0)


class _Session:
    """A run in progress."""

    def __init__(
        self,
        prepared: PreparedRun,
        options: RunOptions,
        folder: RunFolder | None,
        stack: ExitStack,
        progress: Progress | None,
        observers: Sequence[Observer],
    ) -> None:
        self._prepared = prepared
        self._options = options
        self._folder = folder
        self._stack = stack
        self._progress = progress
        self._observers = list(observers)
        self._settings = prepared.settings
        self._stream = prepared.stream
        self._plan = compile_plan(self._settings.rules)
        self._stored: StoredResults | None = None
        seeds = None
        if folder is not None and folder.whole.next_segment:
            from fieldmark.run.resume import StoredResults

            self._stored = StoredResults(folder, self._plan.table)
            seeds = self._stored.attributes.seeds
        self._numbers = RowNumbers(self._plan.table, seeds)
        self._size = prepared.segment_size if folder is None else folder.manifest.segment_size
        self._totals = RunTotals(
            self._plan.table, values=options.values, sampled=options.wants_intervals
        )
        self._runner: EvaluatorRunner | None = None
        self._regions: RegionTotals | None = None
        if self._stream.format_in is not None:
            from fieldmark.run.detection import RegionTotals

            self._regions = RegionTotals()
        self._dialect = JsonDialect(role=Role.CANDIDATE)
        self._target_warnings: list[str] = []
        self._worker_lists: dict[str, Aligner] = {}
        self._done = self._next = self._bytes = 0

    @property
    def lists(self) -> Mapping[str, Aligner]:
        """The lists that were met, and how the items of each were aligned."""
        met = {**self._plan.lists(), **self._worker_lists}
        return {path: met[path] for path in sorted(met)}

    def summary(self) -> Summary:
        """The figures of all cases, which are processed now."""
        prepared = self._prepared
        if prepared.evaluators or prepared.own_evaluators:
            from fieldmark.run.evaluator_runner import open_evaluators

            self._runner = self._stack.enter_context(
                open_evaluators(
                    prepared.evaluators,
                    prepared.own_evaluators,
                    concurrency=prepared.concurrency,
                    rules=self._settings.rules,
                )
            )
        if not (self._may_be_partitioned() and self._run_partitions()):
            self._run_serially()
        self._totals.tally.add_unexpected(self._stream.coverage.unexpected)
        summary = summarise(
            self._totals.tally,
            self._settings.convention,
            rules=self._settings.rules,
            evaluators=None if self._runner is None else self._runner.summaries(),
            warnings=self._warnings(),
        )
        return summary if self._regions is None else self._regions.added_to(summary)

    def with_intervals(self, summary: Summary) -> Summary:
        """The summary with confidence intervals, if they are wanted."""
        if self._totals.sample is None:
            return summary
        from fieldmark.metrics.bootstrap import run_intervals  # loads numpy

        counting = self._settings.convention.counting
        return replace(summary, intervals=run_intervals(self._totals.sample, summary, counting))

    def _warnings(self) -> tuple[str, ...]:
        warnings = self._totals.warnings
        return (
            *self._settings.warnings,
            *warnings.errors(),
            *self._stream.warnings,
            *dict.fromkeys(self._target_warnings),
            *([_NON_FINITE] if self._dialect.non_finite else []),
            *warnings.doubts(),
            *unused_rules(self._settings.rules, self._totals.tally.facts()),
        )

    # --- one process ------------------------------------------------------------------------------

    def _run_serially(self) -> None:
        """Read everything in this process; segments that are stored already are not redone."""
        watched = self._observers or self._runner or self._regions
        if self._folder is None and not watched and self._plan.takes_lines:
            self._stream.keep_lines()
        processor = CaseProcessor(self._plan, self._settings.convention)
        write = None if self._folder is None else self._writer(self._folder)
        for number, (segment, stored) in enumerate(self._segments(), self._next):
            cases, unreadable = split_unreadable(segment)
            results: Sequence[CaseResult] = processor.process(cases) if stored is None else stored
            if self._runner is not None:
                results = self._runner.evaluate(results, stored=stored is not None)
            self._add(results, unreadable)
            if write is not None and stored is None:
                write(number, results)

    def _writer(self, folder: RunFolder) -> Callable[[int, Sequence[CaseResult]], None]:
        from fieldmark.wire.cases import CaseEncoder

        encoder = CaseEncoder(self._numbers, values=self._options.values)

        def write(number: int, results: Sequence[CaseResult]) -> None:
            non_finite = self._stream.non_finite or self._dialect.non_finite > 0
            rows = encoder.encode(number, results, non_finite=non_finite)
            folder.append(rows, self._numbers.take_new())

        return write

    def _add(self, results: Sequence[CaseResult], unreadable: Sequence[Case]) -> None:
        self._totals.add(results, unreadable)
        if self._regions is not None:
            self._regions.add(results)
        if self._runner is not None:
            # Scores differ from case to case, so cases that wait to be counted only take memory.
            self._totals.tally.settle()
        for observe in self._observers:
            observe(results, unreadable)
        self._done += len(results) + len(unreadable)
        if self._progress is not None:
            self._progress(self._done, self._stream.bytes_read, self._stream.bytes_total)

    def _segments(self) -> Iterator[tuple[list[Case], list[CaseResult] | None]]:
        """The cases in segments: first those that are stored, then those that are to be done."""
        batches: Iterable[Sequence[Case]] = self._stream.batches()
        selection = self._prepared.selection
        if selection is not None:
            batches = ([case] for case in selection(batches))
        upcoming = islice(segments(batches, self._size), self._next, None)
        if self._stored is not None:
            self._check_restorable()
            for number in range(self._next, self._stored.segments):
                for segment in islice(upcoming, 1):
                    cases, _ = split_unreadable(segment)
                    yield segment, self._stored.restore(number, cases)
        if self._prepared.target is None:
            yield from ((segment, None) for segment in upcoming)
            return
        from fieldmark.run.eval_setup import without_failed_target
        from fieldmark.run.targets.candidates import produce_candidates

        answers = self._stack.enter_context(
            closing(
                produce_candidates(
                    self._prepared.target,
                    chain.from_iterable(upcoming),
                    warn=self._target_warnings.append,
                    dialect=self._dialect,
                )
            )
        )
        batches = ([without_failed_target(answer)] for answer in answers)
        yield from ((segment, None) for segment in segments(batches, self._size))

    def _check_restorable(self) -> None:
        accumulates = self._runner is not None and self._runner.has_accumulators
        gathers = accumulates or self._regions is not None
        if gathers and self._prepared.target is not None and not self._options.values:
            raise ConfigError.of(_NOT_KEPT, self._prepared.location, "Start a new run.")

    # --- several processes ------------------------------------------------------------------------

    def _may_be_partitioned(self) -> bool:
        watched = bool(
            self._runner
            or self._regions
            or self._observers
            or self._prepared.target
            or self._prepared.selection
        )
        return (
            self._options.workers > 1
            and not watched
            and self._stream.bytes_total >= _PARALLEL_BYTES
            and _uses_local_providers(self._settings.rules)
        )

    def _run_partitions(self) -> bool:
        """Let several processes do the work; whether they could.

        Files are taken to be in step. Where they turn out not to be, their ids are read first,
        and what is done already stays done.
        """
        from fieldmark.data.duplicate_ids import DuplicateIds
        from fieldmark.data.partitions import partition

        ids, statistics = DuplicateIds(), list[ReadStatistics]()
        for careful in (False, True):
            found = partition(self._stream, self._size, careful=careful)
            if found is None:
                return False
            job = WorkerJob(
                opener=found.opener,
                rules=self._settings.rules,
                convention=self._settings.convention,
                values=self._options.values,
                keep_rows=self._folder is not None,
                sampled=self._options.wants_intervals,
            )
            if not _is_picklable(job):
                return False
            for result in self._partition_results(job, enumerate(found)):
                if not (careful or result.in_step):
                    break
                self._take(result)
                read = result.statistics
                statistics = [statistics[0].joined(read) if statistics else read]
                ids.add(result.ids)
            else:
                if not found.whole:
                    return False
                if self._stream.sides[0].has_ids and ids.may_repeat():
                    # Reading from the top finds the two rows and names them.
                    for _ in self._stream.batches():
                        pass
                self._stream.absorb(statistics)
                return True
        return False

    def _partition_results(
        self, job: WorkerJob, partitions: Iterable[NumberedPartition]
    ) -> Iterator[PartitionResult]:
        """The results in order: this process does the first segment, workers do the rest."""
        from fieldmark.run.process_pool import run_in_processes

        todo = islice(partitions, self._next, None)
        workers = self._options.workers
        if self._folder is None:
            yield from run_in_processes(job, todo, workers=workers)
            return
        restore = None if self._stored is None else self._stored.restore
        local = PartitionWorker(job, plan=self._plan, numbers=self._numbers, restore=restore)
        stored = self._folder.whole.next_segment
        for number, each in todo:
            if number >= stored and self._numbers.seeds is not None:
                job = replace(job, seeds=tuple(self._numbers.seeds))
                rest = chain([(number, each)], todo)
                yield from run_in_processes(job, rest, workers=workers, files=self._folder.files)
                return
            rows: list[bytes] = []
            yield local.work([(number, each)], rows.extend)._replace(rows=rows)

    def _take(self, result: PartitionResult) -> None:
        self._totals.merge(result.totals)
        self._worker_lists.update(result.lists)
        if self._folder is not None and result.number >= self._folder.whole.next_segment:
            self._folder.append(result.rows, result.attributes)
        self._next = result.after
        self._bytes += result.size
        if self._progress is not None:
            self._progress(self._next * self._size, self._bytes, self._stream.bytes_total)


def _uses_local_providers(rules: Rules) -> bool:
    return all(provider.name in _LOCAL_PROVIDERS for provider in find_providers(rules))


def _is_picklable(job: WorkerJob) -> bool:
    """Whether a job can leave this process: rules may hold functions of the caller."""
    try:
        pickle.dumps(job)
    except (pickle.PicklingError, TypeError, AttributeError):
        return False
    return True
