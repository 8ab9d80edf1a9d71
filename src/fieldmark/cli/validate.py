"""`fieldmark validate`: what is wrong with a rules file, all of it, without running anything."""

from __future__ import annotations

import click

from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.telling import put, tell
from fieldmark.config.rules_file import load_rules
from fieldmark.errors import FieldmarkError
from fieldmark.report.escape import visible

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark validate rules.yaml
  fieldmark validate rules/*.yaml strategies.json
"""


@click.command(epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, type=click.Path())
def command(files: tuple[str, ...]) -> int:
    """Check rules and strategy FILES: every problem with its line and the nearest valid word.

    Nothing is run and nothing but the files is read, so it is safe on files from elsewhere.
    """
    code = ExitCode.OK
    for file in files:
        try:
            loaded = load_rules(file)
        except FieldmarkError as error:
            tell(error)
            code = ExitCode.BAD_INPUT
        else:
            for warning in loaded.warnings:
                tell(warning, prefix="warning: ")
            put(f"{visible(file)}: fine, {len(loaded.rules.fields)} rule(s)\n")
    return code
