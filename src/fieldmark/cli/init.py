"""`fieldmark init`: create a starter project."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fieldmark.analyses.starter import create_starter, starter_files
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.streams import print_message, write_stdout
from fieldmark.values.escape import visible


@make_command(
    examples=("fieldmark init", "fieldmark init invoices --yes"),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT, ExitCode.STORAGE),
)
@click.argument("directory", metavar="[DIR]", default="", type=click.Path(path_type=Path))
@option("--yes", "-y", is_flag=True, help="Ask nothing.")
def command(directory: Path, *, yes: bool) -> None:
    """Create a starter project in DIR, by default the current directory.

    The project has ground truth, predictions, rules, an eval file whose gate passes, defaults of
    options and a workflow for continuous integration. No file is overwritten.
    """
    planned = starter_files(directory)
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("standard input is not a terminal; use --yes")
        for path in planned:
            print_message(path)
        click.confirm(f"create these {len(planned)} files?", default=True, abort=True, err=True)
    for path in create_starter(directory):
        write_stdout(f"{visible(str(path))}\n")
    change = f"cd {directory} && " if str(directory) not in ("", ".") else ""
    print_message(f"next: {change}fieldmark eval invoices.eval.yaml")
