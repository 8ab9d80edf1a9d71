"""List, find, open, describe, name, tag, archive and delete saved runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.diff import diff
from fieldmark.analyses.run_result import EvalResult, RunResult
from fieldmark.analyses.saved_run import stored_intervals
from fieldmark.data.input_files import is_url, redacted_url
from fieldmark.errors import ConfigError, OptionError
from fieldmark.metrics.difference import MetricDifference
from fieldmark.metrics.gates import Gate, check_gate, less_is_better, short_name
from fieldmark.metrics.headline import HEADLINE_METRICS, MAIN_METRIC, QUALITY_METRICS
from fieldmark.metrics.rates import sortable
from fieldmark.metrics.summary import RateVariations, RunIntervals, Summary, summary_to_json
from fieldmark.model.json import JsonObject
from fieldmark.report.difference_text import difference_text, difference_to_json, signed
from fieldmark.report.document import (
    Align,
    Cell,
    Column,
    Data,
    Document,
    Format,
    Line,
    Row,
    Table,
    Tone,
    facts,
)
from fieldmark.report.metric_titles import (
    METRIC_TITLES,
    SHORT_TITLES,
    flag_text,
    metric_note,
    rqs_formula,
)
from fieldmark.report.render import ShownRecord
from fieldmark.report.tables import DASH
from fieldmark.runs import run_index as index
from fieldmark.runs import stored_run as reader
from fieldmark.runs.gc_tuning import relaxed_gc
from fieldmark.runs.manifest import Manifest, RunEntry
from fieldmark.runs.run_index import (
    COMPLETE,
    ROOT,
    RunNotes,
    delete_run,
    list_runs,
    read_notes,
    write_notes,
)
from fieldmark.values.presence import is_blank
from fieldmark.values.records import Key, to_json
from fieldmark.values.text import plural

_SLACK: Final = 1e-9


class TrendConclusion(StrEnum):
    """Whether another iteration is worthwhile."""

    CONTINUE = "continue"
    TARGET_REACHED = "target_reached"
    PLATEAU = "plateau"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendOptions:
    """When to stop: at a target, or after `patience` iterations with too little gain.

    The default target is 0.9, or 0 for a metric where lower is better.
    """

    target: float | None = None
    patience: int = 3
    min_gain: float = 0.01

    def __post_init__(self) -> None:
        if self.target is not None and not 0 <= self.target < math.inf:
            raise OptionError("target", "must be a number that is at least 0")
        if self.patience < 1:
            raise OptionError("patience", "must be at least 1")
        if not 0 <= self.min_gain < math.inf:
            raise OptionError("min_gain", "must be a number that is at least 0")


_TARGET: Final = 0.90
_DEFAULT: Final = TrendOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendStep:
    """One run in a trend: its metric, the gain over the previous best, and the best so far.

    `progress` says whether the gain is large enough to count. A run with `errors`, which is the
    number of its cases with errors, has no gain and is not the best.
    """

    name: Annotated[str, Key("run")]
    value: float | None
    gain: float | None
    best: float | None
    progress: bool
    errors: int = 0

    def to_dict(self) -> JsonObject:
        """Return the step as JSON."""
        return to_json(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The steps of a metric in order, and the conclusion."""

    steps: tuple[TrendStep, ...]
    best: str | None
    runs_without_gain: int
    conclusion: TrendConclusion
    target: float
    less_is_better: bool = False

    def to_dict(self) -> JsonObject:
        """Return the trend as JSON."""
        return to_json(self)


