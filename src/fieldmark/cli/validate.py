"""`fieldmark validate`: check files without running anything."""

from __future__ import annotations

from typing import Final

import click

from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.options import SuggestingChoice
from fieldmark.cli.output import print_message, write_stdout
from fieldmark.config.validation import check_file
from fieldmark.values.escape import visible
from fieldmark.values.json_text import pretty_json

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark validate invoices.eval.yaml
  fieldmark validate rules/*.yaml strategies.json
  fieldmark validate --format json invoices.eval.yaml
"""
_FORMATS: Final = ("text", "json")


@click.command(epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option(
    "--format",
    "form",
    type=SuggestingChoice(_FORMATS),
    default=_FORMATS[0],
    show_default=True,
    help="What to print.",
)
def command(files: tuple[str, ...], form: str) -> int:
    """Check eval, rules and strategy FILES: every problem with its place and the nearest word.

    Nothing is run and no file is read that does not lie beside a file or below it, so it is safe
    on files from elsewhere.
    """
    checked = [check_file(file) for file in files]
    if form == "json":
        write_stdout(pretty_json([each.to_dict() for each in checked]))
    else:
        for each in checked:
            for problem in each.problems:
                print_message(problem)
            for warning in each.warnings:
                print_message(warning, prefix="warning: ")
            if each.fine:
                write_stdout(f"{visible(each.file)}: fine, {each.contents}\n")
    return ExitCode.OK if all(each.fine for each in checked) else ExitCode.BAD_INPUT
