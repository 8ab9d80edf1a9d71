"""`fieldmark import`: files of other tools in the native form."""

from __future__ import annotations

from pathlib import Path

import click

from fieldmark.cli.telling import put, tell
from fieldmark.errors import ConfigError, StorageError

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
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the eval file there instead of printing it.",
)
@click.option("--force", is_flag=True, help="Let --out write over a file that exists.")
def agentv(file: str, *, out: Path | None, force: bool) -> int:
    """Write AgentV's eval FILE as a native eval file that gives the same results.

    The documents that its cases name are put inside; comments are not kept. AgentV's files run as
    they are, too: `fieldmark eval FILE`.
    """
    from fieldmark.config.agentv.native import import_agentv

    if out is not None and out.exists() and not force:
        raise ConfigError.of(
            f"{out} exists already. Name a new file, or write over it with --force."
        )
    imported = import_agentv(file)
    for warning in imported.warnings:
        tell(warning, prefix="warning: ")
    if out is None:
        put(imported.text.encode())
        return 0
    try:
        out.write_text(imported.text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write {out}: {error.strerror}") from error
    cases = "1 case" if imported.cases == 1 else f"{imported.cases} cases"
    tell(f"{cases} written to {out}")
    return 0