def trend(
    values: Sequence[tuple[str, float | None]],
    options: TrendOptions = _DEFAULT,
    *,
    less_is_better: bool = False,
    errors: Mapping[str, int] | None = None,
) -> Trend:
    """Return the trend of a metric over named iterations.

    A gain counts if the metric rises at least `min_gain` above the last value that counted, so many
    small gains are progress too, once they add up. With `less_is_better`, it must fall. Iterations
    with `errors`, the numbers of cases with errors by name, are neither progress nor the best.

    >>> trend([("a", 0.70), ("b", 0.80), ("c", 0.80), ("d", 0.805), ("e", 0.79)]).conclusion
    <TrendConclusion.PLATEAU: 'plateau'>
    """
    steps: list[TrendStep] = []
    best: float | None = None
    best_name: str | None = None
    mark: float | None = None
    idle = 0
    sign = -1 if less_is_better else 1
    default = 0.0 if less_is_better else _TARGET
    target = default if options.target is None else options.target
    failed = errors or {}
    shares = [value for _, value in values if isinstance(value, float)]
    if target > 1 and shares and max(shares) <= 1:
        raise OptionError("target", "must be between 0 and 1")
    for name, value in values:
        if number := failed.get(name, 0):
            steps.append(
                TrendStep(
                    name=name, value=value, gain=None, best=best, progress=False, errors=number
                )
            )
            continue
        gain = None if value is None or best is None else sign * (value - best)
        progress = value is not None and (
            mark is None or sign * (value - mark) >= options.min_gain - _SLACK
        )
        mark, idle = (value, 0) if progress else (mark, idle + 1)
        if value is not None and (best is None or sign * sortable(value) > sign * sortable(best)):
            best, best_name = value, name
        steps.append(TrendStep(name=name, value=value, gain=gain, best=best, progress=progress))
    conclusion = TrendConclusion.PLATEAU if idle >= options.patience else TrendConclusion.CONTINUE
    if best is not None and sign * (best - target) >= -_SLACK:
        conclusion = TrendConclusion.TARGET_REACHED
    return Trend(
        steps=tuple(steps),
        best=best_name,
        runs_without_gain=idle,
        conclusion=conclusion,
        target=target,
        less_is_better=less_is_better,
    )


