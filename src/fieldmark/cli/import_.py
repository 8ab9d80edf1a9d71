"""`fieldmark import`: convert files of other tools to the native form."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.cli.options import force_option, out_option
from fieldmark.cli.output import check_overwrite, print_message, write_file, write_stdout

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark import agentv invoices.eval.yaml > invoices.yaml
  fieldmark import agentv evals/dataset.yaml --out invoices.yaml
  fieldmark eval invoices.yaml
"""


@click.group(epilog=_EPILOG)
def command() -> None:
    """Write the native form of another tool's file."""


@command.command(epilog=_EPILOG)
@click.argument("file", type=click.Path())
@out_option("Write the eval file there instead of printing it.", "FILE")
@force_option
def agentv(file: str, *, out: Path | None, force: bool) -> int:
    """Write AgentV's eval FILE as a native eval file that gives the same results.

    The documents that its cases name are put inside; comments are not kept. AgentV's files run as
    they are, too: `fieldmark eval FILE`.
    """
    from fieldmark.config.agentv.native import import_agentv

    check_overwrite(out, force=force)
    imported = import_agentv(file)
    for warning in imported.warnings:
        print_message(warning, prefix="warning: ")
    if out is None:
        write_stdout(imported.text.encode())
    else:
        write_file(out, imported.text)
        cases = "1 case" if imported.cases == 1 else f"{imported.cases} cases"
        print_message(f"{cases} written to {out}")
    return 0
