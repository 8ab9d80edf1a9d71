"""`fieldmark doctor`: check the installation."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.api.doctor import doctor
from fieldmark.cli.defaults import Defaults
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import format_option
from fieldmark.cli.output import print_message, write_stdout
from fieldmark.errors import ConfigError
from fieldmark.values.escape import visible
from fieldmark.values.json_text import pretty_json
from fieldmark.wire.checks import Check, CheckStatus

__all__ = ["command"]


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
@format_option(("text", "json"))
def command(*, eval_file: Path | None, format: str) -> ExitCode:  # noqa: A002 - the name of the option
    """Check the installation, and say how to fix what is missing.

    Shows versions, the compiled kernel, optional features with the command that installs them,
    plug-ins, the run directory, the terminal, and the file with defaults of options. The exit code
    is 2 if something does not work; optional features may be missing.
    """
    checks = [*doctor(eval_file=eval_file), _defaults()]
    failed = [check for check in checks if check.status is CheckStatus.ERROR]
    if format == "json":
        write_stdout(pretty_json({"checks": [check.to_dict() for check in checks]}))
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            fix = f"; {check.fix}" if check.fix else ""
            status = f"{check.status:<8}"
            write_stdout(f"{status}{check.name:<{width}}  {visible(f'{check.found}{fix}')}\n")
    for check in failed if format == "json" else ():
        print_message(f"fieldmark: {check.name}: {check.found}")
    return ExitCode.BAD_INPUT if failed else ExitCode.OK


def _defaults() -> Check:
    """Check the file with defaults of options that applies here."""
    from fieldmark.cli.main import load_command

    defaults = Defaults(load_command)
    try:
        defaults.check()
    except ConfigError as error:
        return Check(name="defaults", status=CheckStatus.ERROR, found=str(error), fix="edit it")
    file = defaults.file or "no fieldmark.toml, and no [tool.fieldmark] in pyproject.toml"
    return Check(name="defaults", status=CheckStatus.OK, found=file)
