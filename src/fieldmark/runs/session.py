"""One run from its first case to its result: the same pipeline for every type of run.

`score` is a run without evaluators, a resumed run starts with stored results, and a large run
without evaluators is divided into partitions for several processes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fieldmark.compare.provider_lookup import is_repeatable
from fieldmark.data.file_blocks import SearchMap
from fieldmark.data.input_files import is_url, redacted_url
from fieldmark.data.input_warnings import first_non_finite, warn_non_finite
from fieldmark.data.json_parser import JsonDialect, Role
from fieldmark.data.layout import DuplicateIds
from fieldmark.data.pairing import PairedFiles, PairStream, ReadStatistics
from fieldmark.data.partitions import Partitions, partition, single_row_group, why_indivisible
from fieldmark.errors import ConfigError, Location
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.metrics.bootstrap import run_intervals
from fieldmark.metrics.identity import describe
from fieldmark.metrics.summary import RESAMPLING, Resampling, Summary, summarize, with_confidence
from fieldmark.model.alignment import Aligner
from fieldmark.model.case import Case
from fieldmark.model.json import JsonObject
from fieldmark.model.outcomes import Attribute, AttributeTable
from fieldmark.plan import Plan, compile_plan
from fieldmark.runs.attribute_table import RowNumbers
from fieldmark.runs.case_processor import (
    CaseProcessor,
    RegionTotals,
    RunTotals,
    segments,
    split_unreadable,
)
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.case_rows import CaseEncoder
from fieldmark.runs.error_boundary import open_safety
from fieldmark.runs.evaluator_runner import has_judges, open_evaluators
from fieldmark.runs.gates import RunGates
from fieldmark.runs.gc_tuning import relaxed_gc
from fieldmark.runs.kept_cases import SAVE_HINT, KeptCases
from fieldmark.runs.manifest import Manifest
from fieldmark.runs.partition_worker import (
    NumberedPartition,
    PartitionResult,
    WorkerJob,
    open_worker,
)
from fieldmark.runs.provider_set import ProviderSet, RunUsageLog
from fieldmark.runs.resume import StoredResults, open_run_directory
from fieldmark.runs.run_directory import RunDirectory
from fieldmark.runs.run_options import (
    PROCESSES,
    RunOptions,
    most_tasks,
    slice_keys,
    strings,
    wants_intervals,
    worker_count,
)
from fieldmark.runs.settings import Settings
from fieldmark.runs.warnings import list_notes, structural_warnings, unused_rules

if TYPE_CHECKING:
    from fieldmark.rules.targets import Target
    from fieldmark.runs.eval_setup import CaseSelection
    from fieldmark.runs.evaluator_runner import EvaluatorRunner


Progress: TypeAlias = Callable[[int, int, int | None], None]
"""Called regularly with the cases processed, the bytes read, and the total bytes if known."""
Observer: TypeAlias = Callable[[Sequence[CaseResult], Sequence[Case]], None]
"""Called with the results of each segment, and its cases with invalid ground truth."""

PARALLEL_BYTES: Final = 4 << 20
"""The input size in bytes below which worker processes take longer to start than they save."""
_LOCAL_FUNCTION: Final = (
    "the rules or evaluators contain a function that cannot be sent to other processes"
)
_NOT_JOINED: Final = "the rows of both files are not in the same order and cannot be joined"
_KEPT: Final = f"its cases are kept in memory; {SAVE_HINT}"
_UNNAMED: Final = (
    "the run can be resumed only in Python with the same rules, because a function has no name by "
    "which it can be imported: {}"
)
_NOT_STORED: Final = (
    "the run cannot be resumed: an evaluator computes metrics over all cases, and the predictions "
    "of finished cases were not saved"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    """A run that is ready to start, with its configuration resolved and checked.

    `files` are the inputs of a run that can be repeated: files, without evaluators and a target.
    `own_evaluators` contains the evaluators of single cases by id. `target` produces candidates.
    `check_end` may raise an error for the finished run. `parts` are the results of all partitions
    if they were already computed elsewhere.
    """

    settings: Settings
    stream: PairStream
    gates: RunGates
    providers: ProviderSet
    segment_size: int
    files: PairedFiles | None = None
    max_errors: int = 0
    manifest: Manifest | None = None
    evaluators: Sequence[ConfiguredEvaluator] = ()
    own_evaluators: Mapping[str, Sequence[ConfiguredEvaluator]] = field(default_factory=dict)
    concurrency: int = 1
    resampling: Resampling = RESAMPLING
    target: Target | None = None
    selection: CaseSelection | None = None
    location: Location = field(default_factory=Location)
    check_end: Callable[[Summary], None] = lambda _: None
    parts: Iterable[PartitionResult] | None = None


class FinishedRun(NamedTuple):
    """The summary of a run, notes, where it was saved, and its cases if they were kept."""

    summary: Summary
    notes: tuple[str, ...]
    path: Path | None
    url: str
    kept: KeptCases | None


# As a decorator, so that what only the run needs is freed, and not searched for garbage, when the
# thresholds are restored.
@relaxed_gc()
def run_session(
    prepared: PreparedRun,
    options: RunOptions,
    *,
    progress: Progress | None = None,
    observers: Sequence[Observer] = (),
    keep_cases: bool = False,
    before_end: Callable[[RunDirectory, Summary], None] = lambda _directory, _summary: None,
) -> FinishedRun:
    """Compare, evaluate, count and write all cases.

    With `keep_cases`, the result contains all cases even if they are not written. `before_end` may
    write more files of the run before it is complete.
    """
    with ExitStack() as stack:
        stack.enter_context(closing(prepared.stream))
        if options["engine"] != PROCESSES:
            reason = _why_indivisible(prepared, observers, options["engine"])
            if reason:
                message = f"the run cannot be distributed with engine {options['engine']}: {reason}"
                raise ConfigError.of(message, hint=f"use engine {PROCESSES}")
            from fieldmark.runs.ray_engine import connection

            stack.enter_context(connection(options["engine"], most_tasks(options)))
        directory = None
        if prepared.manifest is not None:
            directory = open_run_directory(options, prepared.manifest)
        stack.enter_context(directory or nullcontext())
        session = _Session(prepared, options, directory, stack, progress, observers)
        if keep_cases and directory is None:
            session.keep_cases()
        usage_log = RunUsageLog(prepared.providers, directory)
        session.run()
        prepared.stream.check_unchanged()
        summary = usage_log.added_to(session.summary())
        prepared.check_end(summary)
        unmet = prepared.selection is not None and bool(prepared.selection.unmatched())
        summary = prepared.gates.checked(
            session.with_slices(session.with_intervals(summary)),
            max_errors=prepared.max_errors,
            unmet=unmet,
            values=options["values"],
        )
        summary = summary if options["values"] else summary.without_classes()
        if directory is not None:
            lists: JsonObject = {path: describe(each) for path, each in session.lists.items()}
            directory.finish(
                summary,
                lists=lists,
                before_end=partial(before_end, directory, summary),
            )
    notes = [*prepared.stream.notes, *list_notes(session.lists), *session.notes]
    unnamed = prepared.providers.unnamed_functions
    if directory is not None and unnamed:
        notes.append(_UNNAMED.format(", ".join(unnamed)))
    path = None if directory is None else directory.path
    out = options["out"]
    url = redacted_url(out) if is_url(out) else ""
    return FinishedRun(summary, tuple(notes), path, url, session.kept)


def _read_again(prepared: PreparedRun, files: PairedFiles, options: RunOptions) -> KeptCases:
    """Compare the cases of a run that were not kept once more."""
    with ExitStack() as stack:
        stream = stack.enter_context(closing(files.open()))
        stack.enter_context(relaxed_gc())
        again = replace(prepared, stream=stream, files=None)
        session = _Session(again, {**options, "intervals": False}, None, stack)
        kept = session.keep_cases()
        session.run()
    files.check()
    return kept


class _RowWriter:
    """Writes results to the directory of a run."""

    __slots__ = ("directory", "encoder")

    def __init__(
        self,
        directory: RunDirectory,
        table: AttributeTable,
        seeds: Sequence[Attribute] | None,
        *,
        values: bool,
    ) -> None:

        self.directory = directory
        self.encoder = CaseEncoder(RowNumbers(table, seeds), values=values)

    def write(self, number: int, results: Sequence[CaseResult], *, non_finite: bool) -> None:
        """Write the results of a segment."""
        rows = self.encoder.encode(number, results, non_finite=non_finite)
        self.directory.append(rows, self.encoder.numbers.take_new())


class _Session:
    """A run in progress."""

    def __init__(
        self,
        prepared: PreparedRun,
        options: RunOptions,
        directory: RunDirectory | None,
        stack: ExitStack,
        progress: Progress | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._prepared = prepared
        self._options = options
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
        self.kept: KeptCases | None = None
        self._stored: StoredResults | None = None
        self._rows: _RowWriter | None = None
        if directory is not None:
            seeds = None
            if directory.whole.next_segment:
                self._stored = StoredResults(directory, self._plan, self._own_plans)
                seeds = self._stored.attributes.seeds
            self._rows = _RowWriter(directory, self._plan.table, seeds, values=options["values"])
        self._size = prepared.segment_size if directory is None else directory.manifest.segment_size
        self._totals = self._new_totals()
        self._runner: EvaluatorRunner | None = None
        self._regions: RegionTotals | None = None
        if self._stream.format_in is not None:
            self._regions = RegionTotals()
        self._dialect = JsonDialect(role=Role.CANDIDATE)
        self._first_non_finite = ""
        self._target_warnings: list[str] = []
        self._worker_lists: dict[str, Aligner] = {}
        self._done = self._next = self._bytes = 0
        self.notes: list[str] = []

    def keep_cases(self) -> KeptCases:
        """Keep all cases for the result of the run, or read its files again if this is possible."""
        prepared, read_again = self._prepared, None
        settings = self._settings
        if prepared.files is not None and is_repeatable(settings.rules) and not settings.safety:
            read_again = partial(_read_again, prepared, prepared.files, self._options)
        self.kept = KeptCases(
            self._plan.table,
            self._settings.convention,
            values=self._options["values"],
            read_again=read_again,
        )
        return self.kept

    def run(self) -> None:
        """Process all cases, in several processes if possible and worthwhile."""
        prepared = self._prepared
        if prepared.evaluators or prepared.own_evaluators:
            self._runner = self._stack.enter_context(
                open_evaluators(
                    prepared.evaluators,
                    prepared.own_evaluators,
                    concurrency=prepared.concurrency,
                    settings=self._settings,
                )
            )
        if prepared.parts is not None:
            self._merge_parts(prepared.parts)
            return
        partitioned = self._may_be_partitioned()
        if partitioned and self.kept is not None:
            self.kept.drop()  # workers return no results
        if not (partitioned and self._run_partitions()):
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
        summary = replace(
            summary,
            structural_warnings=structural,
            input_warnings=(*self._stream.structural, *self._input_warnings()),
        )
        if self._totals.confidence is not None and self._settings.confidence is not None:
            options = self._settings.confidence
            if options.scale is None:
                options = replace(options, scale=self._stream.coverage.confidence_scale)
            summary = with_confidence(summary, self._totals.confidence, options)
        return summary if self._regions is None else self._regions.added_to(summary)

    def with_intervals(self, summary: Summary) -> Summary:
        """Return the summary with confidence intervals, if they are requested."""
        if self._totals.sample is None:
            return summary

        counting = self._settings.convention.counting
        intervals = run_intervals(self._totals.sample, summary, counting, self._prepared.resampling)
        return replace(summary, intervals=intervals)

    def with_slices(self, summary: Summary) -> Summary:
        """Return the summary with the metrics of all slices, if they are requested."""
        totals = self._totals.slices
        if totals is None:
            return summary
        slices = totals.summaries(summary, self._settings.convention)
        return replace(summary, by=strings(self._options["by"]), slices=slices)

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
        if self._prepared.evaluators and has_judges(self._prepared.evaluators):
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
            *self._input_warnings(),
            *warnings.uncertain(),
            *([] if self._runner is None else self._runner.path_warnings()),
            *dict.fromkeys(unused),
            *([] if self._totals.slices is None else self._totals.slices.warnings(list(facts))),
        )

    def _input_warnings(self) -> Iterator[str]:
        """Yield the warnings about how the inputs, or the output of a target, were read."""
        yield from self._stream.warnings
        yield from dict.fromkeys(self._target_warnings)
        if self._dialect.non_finite:
            yield warn_non_finite("target", self._dialect.non_finite, self._first_non_finite)

    # --- one process ------------------------------------------------------------------------------

    def _run_serially(self) -> None:
        """Process everything in this process, except segments that are already stored."""
        watched = self._observers or self._runner or self._regions or self._settings.safety
        if not (watched or self._stored or self._prepared.target):
            self._stream.keep_unparsed()
        safety = None
        if self._settings.safety is not None:
            safety = self._stack.enter_context(open_safety(self._settings.safety))
        convention = self._settings.convention
        rated = self._settings.confidence is not None
        processor = CaseProcessor(
            self._plan, convention, self._own_plans, safety, confidences=rated
        )
        for number, (segment, stored) in enumerate(self._segments(), self._next):
            cases, unreadable = split_unreadable(segment)
            results: Sequence[CaseResult] = processor.process(cases) if stored is None else stored
            if self._runner is not None:
                results = self._runner.evaluate(results, stored=stored is not None)
            if self._dialect.non_finite and not self._first_non_finite:
                self._first_non_finite = first_non_finite(result.case for result in results)
            self._count(results, unreadable)
            non_finite = self._stream.non_finite or self._dialect.non_finite > 0
            if self._rows is not None and stored is None:
                self._rows.write(number, results, non_finite=non_finite)
            elif self.kept is not None:
                self.kept.add(results, non_finite=non_finite)
            # What is reported is written, so that a run that is stopped here has it.
            if self._progress is not None:
                self._progress(self._done, self._stream.bytes_read, self._stream.bytes_total)

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
            if gathers and self._prepared.target is not None and not self._options["values"]:
                raise ConfigError.of(_NOT_STORED, self._prepared.location, "start a new run")
            for number in range(self._next, self._stored.segments):
                for segment in islice(upcoming, 1):
                    cases, _ = split_unreadable(segment)
                    yield segment, self._stored.restore(number, cases)
        if self._prepared.target is not None:
            from fieldmark.runs.targets.candidates import produce_candidates

            produced = produce_candidates(
                self._prepared.target,
                chain.from_iterable(upcoming),
                warn=self._target_warnings.append,
                dialect=self._dialect,
                reading=self._stream.options,
                run_cache=self._rows.directory.target_cache
                if self._rows is not None and self._options["values"]
                else None,
            )
            self._stack.enter_context(closing(produced))
            upcoming = segments(([case] for case in produced), self._size)
        yield from ((segment, None) for segment in upcoming)

    # --- several processes ------------------------------------------------------------------------

    def _may_be_partitioned(self) -> bool:
        options = self._options
        if options["engine"] != PROCESSES:
            return True
        if worker_count(options) == 1 or self._stream.bytes_total < PARALLEL_BYTES:
            return False
        reason = _why_indivisible(self._prepared, self._observers, options["engine"])
        if not reason and self.kept is not None and not self.kept.is_droppable:
            reason = _KEPT
        if reason in {_KEPT, _LOCAL_FUNCTION}:
            self.notes.append(f"compared in one process: {reason}")
        return not reason

    def _run_partitions(self) -> bool:
        """Process the files in several processes; return whether this was possible.

        The rows of both files are first assumed to be in the same order. If they are not, the ids
        are read, and processing continues with the next segment.
        """
        read = _PartsRead()
        search_map = self._search_map()
        for careful in (False, True):
            if careful and not self._why_not_joined():
                found: Partitions | None = self._joined()
            else:
                found = partition(self._stream, self._size, careful=careful, search_map=search_map)
            if found is None:
                if self._options["engine"] != PROCESSES:
                    reason = f"{_NOT_JOINED}: {self._why_not_joined()}"
                    self.notes.append(f"compared in one process: {reason}")
                return False
            job = WorkerJob(
                opener=found.opener,
                settings=self._settings,
                evaluators=self._prepared.evaluators,
                scorers=() if self._runner is None else self._runner.scorers,
                concurrency=self._prepared.concurrency,
                values=self._options["values"],
                keep_rows=self._rows is not None,
                sampled=wants_intervals(self._options),
                by=slice_keys(self._options),
            )
            in_step = True
            with closing(self._partition_results(job, enumerate(found))) as results:
                for result in results:
                    in_step = careful or result.in_step
                    if not in_step:
                        self._forget_attributes()
                        break
                    self._take(result)
                    read.add(result)
            if not in_step:
                continue
            if found.reason:
                self.notes.append(f"compared in one process: {found.reason}")
            if not found.whole:
                return False
            read.finish(self._stream)
            return True
        return False

    def _search_map(self) -> SearchMap | None:
        """Return what counts lines on the cluster, if there is one."""
        if self._options["engine"] == PROCESSES:
            return None
        from fieldmark.runs.ray_engine import map_on_ray

        return partial(map_on_ray, workers=most_tasks(self._options))

    def _forget_attributes(self) -> None:
        """Forget the attributes of the first segment, if its rows were not in the same order.

        Otherwise the numbers of attributes would depend on the number of workers.
        """
        if self._next or self._rows is None or self._stored is not None:
            return
        options = self._options
        self._plan = compile_plan(self._settings.rules)
        table = self._plan.table
        self._rows = _RowWriter(self._rows.directory, table, None, values=options["values"])
        self._totals = self._new_totals()

    def _new_totals(self) -> RunTotals:
        return RunTotals(
            self._plan.table,
            values=self._options["values"],
            sampled=wants_intervals(self._options),
            rule_sets=self._settings.rule_sets,
            by=slice_keys(self._options),
            confidences=self._settings.confidence is not None,
        )

    def _why_not_joined(self) -> str:
        """Return why the rows of both sides are not joined on a cluster; empty if they are."""
        if self._options["engine"] == PROCESSES:
            return "there is no cluster"
        from fieldmark.runs.ray_engine import why_not_joined

        return why_not_joined(self._options["engine"], self._stream)

    def _joined(self) -> Partitions:
        from fieldmark.runs.ray_engine import join_on_ray

        return join_on_ray(self._stream, self._size, workers=most_tasks(self._options))

    def _merge_parts(self, parts: Iterable[PartitionResult]) -> None:
        """Take the results of all partitions, which are the whole run."""
        read = _PartsRead()
        for result in parts:
            self._take(result)
            read.add(result)
        read.finish(self._stream)

    def _partition_results(
        self, job: WorkerJob, partitions: Iterable[NumberedPartition]
    ) -> Generator[PartitionResult, None, None]:
        """Yield the results in order; this process does the first segment, workers the rest."""
        todo: Iterator[NumberedPartition] = islice(partitions, self._next, None)
        if self._rows is None:
            yield from self._distributed(job, todo)
            return
        directory, numbers = self._rows.directory, self._rows.encoder.numbers
        restore = None if self._stored is None else self._stored.restore
        stored = directory.whole.next_segment
        with open_worker(job, plan=self._plan, numbers=numbers, restore=restore) as local:
            for number, each in todo:
                if number >= stored and numbers.seeds is not None:
                    todo = chain([(number, each)], todo)
                    break
                rows: list[bytes] = []
                yield local.work([(number, each)], rows.extend)._replace(rows=rows)
            else:
                return
        job = replace(job, seeds=tuple(numbers.seeds))
        yield from self._distributed(job, todo, files=directory.files)

    def _distributed(
        self, job: WorkerJob, todo: Iterator[NumberedPartition], files: Sequence[int] = ()
    ) -> Iterator[PartitionResult]:
        """Yield the results of the engine; judges and models stay in this process."""
        from fieldmark.runs.process_engine import run_partitions  # loads multiprocessing

        if not job.scorers and self._prepared.providers.are_local:
            yield from run_partitions(self._options, job, todo, files=files)
            return

        from fieldmark.runs.ray_services import open_services

        with open_services(job) as services:
            for result in run_partitions(self._options, services.job, todo):
                services.settle(result)
                yield result

    def _take(self, result: PartitionResult) -> None:
        self._totals.merge(result.totals)
        if self._runner is not None and result.evaluations is not None:
            self._runner.merge(result.evaluations)
        self._worker_lists.update(result.lists)
        if self._rows is not None:
            directory = self._rows.directory
            if result.number >= directory.whole.next_segment:
                directory.append(result.rows, result.attributes)
        self._next = result.after
        self._bytes += result.size
        if self._progress is not None:
            self._progress(self._next * self._size, self._bytes, self._stream.bytes_total)


class _PartsRead:
    """What was read by the workers: statistics, and ids that must be unique."""

    def __init__(self) -> None:

        self._ids = DuplicateIds()
        self._statistics: ReadStatistics | None = None

    def add(self, result: PartitionResult) -> None:
        """Add the next result."""
        own, self._statistics = self._statistics, result.statistics
        if own is not None:
            self._statistics = own.joined(result.statistics)
        self._ids.add([*result.ids])

    def finish(self, stream: PairStream) -> None:
        """Give the stream the statistics; a duplicate id is an error."""
        if stream.sides[0].has_ids and self._ids.may_repeat():
            # Reading from the start raises an error that names both rows.
            for _ in stream.batches():
                pass
        stream.absorb([] if self._statistics is None else [self._statistics])


def _why_indivisible(prepared: PreparedRun, observers: Sequence[Observer], engine: str) -> str:
    """Return why a run cannot be divided by an engine; empty if it can."""
    settings, selection = prepared.settings, prepared.selection
    if prepared.target is not None:
        return "a target produces the predictions"
    if selection is not None and (selection.tags or selection.ids):
        return "cases are selected by tag or id"
    if prepared.own_evaluators or settings.own_rules:
        return "cases have evaluators of their own"
    if not prepared.stream.sides:
        return "the cases are those of a saved run"
    if observers:
        return "the result of each case is reported while it runs"
    if settings.safety is not None:
        return "safety is judged"
    if engine == PROCESSES:
        # On a cluster, workers ask this process.
        if not prepared.providers.are_local:
            return "a comparator or an evaluator calls a model"
        if prepared.evaluators and has_judges(prepared.evaluators):
            return "an evaluator calls a program"

    try:
        # Rules may contain functions of the caller.
        pickle.dumps((settings, prepared.evaluators))
    except (pickle.PicklingError, TypeError, AttributeError):
        return _LOCAL_FUNCTION
    reason = why_indivisible(prepared.stream)
    # A run on this machine continues in one process, and a note says so.
    return reason if reason or engine == PROCESSES else single_row_group(prepared.stream)
