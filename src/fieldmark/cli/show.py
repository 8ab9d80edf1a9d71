"""Prints a run in the form that was asked for."""

from __future__ import annotations

import io
import os
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from fieldmark.cli.telling import put, tell
from fieldmark.values.json_text import pretty_json

if TYPE_CHECKING:
    from fieldmark.api.run_result import RunResult

__all__ = ["Format", "has_color", "show_run"]


class Format(StrEnum):
    """What can be printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


def show_run(
    run: RunResult, *, form: Format, top: int = 0, quiet: bool = False, color: bool = True
) -> None:
    """Print a run on standard output; where it is kept goes to standard error.

    Quiet means no table and no remarks; a form for machines that was asked for is printed.

    What makes the command fail is always told: by the table and by Markdown themselves, else on
    standard error.
    """
    shown = top or None
    for gate in run.summary.gates:
        if not gate.known:
            tell(f"fieldmark: --{gate.kind}: {gate.note}")
    if form in (Format.JSON, Format.CSV) or (quiet and form is Format.TABLE):
        _failures(run)
    if form is Format.JSON:
        put(pretty_json(run.to_dict()))
    elif form is Format.CSV:
        from fieldmark.report.text_tables import csv_table

        put(csv_table(run.summary).encode())
    elif form is Format.MARKDOWN:
        from fieldmark.report.text_tables import markdown_summary

        put(markdown_summary(run.summary, top=shown).encode())
    elif not quiet:
        _table(run, shown, color=color)
    if run.path is not None and not quiet:
        tell(f"run saved in {run.path}")


def has_color(*, wanted: bool) -> bool:
    """Whether output may be styled: the variable NO_COLOR forbids it, whatever it holds."""
    return wanted and not os.environ.get("NO_COLOR")


def _table(run: RunResult, top: int | None, *, color: bool) -> None:
    from rich.console import Console

    from fieldmark.report.terminal import run_view

    # Without a colour system nothing is styled at all, neither bold nor dim.
    system: Literal["auto"] | None = "auto" if has_color(wanted=color) else None
    console = Console(color_system=system, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = 120
    # Size and colour are those of standard output, but `put` alone writes there: it knows how
    # to fail.
    console.file = text = io.StringIO()
    console.print(run_view(run.summary, run.notes, top=top), crop=False)
    put(text.getvalue())


def _failures(run: RunResult) -> None:
    from fieldmark.report.tables import gate_text

    cases = run.summary.cases
    if cases.invalid_truth or cases.errors:
        for warning in run.summary.warnings:
            tell(warning, prefix="fieldmark: ")
    for gate in run.summary.gates:
        if gate.known and not gate.passed:
            tell(f"fieldmark: gate failed: {gate_text(gate)}")
