"""A stored run as a file for people or for other tools."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from fieldmark.api.recount import stored_intervals, stored_run
from fieldmark.api.runs import ROOT
from fieldmark.errors import ConfigError, DataError, Location
from fieldmark.report.html.cases import ReportLimits
from fieldmark.report.html.figures import EarlierRun
from fieldmark.report.html.page import page
from fieldmark.report.html.view import view_of
from fieldmark.report.shown_run import ShownRun
from fieldmark.run.gc_tuning import relaxed_gc
from fieldmark.store.disk import write_atomic
from fieldmark.store.run_index import list_runs
from fieldmark.store.run_reader import StoredRun, open_run
from fieldmark.values.text import did_you_mean

__all__ = ["KINDS", "file_name", "html_report", "write_report"]

HTML: Final = "html"
_MOST_CASES_FOR_INTERVALS: Final = 2_000
"""Intervals take another reading of the cases; where there are more, they are narrow anyway."""
_EARLIER_RUNS: Final = 11
"""Runs before this one whose figures are drawn as a trend."""


class _Export(NamedTuple):
    """One kind of file: its name in the folder of the run, and the function that writes it."""

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
"""Every other kind, with its module below `report/exports`, which is loaded when it is used."""

KINDS: Final = (HTML, *_EXPORTS)


def file_name(kind: str) -> str:
    """The name of a kind of report in the folder of its run.

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
    """Write a report of a run to a file, or into the folder of the run; return its path.

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
    getattr(module, export.function)(_shown_run(stored_run(run), values=values), place)
    return place


def html_report(
    run: Path | str,
    *,
    against: Path | str | None = None,
    values: bool = True,
    limits: ReportLimits | None = None,
) -> bytes:
    """The report of a run as one self-contained page; with another run, a comparison."""
    stored = stored_run(run)
    shown = _shown_run(stored, values=values)
    if shown.summary.intervals is None and shown.summary.cases.total <= _MOST_CASES_FOR_INTERVALS:
        summary = replace(shown.summary, intervals=stored_intervals(stored))
        shown = replace(shown, summary=summary)
    other = None if against is None else _shown_run(stored_run(against), values=values)
    with relaxed_gc():
        return page(view_of(shown, other, earlier=_earlier_runs(Path(run)), limits=limits))


def _shown_run(run: StoredRun, *, values: bool) -> ShownRun:
    if run.summary is None:
        raise DataError(
            f"the run is {run.status} and has no summary; finish it with --resume first",
            Location(str(run.path)),
        )
    shown = ShownRun(
        name=run.path.resolve().name,
        manifest=run.manifest,
        summary=run.summary,
        cases=run.cases,
        attributes=run.compared_attributes,
    )
    return shown if values else shown.without_values()


def _earlier_runs(path: Path) -> list[EarlierRun]:
    """The comparable runs before this one, if it is in a folder of runs."""
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
        EarlierRun(each.id, open_run(path.parent / each.id).summary)
        for each in before[-_EARLIER_RUNS:]
    ]
