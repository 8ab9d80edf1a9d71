"""Apply other rules or another convention to a saved run, or show what they would change."""

from __future__ import annotations

import platform
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import ClassVar, Final, cast

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.run_result import RunResult, run_result
from fieldmark.analyses.saved_run import RecountedRun, RunLike, resampling_of, stored_run
from fieldmark.data.file_blocks import IrregularLinesError, nth_line_offsets
from fieldmark.data.input_files import is_url, open_file, redacted_url
from fieldmark.data.inputs import Coverage
from fieldmark.data.pairing import ReadStatistics
from fieldmark.data.partitions import LineRange, Partition
from fieldmark.errors import ConfigError, DataError, Location, OptionError
from fieldmark.judges.safety import SafetyJudge
from fieldmark.metrics.bootstrap import run_intervals
from fieldmark.metrics.case_sample import Threshold
from fieldmark.metrics.conventions import Convention, find_convention, rule_weights
from fieldmark.metrics.identity import canonical_sha256, described
from fieldmark.metrics.slices import SliceKey
from fieldmark.metrics.summary import AppliedConvention, Summary, summarize
from fieldmark.metrics.tally import CaseTotals
from fieldmark.model.case import Case
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.outcomes import Attribute, AttributeTable
from fieldmark.model.rule import Scope
from fieldmark.report.document import Data, Document, Items, Line, Row, warning
from fieldmark.report.metric_titles import METRIC_TITLES
from fieldmark.report.render import ShownRecord
from fieldmark.report.tables import number, outcome_text
from fieldmark.runs.attribute_table import RowNumbers
from fieldmark.runs.case_processor import GroupTotals, RunTotals
from fieldmark.runs.case_result import CaseResult, FieldResult
from fieldmark.runs.case_rows import CaseEncoder
from fieldmark.runs.error_boundary import check_safety
from fieldmark.runs.gates import RunGates
from fieldmark.runs.gc_tuning import relaxed_gc
from fieldmark.runs.manifest import Manifest
from fieldmark.runs.partition_worker import NumberedPartition, PartitionResult, Task
from fieldmark.runs.process_engine import run_partitions
from fieldmark.runs.provider_set import ProviderSet, for_run
from fieldmark.runs.regions import reader_convention, stored_reading, with_reader_rules
from fieldmark.runs.resume import new_run_directory
from fieldmark.runs.run_directory import LONGEST_ROW
from fieldmark.runs.run_options import (
    PROCESSES,
    RunOptions,
    complete_options,
    slice_keys,
    strings,
    worker_count,
)
from fieldmark.runs.session import PARALLEL_BYTES, PreparedRun, Progress
from fieldmark.runs.settings import RulesLike, resolve_settings
from fieldmark.runs.stored_cases import StoredPairs, check_rescorable
from fieldmark.runs.stored_run import StoredRun, parse_row, read_row
from fieldmark.values.text import plural
from fieldmark.version import VERSION

_COMPARISON: Final = ("scope", "depth", "comparator", "aligner")