_METRICS: Final = {name: SHORT_TITLES[name] for name in HEADLINE_METRICS}
"""The metrics of a run, and their column titles."""
_COLUMNS: Final = (
    Column("Run", "id", folds=True),
    Column("Started", "started_at", tone=Tone.QUIET),
    Column("Status", "status"),
    Column("Convention", "convention"),
    Column("Cases", "cases", Format.COUNT),
    *(Column(title, name, Format.NUMBER) for name, title in _METRICS.items()),
    Column("Notes", "remark", folds=True),
)
_METRIC_COLUMNS: Final = (
    Column("Metric", "metric"),
    Column("", "value", Format.NUMBER),
    Column("95% CI", "interval", align=Align.RIGHT, tone=Tone.QUIET),
    Column("", "note"),
)
_DATA: Final = (
    "id", "status", "started_at", "finished_at", "convention", "cases", "errors", *_METRICS,
    *QUALITY_METRICS, "verdict", "vacuous", "name", "tags", "note", "problem",
)  # fmt: skip
_TONES: Final = {"complete": Tone.GOOD, "running": Tone.ACTIVE, "corrupt": Tone.BAD}
_VERDICTS: Final = {"pass": "passed", "fail": "failed"}
"""The result of the gates of a run in a list; a run can also fail without gates."""
_MINUTES: Final = len("2025-01-31T12:00")
_ADVICE: Final = {
    "continue": "continue: target {target:g} not reached",
    "target_reached": "target {target:g} reached",
    "plateau": "plateau: recent gains are below the minimum; stop or change the approach",
}
_BAR: Final = 20
_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, kw_only=True, repr=False)
class RunList(ShownRecord):
    """Runs in the order of their start.

    Attributes:
        entries: The runs.
        roots: The directories that contain the runs.
    """

    entries: tuple[RunEntry, ...]
    roots: tuple[Path, ...] = (Path(ROOT),)

    def trend(
        self,
        metric: str = MAIN_METRIC,
        options: TrendOptions | None = None,
        *,
        run: str | None = None,
    ) -> Trend:
        """Return the trend of a metric over the runs that are comparable with a run.

        Without a run, they are comparable with the latest complete one. Any metric of a summary
        can be followed, such as `rqs` or `attributes.total.f1`.
        """
        entries = self.comparable(run)
        values = self._values(metric, entries)
        errors = {entry.id: entry.errors for entry in entries if entry.errors}
        lower = less_is_better(metric)
        try:
            return trend(values, options or TrendOptions(), less_is_better=lower, errors=errors)
        except OptionError as error:
            raise ConfigError.of(str(error)) from error

    def comparable(self, run: str | None = None) -> tuple[RunEntry, ...]:
        """Return the complete runs with the ground truth, rules and convention of a run.

        Without a run, of the latest complete one.
        """
        complete = [entry for entry in self.entries if entry.status == COMPLETE]
        if run is not None:
            name = run
            if all(
                entry.id != run for entry in self.entries
            ):  # a path, the start of an id, or a tag
                name = find_run(run, self.roots[0]).resolve().name
            matching = [entry for entry in self.entries if entry.id == name and entry.comparable]
            if not matching:
                raise ConfigError.of(f"run {run!r} is not in the list or cannot be read")
        else:
            matching = complete[-1:]
        return tuple(entry for entry in complete if entry.comparable == matching[-1].comparable)

    def shown_trend(
        self, metric: str, options: TrendOptions, *, run: str | None = None
    ) -> RunTrend:
        """Return the trend of a metric with the data to show it."""
        series = self.comparable(run)
        followed = self.trend(metric, options, run=run)
        return RunTrend(
            metric=metric,
            convention=series[-1].convention if series else "",
            options=options,
            trend=followed,
            excluded=len(self) - len(series),
            latest=self._latest_change(metric, followed),
        )

    def _latest_change(self, metric: str, followed: Trend) -> LatestChange | None:
        """Compare the latest run of a trend with the best earlier run, case by case."""
        known = [step for step in followed.steps if step.value is not None]
        if len(known) <= 1:
            return None
        sign = -1 if followed.less_is_better else 1
        earlier = [step for step in known[:-1] if not step.errors]
        if not earlier:
            return None
        best = max(earlier, key=lambda step: sign * (step.value or 0.0))
        paths = [self._path(step.name) for step in (best, known[-1])]
        try:
            change = diff(*paths).metrics.named(short_name(metric))
        except ConfigError:
            return None
        return None if change is None else LatestChange(known[-1].name, best.name, change)

    def _values(self, metric: str, entries: Sequence[RunEntry]) -> list[tuple[str, float | None]]:
        """Return a metric of runs, or `None` if nothing is behind it.

        Summaries are read unless the list contains the metric.
        """
        if metric in HEADLINE_METRICS:
            return [
                (entry.id, None if metric in entry.vacuous else (entry.metrics or {}).get(metric))
                for entry in entries
            ]
        values: list[tuple[str, float | None]] = []
        unknown: OptionError | None = None
        known = False
        for entry in entries:
            value = None
            try:
                gate = Gate(name=metric, limit=0)
                summary = self._stored_summary(entry.id)
                result = check_gate(gate, {} if summary is None else summary_to_json(summary))
                value = None if result.note else result.value
                known = True
            except OptionError as error:
                unknown = error
            values.append((entry.id, value))
        if unknown is not None and not known:
            raise ConfigError.of(unknown.message)
        return values

    def interval(self, run: str, metric: str) -> tuple[float, float] | None:
        """Return the 95% confidence interval of a metric of a run, if it was computed.

        Runs have intervals of their main metrics, and of the rates of attributes.
        """
        summary = self._stored_summary(run)
        if summary is None or summary.intervals is None:
            return None
        interval = summary.intervals.metrics.get(metric.removeprefix("quality."))
        if interval is None and metric.startswith("attributes."):
            path, _, rate = metric.removeprefix("attributes.").rpartition(".")
            rates = summary.intervals.attributes.get(path, RateVariations()).interval
            interval = getattr(rates, rate) if rate in rates._fields else None
        return interval

    def _stored_summary(self, run: str) -> Summary | None:
        return reader.open_run(self._path(run)).summary

    def _path(self, run: str) -> Path:
        return next((root / run for root in self.roots if (root / run).is_dir()), Path(run))

    def to_dict(self) -> JsonObject:
        """Return the list as JSON."""
        return {"format": 1, "runs": [entry.to_dict() for entry in self.entries]}

    def __len__(self) -> int:
        return len(self.entries)

    def document(self, *, top: int | None = None) -> Document:
        """Return one line per run, oldest first."""
        rows = [_row(run) for run in self.entries]
        if not rows:
            return Document(Line("no runs found"), data=Data(_DATA))
        table = Table(name="runs", columns=_COLUMNS, rows=rows, top=top, noun="run", gap=1)
        return Document(table, data=Data(_DATA, rows))


