"""`fieldmark validate`: check files without running anything."""

from __future__ import annotations

from typing import Final

import click

from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command
from fieldmark.cli.options import format_option
from fieldmark.cli.streams import print_message, write_stdout
from fieldmark.runs.eval_file import check_file
from fieldmark.values.escape import visible
from fieldmark.values.json_text import pretty_json

_FORMATS: Final = ("text", "json")


@make_command(
    examples=(
        "fieldmark validate invoices.eval.yaml",
        "fieldmark validate rules/*.yaml strategies.json",
        "fieldmark validate --format json invoices.eval.yaml",
    ),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT),
)
@click.argument("files", nargs=-1, required=True, type=click.Path())
@format_option(_FORMATS)
def command(files: tuple[str, ...], format: str) -> int:  # noqa: A002 - the name of the option
    """Check eval, rules and strategy FILES without running anything.

    Lists every problem with its location and a suggestion. Nothing is run, imported or fetched, so
    it is safe to check untrusted files.
    """
    reports = [check_file(file) for file in files]
    if format == "json":
        write_stdout(pretty_json([report.to_dict() for report in reports]))
    else:
        for report in reports:
            for problem in report.problems:
                print_message(problem)
            for warning in report.warnings:
                print_message(warning, prefix="warning: ")
            if report.valid:
                write_stdout(
                    f"{visible(report.file)}: valid {report.kind} file, {report.contents}\n"
                )
    return ExitCode.OK if all(report.valid for report in reports) else ExitCode.BAD_INPUT
