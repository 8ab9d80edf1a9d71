"""Prints a run in the form that was asked for."""

from __future__ import annotations

import os
import sys
from enum import StrEnum

import click
import orjson

from fieldmark.api.run_result import RunResult

__all__ = ["Format", "show_run"]


class Format(StrEnum):
    """What can be printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


def show_run(
    run: RunResult, *, form: Format, top: int = 0, quiet: bool = False, color: bool = True
) -> None:
    """Print a run on standard output; where it is kept goes to standard error."""
    shown = top or None
    if quiet:
        _failed_gates(run)
    elif form is Format.JSON:
        _bytes(orjson.dumps(run.to_dict(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    elif form is Format.CSV:
        from fieldmark.report.text_tables import csv_table

        _bytes(csv_table(run.summary).encode())
    elif form is Format.MARKDOWN:
        from fieldmark.report.text_tables import markdown_summary

        _bytes(markdown_summary(run.summary, top=shown).encode())
    else:
        _table(run, shown, color=color)
    if run.path is not None and not quiet:
        click.echo(f"run saved in {run.path}", err=True)


def _table(run: RunResult, top: int | None, *, color: bool) -> None:
    from rich.console import Console

    from fieldmark.report.terminal import run_view

    plain = not color or bool(os.environ.get("NO_COLOR"))
    console = Console(no_color=plain, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = 120
    console.print(run_view(run.summary, run.notes, top=top))


def _failed_gates(run: RunResult) -> None:
    for gate in run.summary.gates:
        if not gate.passed:
            value = "undefined" if gate.value is None else gate.value
            click.echo(f"gate failed: {gate.name} = {value}, {gate.kind} {gate.limit:g}", err=True)


def _bytes(text: bytes) -> None:
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
