"""`fieldmark import`: convert eval files of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from fieldmark.cli.help import HelpGroup
from fieldmark.cli.options import force_option, out_option
from fieldmark.cli.output import check_overwrite, write_file_or_stdout
from fieldmark.cli.streams import print_message
from fieldmark.rules.agentv import import_agentv
from fieldmark.values.text import plural

_EXAMPLES: Final = (
    "fieldmark import agentv invoices.eval.yaml > invoices.yaml",
    "fieldmark import agentv evals/dataset.yaml --out invoices.yaml",
    "fieldmark eval invoices.yaml",
)


@click.group(cls=HelpGroup, examples=_EXAMPLES)
def command() -> None:
    """Convert eval files of other tools to fieldmark eval files."""


@command.command(examples=_EXAMPLES)
@click.argument("file", type=click.Path())
@out_option("Write the eval file to FILE instead of standard output.", "FILE")
@force_option
def agentv(file: str, *, out: Path | None, force: bool) -> None:
    """Convert an AgentV eval FILE.

    The resulting eval file gives the same results. Documents that the cases refer to are
    included; comments are dropped. `fieldmark eval` also runs AgentV files without conversion.
    """
    check_overwrite(out, force=force)
    imported = import_agentv(file)
    for warning in imported.warnings:
        print_message(warning, prefix="warning: ")
    write_file_or_stdout(imported.text, out, plural(imported.cases, "case"))
