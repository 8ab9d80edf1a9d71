"""List, find, open, describe, name, tag, archive and delete saved runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fieldmark.api.arguments import checked
from fieldmark.data.files import is_url, redacted_url
from fieldmark.errors import ConfigError, OptionError
from fieldmark.metrics.gates import Gate, check_gate, less_is_better
from fieldmark.metrics.headline import HEADLINE_METRICS, MAIN_METRIC
from fieldmark.metrics.summary import RateVariations, RunIntervals, Summary
from fieldmark.metrics.trend import Trend, TrendOptions, trend
from fieldmark.model.json import JsonObject
from fieldmark.run.gc_tuning import relaxed_gc
from fieldmark.store import index
from fieldmark.store.index import COMPLETE, ROOT, list_runs
from fieldmark.store.notes import RunNotes, delete_run, read_notes, write_notes
from fieldmark.values.presence import is_blank
from fieldmark.wire.manifest import RunEntry

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fieldmark.run.result import RunResult
    from fieldmark.wire.run_details import RunDetails

__all__ = [
    "ROOT",
    "RunList",
    "annotate",
    "describe_run",
    "find_run",
    "open_run",
    "remove_run",
    "runs",
    "trend_options",
]

_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, kw_only=True, repr=False)
class RunList:
    """Runs in the order in which they started, and the directories that contain them."""

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
        values = self._values(metric, self.comparable(run))
        try:
            return trend(values, options or TrendOptions(), less_is_better=less_is_better(metric))
        except OptionError as error:
            raise ConfigError.of(str(error)) from error

    def comparable(self, run: str | None = None) -> tuple[RunEntry, ...]:
        """Return the complete runs with the ground truth, rules and convention of a run.

        Without a run, of the latest complete one.
        """
        complete = [each for each in self.entries if each.status == COMPLETE]
        if run is not None:
            name = run if any(each.id == run for each in self.entries) else self._find(run)
            own = [each for each in self.entries if each.id == name and each.comparable]
            if not own:
                raise ConfigError.of(f"run {run!r} is not in the list or cannot be read")
        else:
            own = complete[-1:]
        return tuple(each for each in complete if each.comparable == own[-1].comparable)

    def _find(self, run: str) -> str:
        """Return the id of a run named by a path, the start of its id, a tag or `latest`."""
        return find_run(run, self.roots[0]).resolve().name

    def _values(self, metric: str, entries: Sequence[RunEntry]) -> list[tuple[str, float | None]]:
        """Return a metric of runs, or `None` if nothing is behind it.

        Summaries are read unless the list contains the metric.
        """
        if metric in HEADLINE_METRICS:
            return [
                (each.id, None if metric in each.vacuous else (each.metrics or {}).get(metric))
                for each in entries
            ]
        values: list[tuple[str, float | None]] = []
        unknown: OptionError | None = None
        known = False
        for each in entries:
            value = None
            try:
                found = check_gate(Gate(name=metric, limit=0), self._summary(each.id))
                value = None if found.note else found.value
                known = True
            except OptionError as error:
                unknown = error
            values.append((each.id, value))
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
        found = summary.intervals.metrics.get(metric.removeprefix("quality."))
        if found is None and metric.startswith("attributes."):
            path, _, rate = metric.removeprefix("attributes.").rpartition(".")
            rates = summary.intervals.attributes.get(path, RateVariations()).interval
            found = getattr(rates, rate) if rate in rates._fields else None
        return found

    def _summary(self, run: str) -> JsonObject:
        from fieldmark.wire.summary import summary_to_json

        summary = self._stored_summary(run)
        return {} if summary is None else summary_to_json(summary)

    def _stored_summary(self, run: str) -> Summary | None:
        from fieldmark.store.reader import open_run

        path = next((root / run for root in self.roots if (root / run).is_dir()), Path(run))
        return open_run(path).summary

    def to_dict(self) -> JsonObject:
        """Return the list as JSON."""
        return {"format": 1, "runs": [each.to_dict() for each in self.entries]}

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.runs_view import runs_view

        return runs_view(self.entries)


@checked
def runs(
    root: Path | str = ROOT,
    *,
    tags: Iterable[str] = (),
    status: str | None = None,
    since: str | datetime | None = None,
    archived: bool = False,
) -> RunList:
    """List the runs in a directory, optionally by tags, status or start time.

    Archived runs are listed only with `archived`.

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
        from fieldmark.run.remote_runs import fetch_run

        return fetch_run(name)
    return index.find_run(name, root)


@checked
def open_run(run: str | Path, root: Path | str = ROOT) -> RunResult:
    """Open a saved run, named by its directory, its id or the start of it, a tag, or `latest`.

    A run at a URL is downloaded. `latest~1` is the run before the latest in `root`. The cases are
    read from the directory when they are used.

    >>> import fieldmark as fm
    >>> _ = fm.score([({"total": 10}, {"total": 11})], out="opened")
    >>> fm.open_run("opened").cases["1"].misses
    ('total',)
    """
    from fieldmark.run.result import EvalResult, RunResult
    from fieldmark.store import reader

    stored = reader.open_run(find_run(run, root))
    summary, url = stored.complete_summary, redacted_url(run) if is_url(run) else ""
    if stored.manifest.command == "eval":
        return EvalResult(summary, path=stored.path, name=stored.manifest.eval, url=url)
    return RunResult(summary, path=stored.path, url=url)


def describe_run(name: str | Path, root: Path | str = ROOT) -> RunDetails:
    """Return everything about one run: its manifest, metrics with intervals, tags and note."""
    # A list of runs needs none of these, and intervals import numpy.
    from fieldmark.api.recount import stored_intervals
    from fieldmark.store.reader import open_run
    from fieldmark.wire.run_details import RunDetails

    path = find_run(name, root)
    stored = open_run(path)
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
