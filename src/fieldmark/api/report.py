"""A stored run as a file for people or for other tools."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple, Protocol, cast

from fieldmark.api.recount import stored_intervals, stored_run
from fieldmark.api.runs import ROOT
from fieldmark.errors import ConfigError, DataError, Location
from fieldmark.report.exports.hiding import shown_with
from fieldmark.report.html.page import page
from fieldmark.report.html.shown import ShownRun
from fieldmark.report.html.trend import Earlier
from fieldmark.report.html.view import view_of
from fieldmark.report.html.worst import Limits
from fieldmark.run.gc_tuning import relaxed_gc
from fieldmark.store.disk import write_atomic
from fieldmark.store.run_index import list_runs
from fieldmark.store.run_reader import StoredRun, open_run
from fieldmark.values.text import did_you_mean
from fieldmark.wire.manifest import manifest_to_json
from fieldmark.wire.summary import summary_to_json, with_intervals

__all__ = ["KINDS", "file_name", "html_report", "write_report"]

HTML: Final = "html"
_DRAWN_FROM: Final = 2_000
_EARLIER: Final = 11
"""Runs before this one whose figures are drawn as a trend."""


class _Export(NamedTuple):
    """One kind of file: its name in the folder of the run, and who writes it."""

    file: str
    module: str
    function: str


_EXPORTS: Final[Mapping[str, _Export]] = {
    "markdown": _Export("report.md", "markdown", "write_markdown"),
    "markdown-short": _Export("summary.md", "markdown", "write_markdown_short"),
    "junit": _Export("junit.xml", "junit", "write_junit"),
    "csv": _Export("attributes.csv", "csv", "write_csv"),
    "csv-outcomes": _Export("outcomes.csv", "csv", "write_outcomes_csv"),
    "xlsx": _Export("report.xlsx", "xlsx", "write_xlsx"),
    "parquet": _Export("outcomes.parquet", "parquet", "write_parquet"),
    "eval-results": _Export("eval-results.json", "eval_results", "write_eval_results"),
    "json": _Export("report.json", "json", "write_json"),
}
"""Every other kind, with its module below `report/exports`: loaded only when it is asked for."""

KINDS: Final = (HTML, *_EXPORTS)


class _Writer(Protocol):
    """What a module of exports offers."""

    def __call__(self, run: ShownRun, out: Path, *, values: bool = True) -> None:
        """Write one file."""
        ...


def file_name(kind: str) -> str:
    """What a kind of report is called in the folder of its run.

    >>> file_name("html"), file_name("junit")
    ('report.html', 'junit.xml')
    """
    if kind == HTML:
        return "report.html"
    if kind not in _EXPORTS:
        hint = did_you_mean(kind, KINDS) or f"There are {', '.join(KINDS)}."
        raise ConfigError.of(f"There is no report of kind {kind!r}.", hint=hint)
    return _EXPORTS[kind].file


def write_report(
    run: Path | str,
    out: Path | str | None = None,
    *,
    kind: str = HTML,
    against: Path | str | None = None,
    values: bool = True,
) -> Path:
    """Write a report of a run to a file, or into the folder of the run; where it is.

    >>> import fieldmark as fm
    >>> _ = fm.score("truth.jsonl", "candidate.jsonl", out="runs/reported")
    >>> write_report("runs/reported").name
    'report.html'
    """
    place = Path(run) / file_name(kind) if out is None else Path(out)
    if kind == HTML:
        write_atomic(place, html_report(run, against=against, values=values))
        return place
    if against is not None:
        raise ConfigError.of(f"Only an HTML report compares two runs, not {kind}.")
    export = _EXPORTS[kind]
    module = importlib.import_module(f"fieldmark.report.exports.{export.module}")
    writer = cast("_Writer", getattr(module, export.function))
    writer(_shown(run), place, values=values)
    return place


def html_report(
    run: Path | str,
    *,
    against: Path | str | None = None,
    values: bool = True,
    limits: Limits | None = None,
) -> bytes:
    """The report of a run as one page that needs nothing else; with another run, a comparison."""
    shown = shown_with(_with_intervals(_shown(run), stored_run(run)), values=values)
    other = None if against is None else shown_with(_shown(against), values=values)
    with relaxed_gc():
        return page(view_of(shown, other, earlier=_earlier(Path(run)), limits=limits))


def _shown(path: Path | str) -> ShownRun:
    run = stored_run(path)
    if run.summary is None:
        raise DataError(
            f"the run is {run.status} and has no summary; finish it with --resume first",
            Location(str(run.path)),
        )
    return ShownRun(
        name=run.path.resolve().name,
        manifest=manifest_to_json(run.manifest),
        summary=summary_to_json(run.summary),
        cases=run.cases,
        attributes=run.compared_attributes,
    )


def _with_intervals(shown: ShownRun, stored: StoredRun) -> ShownRun:
    """The run with intervals around its figures: those it was stored with, or computed now.

    That takes another reading of the cases; where there are many, intervals are narrow anyway.
    """
    summary = stored.summary
    if summary is None or summary.intervals or summary.cases.total > _DRAWN_FROM:
        return shown
    return replace(shown, summary=with_intervals(shown.summary, stored_intervals(stored)))


def _earlier(path: Path) -> list[Earlier]:
    """The runs before this one that it can be compared with, if it is kept where runs are kept."""
    path = path.resolve()
    if path.parent.name != ROOT:
        return []
    entries = [each for each in list_runs(path.parent) if each.status == "complete"]
    own = next((each for each in entries if each.id == path.name), None)
    if own is None:
        return []
    before = [
        each
        for each in entries
        if each.comparable == own.comparable and each.started_at < own.started_at
    ]
    return [
        Earlier(each.id, {} if summary is None else summary_to_json(summary))
        for each in before[-_EARLIER:]
        for summary in [open_run(path.parent / each.id).summary]
    ]
