"""`fieldmark doctor`: check the installation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from fieldmark.analyses.doctor import Check, CheckStatus, doctor
from fieldmark.cli.defaults import Defaults
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.main import load_command
from fieldmark.cli.options import output_options
from fieldmark.cli.output import OutputOptions, print_document
from fieldmark.cli.streams import print_message
from fieldmark.errors import ConfigError


@make_command(
    examples=(
        "fieldmark doctor",
        "fieldmark doctor --format json",
        "fieldmark doctor --eval invoices.eval.yaml",
    ),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT),
)
@option(
    "--eval",
    "eval_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Check the judges, models and targets of an eval file too; may contact their endpoints.",
)
@output_options
def command(*, eval_file: Path | None, output: OutputOptions) -> ExitCode:
    """Check the installation, and say how to fix each problem.

    Shows versions, the compiled kernel, optional features with the command that installs them,
    plug-ins, the run directory, the terminal, and the file with defaults of options. The exit code
    is 2 if something does not work; optional features may be missing.
    """
    found = doctor(eval_file=eval_file)
    found = replace(found, checks=(*found.checks, _defaults()))
    print_document(found, output)
    for check in found.failed if output.hides_failures else ():
        print_message(f"fieldmark: {check.name}: {check.found}")
    return ExitCode.BAD_INPUT if found.failed else ExitCode.OK


def _defaults() -> Check:
    """Check the file with defaults of options that applies here."""
    defaults = Defaults(load_command)
    try:
        defaults.check()
    except ConfigError as error:
        return Check(name="defaults", status=CheckStatus.ERROR, found=str(error), fix="edit it")
    file = defaults.file or "no fieldmark.toml, and no [tool.fieldmark] in pyproject.toml"
    return Check(name="defaults", status=CheckStatus.OK, found=file)
