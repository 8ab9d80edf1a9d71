"""One run from its first case to its result: the same pipeline for every type of run.

`score` is a run without evaluators, a resumed run starts with stored results, and a large run
without evaluators is divided into partitions for several processes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fieldmark.compare.provider_lookup import is_repeatable
from fieldmark.data.input_files import is_url, redacted_url
from fieldmark.data.input_warnings import first_non_finite, warn_non_finite
from fieldmark.data.json_parser import JsonDialect, Role
from fieldmark.data.pairing import PairedFiles, PairStream, ReadStatistics
from fieldmark.data.row_layout import DuplicateIds
from fieldmark.errors import ConfigError, Location, Problem
from fieldmark.evaluators.base import ConfiguredEvaluator
from fieldmark.metrics.bootstrap import run_intervals
from fieldmark.metrics.identity import describe
from fieldmark.metrics.summary import RESAMPLING, Resampling, Summary, summarize
from fieldmark.model.alignment import Aligner
from fieldmark.model.case import Case
from fieldmark.model.outcomes import Attribute
from fieldmark.plan import Plan, add_lists, compile_plan
from fieldmark.runs.attribute_table import RowNumbers
from fieldmark.runs.case_processor import (
    CaseProcessor,
    RunTotals,
    segments,
    split_unreadable,
)
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.case_rows import CaseEncoder
from fieldmark.runs.error_boundary import open_safety
from fieldmark.runs.gates import RunGates
from fieldmark.runs.gc_tuning import relaxed_gc
from fieldmark.runs.kept_cases import SAVE_HINT, KeptCases
from fieldmark.runs.manifest import Manifest
from fieldmark.runs.provider_set import ProviderSet, RunUsageLog
from fieldmark.runs.regions import RegionTotals
from fieldmark.runs.resume import StoredResults, open_retry_directory, open_run_directory
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
from fieldmark.runs.stored_run import StoredRun, open_run
from fieldmark.runs.warnings import (
    UnusedPath,
    export_notes,
    list_notes,
    provider_notes,
    structural_warnings,
    unused_rules,
    with_confidence,
)

if TYPE_CHECKING:
    from fieldmark.rules.target_settings import Target
    from fieldmark.runs.eval_setup import CaseSelection
    from fieldmark.runs.evaluator_runner import EvaluatorRunner
    from fieldmark.runs.partition_worker import PartitionResult


Progress: TypeAlias = Callable[[int, int, int | None], None]
"""Called regularly with the cases processed, the bytes read, and the total bytes if known."""
Observer: TypeAlias = Callable[[Sequence[CaseResult], Sequence[Case]], None]
"""Called with the results of each segment, and its cases with invalid ground truth."""

PARALLEL_BYTES: Final = 4 << 20
"""The input size in bytes below which worker processes take longer to start than they save."""
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
    if other processes already computed them. `retried` is a complete run, of which only the failed
    cases are compared and judged again.
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
    retried: StoredRun | None = None


class FinishedRun(NamedTuple):
    """The summary of a run, notes, where it was saved, and its cases if they were kept."""

    summary: Summary
    notes: tuple[str, ...]
    path: Path | None
    url: str
    kept: KeptCases | None


class SegmentResult(NamedTuple):
    """The results of a segment that this process compared; `stored` ones are written already."""

    number: int
    results: Sequence[CaseResult]
    unreadable: Sequence[Case]
    stored: bool


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
            from fieldmark.runs.partition_producer import why_indivisible
            from fieldmark.runs.ray_engine import connection

            reason = why_indivisible(prepared, observers, options["engine"])
            if reason:
                message = f"the run cannot be distributed with engine {options['engine']}: {reason}"
                raise ConfigError.of(message, hint=f"use engine {PROCESSES}")
            stack.enter_context(connection(options["engine"], most_tasks(options)))
        directory = None
        if prepared.manifest is not None and prepared.retried is not None:
            directory = open_retry_directory(options, prepared.manifest, prepared.retried)
        elif prepared.manifest is not None:
            directory = open_run_directory(options, prepared.manifest)
        stack.enter_context(directory or nullcontext())
        session = Session(prepared, options, directory, stack, progress, observers)
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
            failed=session.failed,
        )
        summary = summary if options["values"] else summary.without_classes()
        if directory is not None:
            directory.finish(
                summary,
                lists={path: describe(aligner) for path, aligner in session.lists.items()},
                before_end=partial(before_end, directory, summary),
            )
    notes = [*provider_notes(prepared.settings.rule_sets)]
    notes += [*prepared.stream.notes, *export_notes(summary.exports)]
    notes += [*list_notes(session.lists), *session.totals.warnings.box_note(session.lists)]
    notes += session.notes
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
        session = Session(again, {**options, "intervals": False}, None, stack)
        kept = session.keep_cases()
        session.run()
    files.check()
    return kept


class Session:
    """A run in progress: its plan, and everything that is collected about its cases."""

    def __init__(
        self,
        prepared: PreparedRun,
        options: RunOptions,
        directory: RunDirectory | None,
        stack: ExitStack,
        progress: Progress | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        self.prepared = prepared
        self.options = options
        self.settings = prepared.settings
        self.stream = prepared.stream
        self.directory = directory
        self.observers = list(observers)
        self._progress = progress
        self._stack = stack
        self.plan = compile_plan(self.settings.rules)
        self.own_plans: dict[str, Plan] = {}
        plans = {id(self.settings.rules): self.plan}
        for case_id, rules in self.settings.own_rules.items():
            if id(rules) not in plans:
                plans[id(rules)] = compile_plan(rules, self.plan.table)
            self.own_plans[case_id] = plans[id(rules)]
        self.stored: StoredResults | None = None
        self.segment_size = prepared.segment_size
        if directory is not None:
            self.segment_size = directory.manifest.segment_size
            if directory.whole.next_segment:
                self.stored = StoredResults(
                    open_run(directory.path),
                    self.plan,
                    self.own_plans,
                    segments=directory.whole.next_segment,
                )
        seeds = None if self.stored is None else self.stored.attributes.seeds
        self._start_counting(seeds)
        self.runner: EvaluatorRunner | None = None
        self._calls_judges = False
        self.regions = None if self.stream.format_in is None else RegionTotals()
        self.kept: KeptCases | None = None
        self.notes: list[str] = []
        self.dialect = JsonDialect(role=Role.CANDIDATE)
        self.target_warnings: list[str] = []
        self._first_non_finite = ""
        self._worker_lists: dict[str, Aligner] = {}
        self._worker_ids = DuplicateIds()
        self._worker_statistics: ReadStatistics | None = None
        self.next_segment = self._cases_done = self._bytes_done = 0

    def _start_counting(self, seeds: Sequence[Attribute] | None) -> None:
        numbers = RowNumbers(self.plan.table, seeds)
        self.encoder = CaseEncoder(numbers, values=self.options["values"])
        self.totals = RunTotals(
            self.plan.table,
            values=self.options["values"],
            sampled=wants_intervals(self.options),
            rule_sets=self.settings.rule_sets,
            by=slice_keys(self.options),
            confidences=self.settings.confidence is not None,
        )

    def start_over(self) -> None:
        """Forget the attributes of a first segment whose rows were not in the same order.

        Otherwise the numbers of attributes would depend on the number of workers.
        """
        if not self.next_segment and self.directory is not None and self.stored is None:
            self.plan = compile_plan(self.settings.rules)
            self._start_counting(None)

    def keep_cases(self) -> KeptCases:
        """Keep all cases for the result of the run, or read its files again if this is possible."""
        files, settings, read_again = self.prepared.files, self.settings, None
        if files is not None and is_repeatable(settings.rules) and not settings.safety:
            read_again = partial(_read_again, self.prepared, files, self.options)
        self.kept = KeptCases(
            self.plan.table,
            settings.convention,
            values=self.options["values"],
            read_again=read_again,
        )
        return self.kept

    def run(self) -> None:
        """Process all cases, in several processes if possible and worthwhile."""
        prepared = self.prepared
        if prepared.evaluators or prepared.own_evaluators:
            from fieldmark.runs.evaluator_runner import has_judges, open_evaluators

            self._calls_judges = has_judges(prepared.evaluators)
            self.runner = self._stack.enter_context(
                open_evaluators(
                    prepared.evaluators,
                    prepared.own_evaluators,
                    concurrency=prepared.concurrency,
                    settings=self.settings,
                )
            )
        with closing(_results(self)) as results:
            for result in results:
                if isinstance(result, SegmentResult):
                    self._take_segment(result)
                else:
                    self._take_partitions(result)
                # Cases are written before they are reported, so that a run that is stopped here has
                # them.
                if self._progress is not None:
                    done = self._cases_done, self._bytes_done
                    self._progress(*done, self.stream.bytes_total)

    def _take_segment(self, segment: SegmentResult) -> None:
        """Count and write the cases of a segment."""
        results, dialect = segment.results, self.dialect
        if dialect.non_finite and not self._first_non_finite:
            self._first_non_finite = first_non_finite(result.case for result in results)
        self.totals.add(results, segment.unreadable)
        if self.regions is not None:
            self.regions.add(results)
        if self.runner is not None:
            # Scores differ between cases, so counting identical cases together saves nothing.
            self.totals.tally.settle()
        for observe in self.observers:
            observe(results, segment.unreadable)
        non_finite = self.stream.non_finite or dialect.non_finite > 0
        if self.directory is not None and not segment.stored:
            rows = self.encoder.encode(segment.number, results, non_finite=non_finite)
            self.directory.append(rows, self.encoder.numbers.take_new())
        elif self.kept is not None:
            self.kept.add(results, non_finite=non_finite)
        self._cases_done += len(results) + len(segment.unreadable)
        self._bytes_done = self.stream.bytes_read

    def _take_partitions(self, result: PartitionResult) -> None:
        """Add the sums of partitions, and write their rows unless they are written already."""
        self.totals.merge(result.totals)
        if self.runner is not None and result.evaluations is not None:
            self.runner.merge(result.evaluations)
        add_lists(self._worker_lists, result.lists)
        self._worker_ids.add([*result.ids])
        before = self._worker_statistics
        statistics = result.statistics
        self._worker_statistics = statistics if before is None else before.joined(statistics)
        if self.directory is not None and result.number >= self.directory.whole.next_segment:
            self.directory.append(result.rows, result.attributes)
        self.next_segment = result.after
        self._cases_done = self.next_segment * self.segment_size
        self._bytes_done += result.size

    def segments(self) -> Iterator[list[Case]]:
        """Yield the selected cases in segments."""
        batches: Iterable[Sequence[Case]] = self.stream.batches()
        if self.prepared.selection is not None:
            batches = ([case] for case in self.prepared.selection(batches))
        return segments(batches, self.segment_size)

    def produced(self, target: Target, cases: Iterable[Case]) -> Generator[Case, None, None]:
        """Yield cases with the candidates that the target of the run produces."""
        from fieldmark.runs.targets.candidates import produce_candidates

        cached = self.directory is not None and self.options["values"]
        return produce_candidates(
            target,
            cases,
            warn=self.target_warnings.append,
            dialect=self.dialect,
            reading=self.stream.options,
            run_cache=self.directory.target_cache if cached and self.directory else None,
        )

    def finish_reading(self) -> None:
        """Give the stream the statistics of all partitions; a duplicate id is an error."""
        if self.stream.sides[0].has_ids and self._worker_ids.may_repeat():
            # Reading from the start raises an error that names both rows.
            for _ in self.stream.batches():
                pass
        read = self._worker_statistics
        self.stream.absorb([] if read is None else [read])

    def summary(self) -> Summary:
        """Return the metrics of all cases, without confidence intervals."""
        stream, settings, totals = self.stream, self.settings, self.totals
        totals.tally.add_unexpected(stream.coverage.unexpected)
        structural: tuple[str, ...] = tuple(stream.structural)
        # A judge may compare documents that have nothing in common.
        if not structural and not self._calls_judges:
            cases = totals.tally.sums().cases
            read = cases.scored - cases.missing - cases.unparseable
            structural = tuple(structural_warnings(totals.tally.facts(), read=read))
        unused = self._unused_paths()
        missing = [path for path in unused if path.is_missing]
        problems = [Problem(path.text, path.location) for path in missing if path.strict]
        if problems:
            raise ConfigError(problems)
        structural = tuple(dict.fromkeys([*structural, *(path.warning for path in missing)]))
        input_warnings = [*stream.warnings, *dict.fromkeys(self.target_warnings)]
        if self.dialect.non_finite:
            number = self.dialect.non_finite
            input_warnings.append(warn_non_finite("target", number, self._first_non_finite))
        summary = summarize(
            totals.tally,
            settings.convention,
            applied=settings.applied,
            evaluators=None if self.runner is None else self.runner.summaries(),
            warnings=tuple(dict.fromkeys([*structural, *self._warnings(input_warnings, unused)])),
        )
        summary = replace(
            summary,
            structural_warnings=structural,
            input_warnings=(*stream.structural, *input_warnings),
            exports=stream.exports,
            missing_paths=tuple(dict.fromkeys(path.missing for path in missing)),
        )
        if totals.confidence is not None and settings.confidence is not None:
            confidence = settings.confidence
            if confidence.scale is None:
                confidence = replace(confidence, scale=stream.coverage.confidence_scale)
            summary = with_confidence(summary, totals.confidence, confidence)
        return summary if self.regions is None else self.regions.added_to(summary)

    @property
    def failed(self) -> Sequence[str]:
        """The ids of the failed cases."""
        failed = self.totals.tally.failed
        return () if failed is None else failed.ids

    def _unused_paths(self) -> list[UnusedPath]:
        """Return the configured paths that were never compared, also of evaluators."""
        warnings, facts, runner = self.totals.warnings, self.totals.tally.all_facts(), self.runner
        documents = None if runner is None else runner.documents
        unused = [] if runner is None else runner.unused_paths()
        for rules in self.settings.user_rule_sets:
            unused += unused_rules(rules, facts, warnings.unseen, documents)
        return unused

    def _warnings(
        self, input_warnings: Sequence[str], unused: Sequence[UnusedPath]
    ) -> Iterator[str]:
        """Yield all warnings in the order of the output, some of which may be structural."""
        warnings = self.totals.warnings
        yield from self.settings.warnings
        yield from warnings.errors()
        yield from input_warnings
        yield from warnings.uncertain()
        yield from (path.warning for path in unused)
        if self.totals.slices is not None:
            yield from self.totals.slices.warnings(list(self.totals.tally.all_facts()))

    def with_intervals(self, summary: Summary) -> Summary:
        """Return the summary with confidence intervals, if they are requested."""
        if self.totals.sample is None:
            return summary
        counting = self.settings.convention.counting
        intervals = run_intervals(self.totals.sample, summary, counting, self.prepared.resampling)
        return replace(summary, intervals=intervals)

    def with_slices(self, summary: Summary) -> Summary:
        """Return the summary with the metrics of all slices, if they are requested."""
        if self.totals.slices is None:
            return summary
        slices = self.totals.slices.summaries(summary, self.settings.convention)
        return replace(summary, by=strings(self.options["by"]), slices=slices)

    @property
    def lists(self) -> Mapping[str, Aligner]:
        """The lists in the documents, with the aligner of each."""
        aligners: dict[str, Aligner] = {}
        for plan in (*self.own_plans.values(), self.plan):
            add_lists(aligners, plan.lists())
        add_lists(aligners, self._worker_lists)
        return dict(sorted(aligners.items()))


# --- producers of results -------------------------------------------------------------------------


def _results(session: Session) -> Generator[SegmentResult | PartitionResult, None, None]:
    """Yield the results of all cases in order, from workers if possible and worthwhile.

    Each result is taken before the next one is produced.
    """
    if session.prepared.parts is not None:
        yield from session.prepared.parts
        session.finish_reading()
        return
    if _may_be_partitioned(session):
        from fieldmark.runs.partition_producer import partition_results

        if session.kept is not None:
            session.kept.drop()  # workers return no results
        if (yield from partition_results(session)):
            return
    yield from _segment_results(session)


def _segment_results(session: Session) -> Generator[SegmentResult, None, None]:
    """Compare all cases in this process, except segments that are already stored."""
    prepared, settings, runner = session.prepared, session.settings, session.runner
    watched = session.observers or runner or session.regions or settings.safety
    if not (watched or session.stored or prepared.target or prepared.retried):
        session.stream.keep_unparsed()
    with ExitStack() as stack:
        safety = None
        if settings.safety is not None:
            safety = stack.enter_context(open_safety(settings.safety))
        processor = CaseProcessor(
            session.plan,
            settings.convention,
            session.own_plans,
            safety,
            confidences=settings.confidence is not None,
        )
        if prepared.retried is not None:
            from fieldmark.runs.retried_cases import retried_segments

            yield from retried_segments(session, prepared.retried, processor)
            return
        numbered = enumerate(_segments(session, stack), session.next_segment)
        for number, (segment, stored) in numbered:
            cases, unreadable = split_unreadable(segment)
            results: Sequence[CaseResult] = processor.process(cases) if stored is None else stored
            if runner is not None:
                results = runner.evaluate(results, stored=[stored is not None] * len(results))
            yield SegmentResult(number, results, unreadable, stored is not None)


def _segments(
    session: Session, stack: ExitStack
) -> Iterator[tuple[list[Case], list[CaseResult] | None]]:
    """Yield the cases in segments: stored cases with their results, then all other cases."""
    prepared, stored = session.prepared, session.stored
    keeps_values = session.options["values"]
    all_segments = session.segments()
    upcoming: Iterator[list[Case]] = islice(all_segments, session.next_segment, None)
    if stored is not None:
        accumulates = session.runner is not None and session.runner.has_accumulators
        needs_values = accumulates or session.regions is not None
        if needs_values and prepared.target is not None and not keeps_values:
            raise ConfigError.of(_NOT_STORED, prepared.location, "start a new run")
        for number in range(session.next_segment, stored.segments):
            for segment in islice(upcoming, 1):
                cases, _ = split_unreadable(segment)
                yield segment, stored.restore(number, cases)
    if prepared.target is not None:
        produced = session.produced(prepared.target, chain.from_iterable(upcoming))
        stack.enter_context(closing(produced))
        upcoming = segments(([case] for case in produced), session.segment_size)
    yield from ((segment, None) for segment in upcoming)


def _may_be_partitioned(session: Session) -> bool:
    options, kept = session.options, session.kept
    if session.prepared.retried is not None:
        return False
    if options["engine"] != PROCESSES:
        return True
    if worker_count(options) == 1 or session.stream.bytes_total < PARALLEL_BYTES:
        return False
    from fieldmark.runs.partition_producer import LOCAL_FUNCTION, why_indivisible

    reason = why_indivisible(session.prepared, session.observers, options["engine"])
    if not reason and kept is not None and not kept.is_droppable:
        reason = _KEPT
    if reason in {_KEPT, LOCAL_FUNCTION}:
        session.notes.append(f"compared in one process: {reason}")
    return not reason
