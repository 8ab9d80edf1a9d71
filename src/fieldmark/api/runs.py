"""Runs that were kept: listed, found by name, shown, annotated, removed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fieldmark.errors import ConfigError, OptionError
from fieldmark.metrics.headline import HEADLINE_FIGURES
from fieldmark.metrics.trend import Trend, TrendOptions, trend
from fieldmark.model.json import JsonObject
from fieldmark.run.gc_tuning import relaxed_gc
from fieldmark.store.notes import RunNotes, delete_run, read_notes, write_notes
from fieldmark.store.run_index import CORRUPT, list_runs
from fieldmark.values.presence import is_blank
from fieldmark.wire.run_entry import RunEntry

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fieldmark.store.run_reader import StoredRun

__all__ = [
    "ROOT",
    "RunList",
    "annotate",
    "describe_run",
    "find_run",
    "remove_run",
    "runs",
    "trend_options",
]

ROOT: Final = "runs"
"""Where runs are kept if nobody says otherwise."""

_LATEST: Final = "latest"
_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, kw_only=True, repr=False)
class RunList:
    """Runs in the order of their beginnings."""

    entries: tuple[RunEntry, ...]

    def trend(self, figure: str = "mean_score", options: TrendOptions | None = None) -> Trend:
        """What became of a figure over the runs that can be compared with the newest."""
        if figure not in HEADLINE_FIGURES:
            from fieldmark.values.text import did_you_mean

            message = f"unknown figure {figure!r}. {did_you_mean(figure, HEADLINE_FIGURES)}"
            raise ConfigError.of(message.rstrip())
        values = [(each.id, (each.figures or {}).get(figure)) for each in self.comparable()]
        return trend(values, options or TrendOptions())

    def comparable(self) -> tuple[RunEntry, ...]:
        """The complete runs over the same truth, compared and counted as the newest was."""
        complete = [each for each in self.entries if each.status == "complete"]
        if not complete:
            return ()
        return tuple(each for each in complete if each.comparable == complete[-1].comparable)

    def to_dict(self) -> JsonObject:
        """The list as JSON."""
        return {"format": 1, "runs": [each.to_dict() for each in self.entries]}

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.runs_view import runs_view

        return runs_view(self.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """Which runs of a folder are asked for."""

    tags: frozenset[str] = field(default_factory=frozenset)
    status: str | None = None
    since: str = ""

    def __call__(self, entry: RunEntry) -> bool:
        return (
            (not self.tags or self.tags <= set(entry.tags))
            and (self.status is None or self.status == entry.status)
            and entry.started_at >= self.since
        )


def runs(
    root: Path | str = ROOT,
    *,
    tags: Iterable[str] = (),
    status: str | None = None,
    since: str | datetime | None = None,
) -> RunList:
    """The runs of a folder: all, or those with some tags, of a status, or since a time.

    >>> import fieldmark as fm
    >>> _ = fm.score([({"total": 10}, {"total": 10})], out="runs/first")
    >>> [run.id for run in fm.runs().entries]
    ['first']
    """
    wanted = _Wanted(tags=frozenset(tags), status=status, since=_since(since))
    with relaxed_gc():
        return RunList(entries=tuple(entry for entry in list_runs(root) if wanted(entry)))


def find_run(name: str | Path, root: Path | str = ROOT) -> Path:
    """The folder of a run by its path, its id, how its id begins, a tag, or `latest`.

    `latest~1` is the run before the latest. A tag names the newest run that has it.
    """
    for path in (Path(name), Path(root) / name):
        if path.is_dir():
            return path
    entries = [entry for entry in list_runs(root) if entry.status != CORRUPT]
    word, _, back = str(name).partition("~")
    if word == _LATEST and (back.isdigit() or not back) and len(entries) > int(back or 0):
        return Path(root) / entries[-1 - int(back or 0)].id
    begun = [entry.id for entry in entries if entry.id.startswith(str(name))]
    if len(begun) == 1:
        return Path(root) / begun[0]
    if len(begun) > 1:
        raise ConfigError.of(f"{name} may be any of {len(begun)} runs in {root}: say more of it.")
    tagged = [entry.id for entry in entries if str(name) in entry.tags]
    if tagged:
        return Path(root) / tagged[-1]
    from fieldmark.values.text import did_you_mean

    hint = did_you_mean(str(name), [entry.id for entry in entries])
    raise ConfigError.of(f"There is no run {name}, neither as a folder nor in {root}.", hint=hint)


def describe_run(name: str | Path, root: Path | str = ROOT) -> JsonObject:
    """Everything about one run: its manifest, its figures with intervals, its notes."""
    from fieldmark.store.run_reader import open_run  # a list of runs needs none of it
    from fieldmark.wire.manifest import manifest_to_json
    from fieldmark.wire.summary import summary_to_json

    path = find_run(name, root)
    stored = open_run(path)
    notes = read_notes(path)
    manifest = manifest_to_json(replace(stored.manifest, lists={}))
    summary = {} if stored.summary is None else summary_to_json(stored.summary)
    return {
        "format": 1,
        "id": path.name,
        "path": str(path),
        "manifest": manifest,
        "summary": {key: value for key, value in summary.items() if key != "attributes"},
        "intervals": _intervals(stored),
        "tags": list(notes.tags),
        "note": notes.note,
    }


def annotate(
    name: str | Path,
    root: Path | str = ROOT,
    *,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    note: str | None = None,
) -> RunNotes:
    """Give a run tags and a note; the results stay as they are."""
    path = find_run(name, root)
    for tag in add:
        if is_blank(tag) or tag != tag.strip():
            raise ConfigError.of(f"{tag!r} is no tag: it begins or ends with a blank, or is empty.")
    notes = read_notes(path).changed(add=add, remove=remove, note=note)
    write_notes(path, notes)
    return notes


def remove_run(name: str | Path, root: Path | str = ROOT) -> Path:
    """Remove a run for good, named by its folder or its whole id."""
    path = Path(name) if Path(name).is_dir() else Path(root) / name
    if not path.is_dir():
        raise ConfigError.of(f"There is no run {name}: to remove one, give its folder or id.")
    delete_run(path)
    return path


def _intervals(run: StoredRun) -> JsonObject:
    """The intervals that the summary has, or else those that the rows give."""
    from fieldmark.api.recount import stored_intervals  # loads numpy
    from fieldmark.wire.summary import intervals_to_json

    if run.summary is None:
        return {}
    return intervals_to_json(run.summary.intervals or stored_intervals(run))


def _since(when: str | datetime | None) -> str:
    """A time as runs write it, so that texts compare like times."""
    if when is None:
        return ""
    if isinstance(when, str):
        when = _read_time(when)
    return when.astimezone(UTC).isoformat(timespec="milliseconds")


def _read_time(text: str) -> datetime:
    """`2025-01-31`, a whole ISO time, or how long ago: `12h`, `7d`, `2w`."""
    number, unit = text[:-1], text[-1:]
    if number.isdigit() and unit in _UNITS:
        try:
            return datetime.now(UTC) - timedelta(**{_UNITS[unit]: int(number)})
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError.of(
            f"since: {text!r} is no time.", hint="Write 2025-01-31, or how long ago: 12h, 7d, 2w."
        ) from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def trend_options(target: float, patience: int, min_gain: float) -> TrendOptions:
    """When to stop, as a caller gives it."""
    try:
        return TrendOptions(target=target, patience=patience, min_gain=min_gain)
    except OptionError as error:
        raise ConfigError.of(str(error)) from error