class LatestChange(NamedTuple):
    """The latest run of a trend, the best earlier run, and the difference of the metric."""

    run: str
    best_before: str
    change: MetricDifference

    def to_dict(self) -> JsonObject:
        """Return the comparison as JSON."""
        return {
            "run": self.run,
            "best_before": self.best_before,
            **difference_to_json(self.change),
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class RunTrend(ShownRecord):
    """The trend of a metric over comparable runs; `excluded` counts the other runs of the list.

    `latest` says whether the latest run differs from the best earlier run, if they can be compared.
    """

    metric: str
    convention: str
    options: TrendOptions
    trend: Trend
    excluded: int
    latest: LatestChange | None = None

    def to_dict(self) -> JsonObject:
        """Return the trend as JSON."""
        return {
            "format": 1,
            "metric": self.metric,
            "convention": self.convention,
            "patience": self.options.patience,
            "min_gain": self.options.min_gain,
            **self.trend.to_dict(),
            "excluded": self.excluded,
            "latest": None if self.latest is None else self.latest.to_dict(),
        }

    def document(self, *, top: int | None = None) -> Document:
        """Return one line per run, with its gain over the best earlier run."""
        steps = self.trend.steps
        keys = ("run", "value", "gain", "best", "progress", "errors")
        if not steps:
            return Document(Line("no complete runs to compare"), data=Data(keys))
        largest = max(1.0, *(step.value or 0.0 for step in steps))
        rows: list[Row] = []
        for step in steps:
            best = step.name == self.trend.best
            bar = "█" * round(_BAR * (step.value or 0.0) / largest)
            gain = signed(step.gain)
            rows.append(
                {
                    "run": Cell(step.name, tone=Tone.STRONG if best else Tone.PLAIN),
                    "value": step.value,
                    "gain": Cell(step.gain, gain, Tone.GOOD if step.progress else Tone.QUIET),
                    "best": step.best,
                    "progress": str(step.progress),
                    "errors": step.errors,
                    "bar": f"{bar}{' best' if best else ''}{_errors_text(step.errors)}",
                }
            )
        columns = (
            Column("Run", "run", folds=True),
            Column(self.metric, "value", Format.NUMBER),
            Column("Gain", "gain", Format.NUMBER),
            Column("Best so far", "best", Format.NUMBER),
            Column("", "bar"),
        )
        others = ""
        if self.excluded:
            others = (
                f"; {plural(self.excluded, 'run')} excluded: incomplete, or different data, rules"
                " or convention (fieldmark runs RUN --trend follows another run)"
            )
        advice = _ADVICE[self.trend.conclusion].format(target=self.trend.target)
        conclusion = (
            f"best: {self.trend.best or DASH}; {advice}; convention {self.convention}{others}"
        )
        return Document(
            Table(name="trend", columns=columns, rows=rows, top=top, noun="run", gap=1),
            *_latest_line(self),
            Line(conclusion),
            data=Data(keys, rows),
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class RunDetails(ShownRecord):
    """Everything about one run except its cases; an unfinished run has no summary."""

    id: str
    path: str
    manifest: Manifest
    summary: Summary | None
    intervals: RunIntervals
    tags: tuple[str, ...]
    note: str
    name: str = ""
    archived: bool = False

    def to_dict(self) -> JsonObject:
        """Return the details as JSON, without the long parts: the lists and the attributes."""
        summary = {} if self.summary is None else summary_to_json(self.summary)
        return {
            "format": 1,
            "id": self.id,
            "name": self.name,
            "path": self.path,
            "manifest": to_json(replace(self.manifest, lists={})),
            "summary": {key: value for key, value in summary.items() if key != "attributes"},
            "intervals": to_json(self.intervals)["intervals"],
            "tags": list(self.tags),
            "note": self.note,
            "archived": self.archived,
        }

    def document(self, *, top: int | None = None) -> Document:  # noqa: ARG002 - a short table
        """Return inputs and settings, and metrics with confidence intervals."""
        manifest = self.manifest
        target = "" if manifest.target is None else str(manifest.target.get("name"))
        pairs = [
            ("run", self.path),
            ("status", manifest.status),
            ("started", manifest.started_at or DASH),
            ("finished", manifest.finished_at or DASH),
            ("convention", manifest.convention.name),
            ("inputs", ", ".join(file.name for file in manifest.inputs)),
            ("target", target),
            ("name", self.name),
            ("tags", " ".join(self.tags)),
            ("note", self.note),
        ]
        rows = list(_metric_rows(self))
        formula = "" if self.summary is None else rqs_formula(self.summary.rqs_counting)
        return Document(
            facts([(label, text) for label, text in pairs if text]),
            Table(name="metrics", columns=_METRIC_COLUMNS, rows=rows, gap=1),
            *([Line(formula)] if formula else ()),
            data=Data(("metric", "value", "low", "high", "note", "convention"), rows),
        )


@checked
def runs(
    root: Path | str = ROOT,
    *,
    tags: Iterable[str] = (),
    status: str | None = None,
    since: str | datetime | None = None,
    archived: bool = False,
) -> RunList:
    """List the runs in a directory.

    Args:
        root: The directory with the runs.
        tags: List only runs with all of these tags.
        status: List only runs with this status.
        since: List only runs that were started at or after this time.
        archived: Also list archived runs.

    >>> import fieldmark as fm
    >>> _ = fm.score([({"total": 10}, {"total": 10})], out="runs/first")
    >>> [run.id for run in fm.runs().entries]
    ['first']
    """
    wanted, start = set(tags), _start_time(since)
    with relaxed_gc():
        return RunList(
            roots=(Path(root),),
            entries=tuple(
                entry
                for entry in list_runs(root)
                if wanted <= set(entry.tags)
                and status in (None, entry.status)
                and entry.started_at >= start
                and (archived or not entry.archived)
            ),
        )


def find_run(name: str | Path, root: Path | str = ROOT) -> Path:
    """Return the directory of a run, named as for `open_run`; a run at a URL is downloaded."""
    if is_url(name):
        from fieldmark.runs.remote_runs import fetch_run

        return fetch_run(name)
    return index.find_run(name, root)


@checked
def open_run(run: str | Path, root: Path | str = ROOT) -> RunResult:
    """Open a saved run; its cases are read when they are used.

    Args:
        run: The directory of the run, its id or the start of it, a tag, `latest`, or a URL, from
            which it is downloaded. `latest~1` is the run before the latest.
        root: The directory with the runs.

    >>> import fieldmark as fm
    >>> _ = fm.score([({"total": 10}, {"total": 11})], out="opened")
    >>> fm.open_run("opened").cases["1"].misses
    ('total',)
    """
    stored = reader.open_run(find_run(run, root))
    summary, url = stored.complete_summary, redacted_url(run) if is_url(run) else ""
    if stored.manifest.command == "eval":
        return EvalResult(summary, path=stored.path, name=stored.manifest.eval, url=url)
    return RunResult(summary, path=stored.path, url=url)


def describe_run(name: str | Path, root: Path | str = ROOT) -> RunDetails:
    """Return everything about one run: its manifest, metrics with intervals, tags and note."""
    path = find_run(name, root)
    stored = reader.open_run(path)
    notes = read_notes(path)
    intervals = RunIntervals()
    if stored.summary is not None:
        intervals = stored.summary.intervals or stored_intervals(stored)
    return RunDetails(
        id=path.name,
        path=str(path),
        manifest=stored.manifest,
        summary=stored.summary,
        intervals=intervals,
        tags=notes.tags,
        note=notes.note,
        name=notes.name,
        archived=notes.archived,
    )


def annotate(
    run: str | Path,
    root: Path | str = ROOT,
    *,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    note: str | None = None,
    name: str | None = None,
    archived: bool | None = None,
) -> RunNotes:
    """Set the tags, the note and the name of a run, or archive it; its results do not change."""
    path = index.find_run(run, root)
    for tag in add:
        if is_blank(tag) or tag != tag.strip():
            hint = "a tag must not be empty, or start or end with whitespace"
            raise ConfigError.of(f"invalid tag {tag!r}", hint=hint)
    notes = read_notes(path).changed(
        add=add, remove=remove, note=note, name=name, archived=archived
    )
    write_notes(path, notes)
    return notes


def remove_run(name: str | Path, root: Path | str = ROOT) -> Path:
    """Delete a run, named by its directory or its full id."""
    path = Path(name) if Path(name).is_dir() else Path(root) / name
    if not path.is_dir():
        hint = "to delete a run, give its directory or full id"
        raise ConfigError.of(f"run {str(name)!r} not found", hint=hint)
    delete_run(path)
    return path


def _start_time(since: str | datetime | None) -> str:
    """Return a time in the format of manifests, so that strings compare like times.

    A string is a date such as `2025-01-31`, an ISO time, or a duration: `12h`, `7d`, `2w`.
    """
    if since is None:
        return ""
    if isinstance(since, str):
        number, unit = since[:-1], since[-1:]
        try:
            if number.isdigit() and unit in _UNITS:
                since = datetime.now(UTC) - timedelta(**{_UNITS[unit]: int(number)})
            else:
                since = datetime.fromisoformat(since)
                since = since if since.tzinfo else since.replace(tzinfo=UTC)
        except OverflowError:
            since = datetime.min.replace(tzinfo=UTC)
        except ValueError as error:
            raise ConfigError.of(
                f"since: expected a time, got {since!r}",
                hint="use a date such as 2025-01-31, or a duration such as 12h, 7d or 2w",
            ) from error
    return since.astimezone(UTC).isoformat(timespec="milliseconds")


def trend_options(target: float | None, patience: int, min_gain: float) -> TrendOptions:
    """Return trend options; an invalid value is a `ConfigError`."""
    try:
        return TrendOptions(target=target, patience=patience, min_gain=min_gain)
    except OptionError as error:
        raise ConfigError.of(str(error)) from error


# --- document -------------------------------------------------------------------------------------


def _errors_text(errors: int) -> str:
    return f" {plural(errors, 'case')} with errors" if errors else ""


def _latest_line(shown: RunTrend) -> Iterator[Line]:
    """Yield whether the latest run differs from the best earlier run."""
    if shown.latest is not None:
        name, best, change = shown.latest
        title = METRIC_TITLES.get(short_name(shown.metric), shown.metric)
        text = f"{name} compared with the best earlier run, {best}: {change.word}"
        yield Line(f"{text}; {title} {difference_text(change)}")


def _row(run: RunEntry) -> Row:
    """Return a run as a row of a list; CSV has the whole start time."""
    metrics = run.metrics or {}
    first = [_VERDICTS[run.verdict]] if run.verdict in _VERDICTS else []
    if run.errors:
        first.append(f"{run.errors:,} of {plural(run.cases or 0, 'case')} with errors")
    first += ["archived"] if run.archived else []
    first += ["vacuous scores"] if run.vacuous else []
    tags = (f"[{tag}]" for tag in run.tags)
    remark = run.problem or " ".join([*first, *run.name.split(), *tags, *run.note.split()])
    return {
        "id": run.id,
        "started_at": Cell(run.started_at, run.started_at[:_MINUTES].replace("T", " ")),
        "finished_at": run.finished_at,
        "status": Cell(run.status, tone=_TONES.get(run.status, Tone.WARNING)),
        "convention": run.convention,
        "cases": run.cases,
        "errors": run.errors,
        **{name: metrics.get(name) for name in (*_METRICS, *QUALITY_METRICS)},
        "remark": remark,
        "verdict": run.verdict,
        "vacuous": " ".join(run.vacuous),
        "name": run.name,
        "tags": " ".join(run.tags),
        "note": run.note,
        "problem": run.problem,
    }


def _metric_rows(run: RunDetails) -> Iterator[Row]:
    """Yield the headline metrics and other metrics with an interval, the primary metric first."""
    summary, intervals = run.summary, run.intervals.metrics
    if summary is None:
        return
    for name in dict.fromkeys((*summary.metrics, *intervals)):
        if name not in HEADLINE_METRICS and name not in intervals:
            continue
        low, high = intervals.get(name, (None, None))
        # A note says why a metric means less than it seems to; the note on RQS includes safety.
        safety = flag_text(summary.flags.get("safety", ())) if name == "rqs" else ""
        notes = metric_note(summary, name), f"safety {safety}" if safety else ""
        yield {
            "metric": name,
            "value": _metric(summary, name),
            "low": low,
            "high": high,
            "interval": "" if low is None or high is None else f"{low:.3f} to {high:.3f}",
            "note": ", ".join(filter(None, notes)),
            "convention": run.manifest.convention.name,
        }


def _metric(summary: Summary, name: str) -> float | None:
    """Return a metric of a summary by its short name."""
    verdicts, cases = summary.verdicts, summary.cases
    if name == "passed":
        return verdicts.passed / sum(verdicts) if any(verdicts) else None
    if name == "perfect":
        return cases.perfect / cases.scored if cases.scored else None
    for record in (summary.quality, summary):
        if hasattr(record, name):
            value: float | None = getattr(record, name)
            return value
    micro: float | None = getattr(summary.micro, name.removeprefix("micro_"), None)
    return micro
