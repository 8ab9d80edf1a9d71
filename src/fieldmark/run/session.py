"""One run from its first case to its result: the same pipeline for every type of run.

`score` is a run without evaluators, a resumed run starts with stored results, and a large run
without evaluators is divided into partitions for several processes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.compare.provider_lookup import find_providers, is_local
from fieldmark.data.input_warnings import first_non_finite, warn_non_finite
from fieldmark.data.inputs import Role
from fieldmark.data.json_parser import JsonDialect
from fieldmark.data.pairing import PairStream, ReadStatistics
from fieldmark.errors import ConfigError, Location
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.metrics.identity import describe
from fieldmark.metrics.summary import Summary, summarize
from fieldmark.model.alignment import Aligner
from fieldmark.model.case import Case
from fieldmark.model.json import JsonObject
from fieldmark.plan import Plan, compile_plan
from fieldmark.run.case_processor import CaseProcessor, RunTotals, segments, split_unreadable
from fieldmark.run.gates import RunGates
from fieldmark.run.gc_tuning import relaxed_gc
from fieldmark.run.options import RunOptions
from fieldmark.run.provider_set import ProviderSet, RunUsageLog
from fieldmark.run.result import RunResult
from fieldmark.run.settings import Settings
from fieldmark.run.warnings import list_notes, structural_warnings, unused_rules
from fieldmark.wire.attributes import RowNumbers
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.cases import CaseEncoder

if TYPE_CHECKING:
    from fieldmark.config.eval_spec import Target
    from fieldmark.run.detection import RegionTotals
    from fieldmark.run.eval_setup import CaseSelection
    from fieldmark.run.evaluator_runner import EvaluatorRunner
    from fieldmark.run.partition_worker import NumberedPartition, PartitionResult, WorkerJob
    from fieldmark.run.resume import StoredResults
    from fieldmark.store.writer import RunDirectory
    from fieldmark.wire.manifest import Manifest

__all__ = ["Observer", "PreparedRun", "Progress", "run_session"]

Progress: TypeAlias = Callable[[int, int, int | None], None]
"""Called regularly with the cases processed, the bytes read, and the total bytes if known."""
Observer: TypeAlias = Callable[[Sequence[CaseResult], Sequence[Case]], None]
"""Called with the results of each segment, and its cases with invalid ground truth."""

_PARALLEL_BYTES: Final = 4 << 20
"""The input size in bytes below which worker processes take longer to start than they save."""
_NOT_STORED: Final = (
    "the run cannot be resumed: an evaluator computes metrics over all cases, and the predictions "
    "of finished cases were not saved"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    """A run that is ready to start, with its configuration resolved and checked.

    `own_evaluators` contains the evaluators of single cases by id. `target` produces candidates.
    `check_end` may raise an error for the finished run.
    """

    settings: Settings
    stream: PairStream
    gates: RunGates
    providers: ProviderSet
    segment_size: int
    max_errors: int = 0
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
    """Compare, evaluate, count and write all cases."""
    with ExitStack() as stack:
        stack.enter_context(closing(prepared.stream))
        directory = None
        if prepared.manifest is not None:
            from fieldmark.run.resume import open_run_directory

            directory = open_run_directory(options, prepared.manifest)
        stack.enter_context(directory or nullcontext())
        stack.enter_context(relaxed_gc())
        session = _Session(prepared, options, directory, stack, progress, observers)
        usage_log = RunUsageLog(prepared.providers, directory)
        session.run()
        summary = usage_log.added_to(session.summary())
        prepared.check_end(summary)
        unmet = prepared.selection is not None and bool(prepared.selection.unmatched())
        summary = prepared.gates.checked(
            session.with_intervals(summary),
            max_errors=prepared.max_errors,
            unmet=unmet,
            values=options.values,
        )
        summary = summary if options.values else summary.without_classes()
        if directory is not None:
            lists: JsonObject = {path: describe(each) for path, each in session.lists.items()}
            directory.finish(summary, lists=lists, spent=prepared.providers.spent())
    notes = (*prepared.stream.notes, *list_notes(session.lists))
    path = None if directory is None else directory.path
    return RunResult(summary, notes, path)


class _Session:
    """A run in progress."""

    def __init__(
        self,
        prepared: PreparedRun,
        options: RunOptions,
        directory: RunDirectory | None,
        stack: ExitStack,
        progress: Progress | None,
        observers: Sequence[Observer],
    ) -> None:
        self._prepared = prepared
        self._options = options
        self._directory = directory
        self._stack = stack
        self._progress = progress
        self._observers = list(observers)
        self._settings = prepared.settings
        self._stream = prepared.stream
        self._plan = compile_plan(self._settings.rules)
        self._own_plans: dict[str, Plan] = {}
        plans = {id(self._settings.rules): self._plan}
        for case_id, rules in self._settings.own_rules.items():
            if id(rules) not in plans:
                plans[id(rules)] = compile_plan(rules, self._plan.table)
            self._own_plans[case_id] = plans[id(rules)]
        self._stored: StoredResults | None = None
        seeds = None
        if directory is not None and directory.whole.next_segment:
            from fieldmark.run.resume import StoredResults

            self._stored = StoredResults(directory, self._plan.table)
            seeds = self._stored.attributes.seeds
        self._numbers = RowNumbers(self._plan.table, seeds)
        self._size = prepared.segment_size if directory is None else directory.manifest.segment_size
        self._totals = RunTotals(
            self._plan.table,
            values=options.values,
            sampled=options.wants_intervals,
            rule_sets=self._settings.rule_sets,
        )
        self._runner: EvaluatorRunner | None = None
        self._regions: RegionTotals | None = None
        if self._stream.format_in is not None:
            from fieldmark.run.detection import RegionTotals

            self._regions = RegionTotals()
        self._dialect = JsonDialect(role=Role.CANDIDATE)
        self._first_non_finite = ""
        self._target_warnings: list[str] = []
        self._worker_lists: dict[str, Aligner] = {}
        self._done = self._next = self._bytes = 0

    def run(self) -> None:
        """Process all cases, in several processes if possible and worthwhile."""
        prepared = self._prepared
        if prepared.evaluators or prepared.own_evaluators:
            from fieldmark.run.evaluator_runner import open_evaluators

            self._runner = self._stack.enter_context(
                open_evaluators(
                    prepared.evaluators,
                    prepared.own_evaluators,
                    concurrency=prepared.concurrency,
                    settings=self._settings,
                )
            )
        if not (self._may_be_partitioned() and self._run_partitions()):
            self._run_serially()

    def summary(self) -> Summary:
        """Return the metrics of all cases, without confidence intervals."""
        self._totals.tally.add_unexpected(self._stream.coverage.unexpected)
        structural = self._structural_warnings()
        summary = summarize(
            self._totals.tally,
            self._settings.convention,
            applied=self._settings.applied,
            evaluators=None if self._runner is None else self._runner.summaries(),
            warnings=(*structural, *self._warnings()),
        )
        summary = replace(summary, structural_warnings=structural)
        return summary if self._regions is None else self._regions.added_to(summary)

    def with_intervals(self, summary: Summary) -> Summary:
        """Return the summary with confidence intervals, if they are requested."""
        if self._totals.sample is None:
            return summary
        from fieldmark.metrics.bootstrap import run_intervals  # loads numpy

        counting = self._settings.convention.counting
        return replace(summary, intervals=run_intervals(self._totals.sample, summary, counting))

    @property
    def lists(self) -> Mapping[str, Aligner]:
        """The lists in the documents, with the aligner of each."""
        own = {
            path: each for plan in self._own_plans.values() for path, each in plan.lists().items()
        }
        met = {**own, **self._plan.lists(), **self._worker_lists}
        return {path: met[path] for path in sorted(met)}

    def _structural_warnings(self) -> tuple[str, ...]:
        stream, tally = self._stream, self._totals.tally
        if stream.structural:
            return tuple(stream.structural)
        if self._prepared.evaluators:
            from fieldmark.run.evaluator_runner import has_judges

            if has_judges(self._prepared.evaluators):
                return ()  # a judge may compare documents that have nothing in common
        cases = tally.sums().cases
        read = cases.scored - cases.missing - cases.unparseable
        return tuple(structural_warnings(tally.facts(), read=read))

    def _warnings(self) -> tuple[str, ...]:
        warnings, facts = self._totals.warnings, self._totals.tally.facts()
        documents = None if self._runner is None else self._runner.documents
        unused = [
            warning
            for rules in self._settings.rule_sets
            for warning in unused_rules(rules, facts, warnings.unseen, documents)
        ]
        return (
            *self._settings.warnings,
            *warnings.errors(),
            *self._stream.warnings,
            *dict.fromkeys(self._target_warnings),
            *(
                [warn_non_finite("target", self._dialect.non_finite, self._first_non_finite)]
                if self._dialect.non_finite
                else []
            ),
            *warnings.uncertain(),
            *([] if self._runner is None else self._runner.path_warnings()),
            *dict.fromkeys(unused),
        )

    # --- one process ------------------------------------------------------------------------------

    def _run_serially(self) -> None:
        """Process everything in this process, except segments that are already stored."""
        watched = self._observers or self._runner or self._regions
        if not (watched or self._stored or self._prepared.target):
            self._stream.keep_unparsed()
        processor = CaseProcessor(self._plan, self._settings.convention, self._own_plans)
        encoder = CaseEncoder(self._numbers, values=self._options.values)
        for number, (segment, stored) in enumerate(self._segments(), self._next):
            cases, unreadable = split_unreadable(segment)
            results: Sequence[CaseResult] = processor.process(cases) if stored is None else stored
            if self._runner is not None:
                results = self._runner.evaluate(results, stored=stored is not None)
            if self._dialect.non_finite and not self._first_non_finite:
                self._first_non_finite = first_non_finite(result.case for result in results)
            self._count(results, unreadable)
            if self._directory is not None and stored is None:
                non_finite = self._stream.non_finite or self._dialect.non_finite > 0
                rows = encoder.encode(number, results, non_finite=non_finite)
                self._directory.append(rows, self._numbers.take_new())

    def _count(self, results: Sequence[CaseResult], unreadable: Sequence[Case]) -> None:
        self._totals.add(results, unreadable)
        if self._regions is not None:
            self._regions.add(results)
        if self._runner is not None:
            # Scores differ between cases, so counting identical cases together saves nothing.
            self._totals.tally.settle()
        for observe in self._observers:
            observe(results, unreadable)
        self._done += len(results) + len(unreadable)
        if self._progress is not None:
            self._progress(self._done, self._stream.bytes_read, self._stream.bytes_total)

    def _segments(self) -> Iterator[tuple[list[Case], list[CaseResult] | None]]:
        """Yield the cases in segments: stored ones with their results, then the others."""
        batches: Iterable[Sequence[Case]] = self._stream.batches()
        selection = self._prepared.selection
        if selection is not None:
            batches = ([case] for case in selection(batches))
        upcoming: Iterator[list[Case]] = islice(segments(batches, self._size), self._next, None)
        if self._stored is not None:
            accumulates = self._runner is not None and self._runner.has_accumulators
            gathers = accumulates or self._regions is not None
            if gathers and self._prepared.target is not None and not self._options.values:
                raise ConfigError.of(_NOT_STORED, self._prepared.location, "start a new run")
            for number in range(self._next, self._stored.segments):
                for segment in islice(upcoming, 1):
                    cases, _ = split_unreadable(segment)
                    yield segment, self._stored.restore(number, cases)
        if self._prepared.target is not None:
            from fieldmark.run.targets.candidates import produce_candidates

            produced = produce_candidates(
                self._prepared.target,
                chain.from_iterable(upcoming),
                warn=self._target_warnings.append,
                dialect=self._dialect,
                reading=self._stream.options,
            )
            self._stack.enter_context(closing(produced))
            upcoming = segments(([case] for case in produced), self._size)
        yield from ((segment, None) for segment in upcoming)

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
            and all(map(is_local, find_providers(self._settings.rules)))
        )

    def _run_partitions(self) -> bool:
        """Process the files in several processes; return whether this was possible.

        The rows of both files are first assumed to be in the same order. If they are not, the ids
        are read, and processing continues with the next segment.
        """
        from fieldmark.data.duplicate_ids import DuplicateIds
        from fieldmark.data.partitions import partition
        from fieldmark.run.partition_worker import WorkerJob

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
                keep_rows=self._directory is not None,
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
                    # Reading from the start raises an error that names both rows.
                    for _ in self._stream.batches():
                        pass
                self._stream.absorb(statistics)
                return True
        return False

    def _partition_results(
        self, job: WorkerJob, partitions: Iterable[NumberedPartition]
    ) -> Iterator[PartitionResult]:
        """Yield the results in order; this process does the first segment, workers the rest."""
        from fieldmark.run.partition_worker import PartitionWorker
        from fieldmark.run.process_pool import run_in_processes

        todo = islice(partitions, self._next, None)
        workers = self._options.workers
        if self._directory is None:
            yield from run_in_processes(job, todo, workers=workers)
            return
        restore = None if self._stored is None else self._stored.restore
        local = PartitionWorker(job, plan=self._plan, numbers=self._numbers, restore=restore)
        stored = self._directory.whole.next_segment
        for number, each in todo:
            if number >= stored and self._numbers.seeds is not None:
                job = replace(job, seeds=tuple(self._numbers.seeds))
                rest = chain([(number, each)], todo)
                yield from run_in_processes(job, rest, workers=workers, files=self._directory.files)
                return
            rows: list[bytes] = []
            yield local.work([(number, each)], rows.extend)._replace(rows=rows)

    def _take(self, result: PartitionResult) -> None:
        self._totals.merge(result.totals)
        self._worker_lists.update(result.lists)
        if self._directory is not None and result.number >= self._directory.whole.next_segment:
            self._directory.append(result.rows, result.attributes)
        self._next = result.after
        self._bytes += result.size
        if self._progress is not None:
            self._progress(self._next * self._size, self._bytes, self._stream.bytes_total)


def _is_picklable(job: WorkerJob) -> bool:
    """Return whether a job can be sent to workers: rules may contain functions of the caller."""
    try:
        pickle.dumps(job)
    except (pickle.PicklingError, TypeError, AttributeError):
        return False
    return True