@checked
def rescore(
    run: RunLike,
    convention: str | None = None,
    *,
    rules: RulesLike = None,
    options: Mapping[str, JsonValue] | None = None,
    min: Mapping[str, float] | None = None,  # noqa: A002 - as on the command line
    max: Mapping[str, float] | None = None,  # noqa: A002
    by: Iterable[str] | None = None,
    max_errors: int = 0,
    out: str | Path | None = None,
    engine: str = "processes",
    workers: int | str | None = None,
    offline: bool = False,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> RunResult:
    """Apply other rules, another convention or other options to a run, without its inputs.

    With `rules`, the stored documents are compared again, which needs a run that was saved with
    values and has no evaluators; safety is judged again only if the rules name a judge. Without
    `rules`, the stored outcomes are counted again: only counting options can change, and a
    convention that compares values differently is rejected. The gates of the run are checked again;
    a warning names gates against a baseline, which are not checked. The old run is never changed.

    Args:
        run: A saved run: its directory, id, tag or `latest`, or a result of `score` or `open_run`.
        convention: The name of a convention; by default the convention of the rules, otherwise of
            the run.
        rules: A rules file, or rules as a mapping. Its gates replace gates of the run on the same
            metric.
        options: Options of the convention.
        min: Lower limits of metrics by name; together with `max`, they replace all gates.
        max: Upper limits of metrics by name.
        by: The keys that group the cases into slices; by default as in the run.
        max_errors: The number of cases that may have evaluation errors.
        out: A new directory, or a new prefix of an object store, for the resulting run, whose
            manifest names the old run.
        engine: The engine that counts large runs, as for `score`.
        workers: The number of worker processes that count large runs; one process compares fields
            again.
        offline: Use only cached responses of models.
        allow_code: Rules may name Python functions, which are then imported and run.
        progress: Called regularly, as for `score`.

    >>> import fieldmark as fm
    >>> pairs = [({"total": 10, "vendor": "Acme"}, {"total": 11, "vendor": "Acme"})]
    >>> run = fm.score(pairs, out="run")
    >>> run.micro.fn, fm.rescore(run, options={"wrong_value": "fp"}).micro.fn
    (1, 0)
    >>> fm.rescore(run, rules={"total": {"match": "numeric_tolerance", "tolerance": 1}}).micro.fn
    0
    """
    stored = stored_run(run)
    run_options = complete_options(
        rules=rules,
        convention=convention,
        options=options,
        min=min,
        max=max,
        by=(() if stored.summary is None else stored.summary.by) if by is None else strings(by),
        max_errors=max_errors,
        out=out,
        engine=engine,
        workers=workers,
        offline=offline,
        allow_code=allow_code,
    )
    if rules is not None:
        prepared, _ = prepare_rules(stored, run_options)
        compared = run_result(prepared, run_options, progress=progress, keep_cases=True)
        note = f"{stored.path.name} compared again with other rules"
        return replace(compared, notes=(note, *compared.notes))
    target = _target(stored, convention, options or {})
    gates = _with_gates_of_run(RunGates.of(run_options), stored.summary, run_options)
    recounted = RecountedRun(stored, target)
    applied = _applied(stored, target)
    directory = None if out is None else new_run_directory(out, _manifest(stored, applied))
    with directory or nullcontext():
        job = _RescoreJob(
            run=stored,
            convention=target,
            path=str(Path(stored.name).absolute()),
            bytes=stored.results_bytes,
            keep_rows=directory is not None,
            by=slice_keys(run_options),
        )
        totals = job.totals(recounted.table)
        files = () if directory is None else directory.files
        done = 0
        for result in _results(job, run_options, files):
            totals.merge(result.totals)
            done += result.size
            if progress is not None:
                progress(result.after * stored.manifest.segment_size, done, stored.results_bytes)
            if directory is not None:
                directory.append(result.rows, result.attributes)
        recounted.tally, recounted.confidence = totals.tally, totals.confidence
        summary = _summary(recounted, applied)
        if totals.sample is not None:
            intervals = run_intervals(
                totals.sample, summary, target.counting, resampling_of(stored)
            )
            summary = replace(summary, intervals=intervals)
        if totals.slices is not None:
            slices = totals.slices.summaries(summary, target)
            unused = totals.slices.warnings(list(summary.attributes))
            warnings = dict.fromkeys([*summary.warnings, *unused])
            summary = replace(
                summary, by=strings(run_options["by"]), slices=slices, warnings=tuple(warnings)
            )
        summary = gates.checked(summary, max_errors=max_errors)
        if directory is not None:
            directory.finish(summary, lists=stored.manifest.lists)
    note = f"{stored.path.name} rescored with convention {applied.name}"
    if directory is None:
        return RunResult(summary, (note,), case_source=_RescoredCases(stored, target))
    url = redacted_url(out) if is_url(out) else ""
    return RunResult(summary, (note,), directory.path, url=url)


def _with_gates_of_run(gates: RunGates, before: Summary | None, options: RunOptions) -> RunGates:
    """Add the gates of a run to its rescored run, unless the options set gates."""
    limits = options["min"] or options["max"]
    return gates if limits or before is None else gates.with_gates_of(before.gates)


def prepare_rules(
    stored: StoredRun,
    options: RunOptions,
    *,
    numbers: frozenset[int] | None = None,
    keep: bool = False,
) -> tuple[PreparedRun, StoredPairs]:
    """Return a run that compares the cases of another with rules, and the stream of its cases.

    With `numbers`, only the cases with these numbers are compared; with `keep`, the stream has the
    stored results.
    """
    check_rescorable(stored)
    summary = stored.complete_summary
    settings = resolve_settings(default=stored.convention, **options)
    stream = StoredPairs(stored, numbers=numbers, keep_results=keep)
    settings = with_reader_rules(settings, stored_reading(summary))
    safety = settings.safety or cast("SafetyJudge | None", stream.safety)
    confidence = settings.confidence
    if summary.confidence is not None:  # confidences were read and scaled when the run was made
        before = summary.confidence.options
        confidence = before if confidence is None else replace(confidence, scale=before.scale)
    settings = replace(
        settings,
        rules=for_run(settings.rules, offline=options["offline"]),
        safety=for_run(safety, offline=options["offline"]),
        confidence=confidence,
    )
    providers = ProviderSet(settings.rules, settings.safety)
    providers.check_ready()
    if settings.safety is not None:
        check_safety(settings.safety)
    gates = RunGates.of(options, settings.gates)
    gates.check_names(settings)
    gates = _with_gates_of_run(gates, summary, options)
    manifest = replace(
        _manifest(stored, settings.applied),
        fieldmark=VERSION,
        python=platform.python_version(),
        providers=providers.identities(),
        weights=rule_weights(settings.rules),
        rules=settings.source,
        lists={},
    )
    prepared = PreparedRun(
        settings=settings,
        stream=stream,
        gates=gates,
        providers=providers,
        segment_size=stored.manifest.segment_size,
        max_errors=options["max_errors"] or 0,
        resampling=resampling_of(stored),
        manifest=None if options["out"] is None else manifest,
    )
    if summary.confidence is None and settings.confidence is not None:
        raise ConfigError.of(
            "confidence: the run has no confidences",
            hint="score the inputs again with --confidence (in Python: confidence=True)",
        )
    return prepared, stream


@dataclass(frozen=True, slots=True, kw_only=True)
class _RescoreJob:
    """Everything that a worker needs to count rows of a run again.

    `path` is the file with the rows, and `bytes` its size.
    """

    run: StoredRun
    waits: ClassVar[bool] = False
    path: str
    convention: Convention
    bytes: int
    seeds: tuple[Attribute, ...] | None = None
    keep_rows: bool = True
    by: tuple[SliceKey, ...] = ()

    def totals(self, table: AttributeTable, threshold: Threshold | None = None) -> RunTotals:
        """Return totals without any case; only a run that is saved has intervals."""
        summary = self.run.summary
        return RunTotals(
            table,
            values=False,
            sampled=self.keep_rows,
            threshold=threshold,
            by=self.by,
            confidences=summary is not None and summary.confidence is not None,
        )

    def partitions(self) -> Iterator[NumberedPartition]:
        """Yield the segments of the run."""
        if not self.bytes:
            return
        size = self.run.manifest.segment_size
        try:
            edges = pairwise(nth_line_offsets(self.path, size, LONGEST_ROW))
            for number, edge in enumerate(edges):
                yield number, Partition(LineRange(*edge, 1 + number * size))
        except IrregularLinesError:
            message = f"a row exceeds the limit of {LONGEST_ROW:,} bytes"
            raise DataError(message, Location(self.run.name)) from None

    def check_readable(self) -> None:
        """Raise an error if this machine does not have the run."""
        opened = open_file(self.path)
        opened.close()
        if opened.size != self.bytes:
            message = f"the file has {opened.size:,} bytes, expected {self.bytes:,}"
            raise DataError(message, Location(self.run.name))

    @contextmanager
    def open(self) -> Iterator[_RescoreWorker]:
        """Start a worker in this process."""
        yield _RescoreWorker(self)


class _RescoreWorker:
    """Counts rows of a run again."""

    def __init__(self, job: _RescoreJob) -> None:
        self._job = job
        self._recounted = RecountedRun(job.run, job.convention)
        self._threshold = Threshold()
        self.start_over()

    def start_over(self) -> None:
        """Forget which attributes were reported, so that the next task reports all it uses."""
        self.numbers = RowNumbers(self._recounted.table, self._job.seeds)
        self._encoder = CaseEncoder(self.numbers)

    def work(self, task: Task, write: Callable[[list[bytes]], object]) -> PartitionResult:
        """Read and count the rows of a task, and write the new ones."""
        job, table = self._job, self._recounted.table
        totals = job.totals(table, self._threshold)
        for index, partition in task:
            cases = self._cases(cast("LineRange", partition.truth))
            totals.count(cases)
            if job.keep_rows:
                write(self._encoder.encode(index, cases))
        return PartitionResult(
            number=task[0][0],
            after=task[-1][0] + 1,
            totals=totals,
            statistics=ReadStatistics(Coverage(), ()),
            lists={},
            attributes=self.numbers.take_new(),
            size=sum(partition.size for _, partition in task),
            ids=(),
        )

    def _cases(self, part: LineRange) -> list[CaseResult]:
        run, recounted = self._job.run, self._recounted
        opened = open_file(self._job.path)
        try:
            opened.stream.seek(part.start)
            raw = opened.stream.read(part.end - part.start)
        finally:
            opened.close()
        cases: list[CaseResult] = []
        # An incomplete last line was being written when the run was interrupted.
        for line_number, line in enumerate(raw.split(b"\n")[:-1], part.first):
            location = Location(run.name, line_number)
            row = parse_row(line, location)
            case = read_row(row, recounted.attributes, run.convention, location)
            cases.append(recounted.counted(case))
        return cases


def _results(
    job: _RescoreJob, options: RunOptions, files: Sequence[int]
) -> Iterator[PartitionResult]:
    """Yield the results of all segments; this process does the first one, workers the rest."""
    small = worker_count(options) == 1 or job.bytes < PARALLEL_BYTES
    alone = options["engine"] == PROCESSES and small
    todo = job.partitions()
    with relaxed_gc():
        local = _RescoreWorker(job)
        for numbered in todo if alone else islice(todo, 1):
            rows: list[bytes] = []
            yield local.work([numbered], rows.extend)._replace(rows=rows)
        job = replace(job, seeds=tuple(local.numbers.seeds or ()) if job.keep_rows else None)
        yield from run_partitions(options, job, todo, files=files) if not alone else ()


@dataclass(frozen=True, slots=True)
class _RescoredCases:
    """The cases of a run, counted by another convention."""

    run: StoredRun
    convention: Convention

    def cases(self) -> Iterator[CaseResult]:
        """Yield all cases in order."""
        return RecountedRun(self.run, self.convention).all_cases()

    def find(self, case_id: str) -> CaseResult | None:
        """Return the case with this id, if there is one."""
        return next((case for case in self.cases() if case.id == case_id), None)


def _target(run: StoredRun, name: str | None, options: Mapping[str, JsonValue]) -> Convention:
    """Return the convention to apply; a convention that compares differently is an error."""
    convention = run.convention
    try:
        wanted = convention
        if name is not None:
            wanted = reader_convention(find_convention(name), stored_reading(run.summary))
        target = wanted.with_options(options)
    except OptionError as error:
        raise ConfigError.of(str(error)) from error
    if name is None:
        return target
    # Rules override both conventions. Options that no rule sets must be the same in both, or the
    # outcomes would be different.
    used = run.manifest.convention.options
    different: list[str] = []
    for option in _COMPARISON:
        before, after = (str(getattr(side.comparison, option)) for side in (convention, target))
        actual = str(used.get(option))
        if option == "scope" and before == Scope.CONFIGURED and actual == Scope.TRUTH:
            before = actual
        if actual == before != after:
            different.append(f"{option} {after} instead of {actual}")
    if different:
        raise ConfigError.of(
            f"convention {target.name} compares differently: {', '.join(different)}",
            hint=f"score the inputs again with convention {target.name}",
        )
    return target


def _summary(recounted: RecountedRun, applied: AppliedConvention) -> Summary:
    """Return the new metrics with the parts of the old summary that do not change."""
    new, old = recounted.summary(applied), recounted.run.summary
    if old is None:
        return new
    unread, extra = old.cases.invalid_truth, old.cases.unexpected
    return replace(
        new,
        cases=new.cases + CaseTotals(total=unread, invalid_truth=unread, unexpected=extra),
        evaluators=old.evaluators,
        detection=old.detection,
        usage=old.usage,
        spent=old.spent,
        warnings=old.warnings,
        structural_warnings=old.structural_warnings,
        input_warnings=old.input_warnings,
        exports=old.exports,
        missing_paths=old.missing_paths,
    )


def _applied(run: StoredRun, target: Convention) -> AppliedConvention:
    """Return the convention of a run with other counting options."""
    old = run.manifest.convention
    counting = described(target.counting)
    return replace(
        old,
        name=target.name,
        version=target.version,
        options={**old.options, **counting},
        counting_sha256=_counting_hash(run, old, counting),
    )


def _counting_hash(run: StoredRun, old: AppliedConvention, counting: JsonObject) -> str:
    """Return the hash that the run would have if it had been counted like this originally.

    The hash includes the weights of the rules. If the stored weights do not reproduce the current
    hash, the new hash is derived from it, so that it differs from any other.
    """
    counted_before = described(run.convention.counting)
    if counting == counted_before:
        return old.counting_sha256
    for listed in (run.manifest.weights, ()):
        weights: list[JsonValue] = [list(weight) for weight in listed]
        if canonical_sha256({"options": counted_before, "weights": weights}) == old.counting_sha256:
            return canonical_sha256({"options": counting, "weights": weights})
    return canonical_sha256({"options": counting, "counted_before_as": old.counting_sha256})


def _manifest(run: StoredRun, applied: AppliedConvention) -> Manifest:
    old = run.manifest
    return replace(
        old,
        convention=applied,
        options=None,
        sequence=0,
        started_at="",
        finished_at="",
        headline=None,
        accepted_changes=(),
        rescored_from={
            "run": run.path.name,
            "convention": old.convention.name,
            "counting_sha256": old.convention.counting_sha256,
            "comparison_sha256": old.convention.comparison_sha256,
        },
    )


_LIMIT: Final = 1000
_LIMIT_BYTES: Final = 16 << 20
"""The approximate size of the rows that are compared."""
_FEWEST: Final = 20
"""The smallest sample because of the size of cases."""
_EXAMPLES: Final = 50
_EXAMPLES_OF_CASE: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedField:
    """A field with another outcome; before or after the change, it may not be compared at all.

    `number` is the number of its case in the run.
    """

    number: int
    before: FieldResult | None
    after: FieldResult | None

    @property
    def field(self) -> FieldResult:
        """The field with its path and values."""
        field = self.after or self.before
        assert field is not None  # noqa: S101 - one of them exists
        return field.finite()

    def to_dict(self) -> JsonObject:
        """Return the change as JSON, without absent values."""
        shown = self.field
        values = {"expected": shown.expected, "candidate": shown.candidate}
        return {
            "case": self.number,
            "case_id": shown.case_id,
            "path": shown.path,
            "attribute": shown.attribute,
            "before": _side(self.before),
            "after": _side(self.after),
            **{side: value for side, value in values.items() if value is not MISSING},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedAttribute:
    """An attribute with changed fields: their number, and its F1 before and after."""

    attribute: str
    fields: int
    before: float | None
    after: float | None


@dataclass(frozen=True, kw_only=True, repr=False)
class PreviewResult(ShownRecord):
    """The changes if a run was rescored with other rules.

    Attributes:
        run: The name of the run.
        cases: The number of cases of the run.
        compared: The number of cases that were compared: all, or a random sample.
        changed_cases: The number of compared cases with changed fields.
        changed_fields: The number of fields with another outcome.
        metrics: The metrics of the compared cases, before and after.
        attributes: The changes by attribute.
        examples: Some of the changed fields, from as many cases as possible.
        errors: The number of comparisons that failed.
        warnings: Warnings about the rules.
    """

    run: str
    cases: int
    compared: int
    changed_cases: int
    changed_fields: int
    metrics: Mapping[str, tuple[float | None, float | None]]
    attributes: tuple[ChangedAttribute, ...]
    examples: tuple[ChangedField, ...]
    errors: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def is_sample(self) -> bool:
        """Whether only some of the cases were compared."""
        return self.compared < self.cases

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return {
            "format": 1,
            "run": self.run,
            "cases": self.cases,
            "compared": self.compared,
            "sample": self.is_sample,
            "changed_cases": self.changed_cases,
            "changed_fields": self.changed_fields,
            "errors": self.errors,
            "metrics": {
                name: {"before": before, "after": after}
                for name, (before, after) in self.metrics.items()
            },
            "attributes": [
                {
                    "attribute": attribute.attribute,
                    "fields": attribute.fields,
                    "f1": {"before": attribute.before, "after": attribute.after},
                }
                for attribute in self.attributes
            ],
            "examples": [example.to_dict() for example in self.examples],
            "warnings": list(self.warnings),
        }

    def document(self, *, top: int | None = None) -> Document:
        """Return the metrics before and after, the attributes and some of the changed fields."""
        compared = plural(self.compared, "case")
        sample = f", a random sample of {plural(self.cases, 'case')}" if self.is_sample else ""
        conclusion = f"nothing would change in {compared}{sample}"
        if self.changed_fields or self.changed_cases:
            fields = plural(self.changed_fields, "field")
            conclusion = f"{fields} in {self.changed_cases:,} of {compared} would change{sample}"
        attributes = [
            Line(
                f"{change.attribute}: {plural(change.fields, 'field')}, "
                f"F1 {number(change.before)} → {number(change.after)}"
            )
            for change in self.attributes[:top]
        ]
        rows: list[Row] = [_row(change) for change in self.examples]
        examples = [
            Line(f"{row['case_id']} {row['path']}: {row['before']} → {row['after']}")
            for row in rows[:top]
        ]
        return Document(
            Line(conclusion),
            Items(
                lines=[
                    Line(f"{METRIC_TITLES[name]}: {number(before)} → {number(after)}")
                    for name, (before, after) in self.metrics.items()
                ]
            ),
            *([Line("attributes with changes:")] if attributes else ()),
            Items(lines=attributes, more=len(self.attributes) - len(attributes), noun="attribute"),
            *([Line("changed fields:"), Items(lines=examples)] if examples else ()),
            *(
                [Line(f"{plural(self.errors, 'field')} could not be compared")]
                if self.errors
                else ()
            ),
            *map(warning, self.warnings),
            data=Data(("case_id", "path", "attribute", "before", "after"), rows),
        )


@checked
def preview_rules(
    run: RunLike,
    rules: RulesLike,
    *,
    convention: str | None = None,
    options: Mapping[str, JsonValue] | None = None,
    limit: int = _LIMIT,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> PreviewResult:
    """Compare the stored documents of a run with other rules, and return what would change.

    Nothing is saved; `rescore` with the same arguments makes the run. Both metrics, before and
    after, are computed over the compared cases. Models are not called: only cached responses are
    used, and a field without one is an error.

    Args:
        run: A run that was saved with values.
        rules: The other rules.
        convention: The name of the convention; by default as for `rescore`.
        options: Options of the convention.
        limit: The approximate number of cases to compare, fewer if cases are large. They are a
            random sample, always the same for a run, and the result says so.
        allow_code: Import and run Python functions that rules name.
        progress: Called regularly with the cases processed, the bytes read, and the total bytes if
            known.

    >>> import fieldmark as fm
    >>> run = fm.score([({"total": 10}, {"total": 10.4})], out="previewed")
    >>> found = fm.preview_rules(run, {"total": {"match": "numeric_tolerance", "tolerance": 0.5}})
    >>> found.changed_fields, found.metrics["micro_f1"]
    (1, (0.0, 1.0))
    """
    if limit < 1:
        raise ConfigError.of(f"limit must be at least 1, got {limit}")
    stored = stored_run(run)
    totals = stored.complete_summary.cases
    cases = totals.total - totals.invalid_truth  # cases with invalid ground truth are not stored
    most = min(limit, max(_FEWEST, _LIMIT_BYTES * cases // max(1, stored.results_bytes)))
    numbers: frozenset[int] | None = None
    if cases > most:
        # Every n-th case of data with a period would be of one kind, so the sample is random.
        sample = random.Random(0).sample(range(1, cases + 1), most)  # noqa: S311
        numbers = frozenset(sample)
    run_options = complete_options(
        rules=rules,
        convention=convention,
        options=options,
        offline=True,
        allow_code=allow_code,
    )
    prepared, stream = prepare_rules(stored, run_options, numbers=numbers, keep=True)
    changes = _Changes(stream)
    result = run_result(prepared, run_options, progress=progress, observers=[changes.add])
    before, after = changes.summary_before(stored), result.summary
    hidden = (
        {"safety", "rqs"}
        if "safety" in after.flags and next(iter(after.metrics)) != "rqs"
        else set()
    )
    return PreviewResult(
        run=stored.path.name,
        cases=cases,
        compared=changes.compared,
        changed_cases=changes.cases,
        changed_fields=sum(changes.attributes.values()),
        metrics={
            name: (before.metrics.get(name), value)
            for name, value in after.metrics.items()
            if name not in hidden
        },
        attributes=tuple(
            ChangedAttribute(
                attribute=path,
                fields=number,
                before=_f1(before, path),
                after=_f1(after, path),
            )
            for path, number in changes.attributes.most_common()
        ),
        examples=tuple(changes.examples),
        errors=changes.errors,
        # That no document has a path is not known from a sample.
        warnings=() if numbers is not None else after.warnings,
    )


def _f1(summary: Summary, attribute: str) -> float | None:
    metrics = summary.attributes.get(attribute)
    return None if metrics is None else metrics.f1


class _Changes:
    """Compares new results with the stored ones, case by case."""

    def __init__(self, stream: StoredPairs) -> None:
        self._before = GroupTotals(AttributeTable(), sampled=False)
        self.compared = self.cases = self.errors = 0
        self.attributes: Counter[str] = Counter()
        self.examples: list[ChangedField] = []
        self._stream = stream

    def add(self, results: Sequence[CaseResult], _: Sequence[Case]) -> None:
        """Add the results of a segment."""
        for after in results:
            stored = self._stream.results
            assert stored is not None  # noqa: S101 - they are kept
            number, before = stored.popleft()
            self.compared += 1
            if self.compared == 1:
                self._before = GroupTotals(before.attributes, sampled=False)
            self._before.add([before])
            changes = list(_changed_fields(number, before, after))
            self.attributes.update(change.field.attribute for change in changes)
            self.cases += bool(changes) or before.score != after.score
            self.errors += after.stats.errors_count
            room = min(_EXAMPLES - len(self.examples), _EXAMPLES_OF_CASE)
            self.examples += changes[:room]

    def summary_before(self, run: StoredRun) -> Summary:
        """Return the metrics of the compared cases as they were stored."""
        applied = run.manifest.convention
        return summarize(self._before.tally, run.convention, applied=applied)


def _changed_fields(number: int, before: CaseResult, after: CaseResult) -> Iterator[ChangedField]:
    """Yield the fields whose outcome or score differs, or that only one side compares."""
    fields: dict[tuple[str, int], list[FieldResult | None]] = {}
    for side, result in enumerate((before, after)):
        seen: Counter[str] = Counter()
        for field in result.iter_fields():
            key = field.path, seen[field.path]
            seen[field.path] += 1
            fields.setdefault(key, [None, None])[side] = field
    for old_field, new_field in fields.values():
        if (
            old_field is None
            or new_field is None
            or (old_field.outcome, old_field.score) != (new_field.outcome, new_field.score)
        ):
            yield ChangedField(number=number, before=old_field, after=new_field)


def _side(field: FieldResult | None) -> JsonObject | None:
    if field is None:
        return None
    return {
        "outcome": field.outcome,
        "comparator": field.comparator,
        "similarity": field.similarity,
        "note": field.note,
    }


def _row(change: ChangedField) -> Row:
    """Return a changed field with its outcomes for people."""
    before, after = (
        "not compared" if side is None else outcome_text(side.outcome)
        for side in (change.before, change.after)
    )
    field = change.field
    return {
        "case_id": field.case_id,
        "path": field.path,
        "attribute": field.attribute,
        "before": before,
        "after": after,
    }
