"""`fieldmark mcp`: tools for coding agents, over the Model Context Protocol."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.streams import print_message
from fieldmark.errors import MissingExtra


@make_command(
    examples=(
        "fieldmark mcp",
        "fieldmark mcp --root invoices/ --root runs/",
        "fieldmark mcp --root invoices/ --write",
    ),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT, ExitCode.INTERRUPTED),
)
@option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Let the tools read files in this directory; can be repeated. Relative paths are relative "
    "to the first.  [default: current directory]",
)
@option(
    "--write",
    is_flag=True,
    help="Let the tool score save runs, in runs/ below the first root.",
)
def command(*, roots: tuple[Path, ...], write: bool) -> None:
    """Serve tools to coding agents over standard input and output (MCP).

    The tools are score, show, explain, diff, improve and infer. They read only files below the
    roots, run no code and no models that rules name, and write nothing without --write. The agent
    starts this command: docs/mcp.md shows its configuration.
    """
    try:
        from fieldmark.mcp.serving import serve
    except ImportError as error:
        raise MissingExtra("fieldmark mcp", "mcp") from error
    if sys.stdin is not None and sys.stdin.isatty():
        print_message("waiting for requests of an MCP client; press Ctrl+C to stop")
    try:
        serve([root.resolve() for root in roots] or [Path.cwd()], write=write)
    except KeyboardInterrupt:
        print_message("fieldmark: interrupted")
        # A thread waits for the next line of standard input, and the exit would wait for it.
        os._exit(ExitCode.INTERRUPTED)
