"""`fieldmark report`: write a report of a run."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from fieldmark.api.report import KINDS, file_name, write_report
from fieldmark.api.runs import find_run
from fieldmark.cli.options import SuggestingChoice, values_option
from fieldmark.cli.output import print_message, write_stdout
from fieldmark.errors import DataError, Location

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark report runs/latest
  fieldmark report runs/new --against runs/old --out comparison.html
  fieldmark report runs/latest --as junit
  fieldmark report runs/latest --as markdown --out -
"""
_STDOUT = "-"


@click.command(epilog=_EPILOG)
@click.argument("run")
@click.option(
    "--as",
    "kind",
    type=SuggestingChoice(KINDS),
    default="html",
    show_default=True,
    help="What to write.",
)
@click.option(
    "--out",
    metavar="FILE",
    help="Where to write it; - prints it.  [default: a file in the folder of the run]",
)
@click.option("--against", metavar="RUN", help="An earlier run: what has changed comes first.")
@values_option("Leave the values of documents out: paths and scores only.")
def command(run: str, *, kind: str, out: str | None, against: str | None, values: bool) -> int:
    """Write a report of RUN: one HTML file that needs nothing else, or another kind.

    RUN is the folder of a run, or its name in runs/: its id, how that begins, a tag, or `latest`.
    """
    folder = find_run(run)
    other = None if against is None else find_run(against)
    if out == _STDOUT:
        # The report is complete before any of it is printed.
        with tempfile.TemporaryDirectory() as temporary:
            place = Path(temporary) / file_name(kind)
            write_report(folder, place, kind=kind, against=other, values=values)
            try:
                content = place.read_bytes()
            except OSError as error:
                message = f"cannot be read: {error.strerror}"
                raise DataError(message, Location(str(place))) from error
        write_stdout(content)
        return 0
    place = write_report(folder, out, kind=kind, against=other, values=values)
    print_message(f"report written to {place}")
    return 0
