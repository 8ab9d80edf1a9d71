"""`fieldmark serve` and `mcp`: the web application, the HTTP API and tools for coding agents."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import Integer
from fieldmark.cli.streams import print_message
from fieldmark.errors import ConfigError, MissingExtra
from fieldmark.rules.rules_file import load_rules

_PORT: Final = 8321
_FILES: Final = "Files"
_NETWORK: Final = "Network"


@make_command(
    examples=(
        "fieldmark serve",
        "fieldmark serve --write --root data/",
        "fieldmark serve --pages scans/",
        "fieldmark serve --rules rules.yaml --port 9000 --no-browser",
    ),
)
@option(
    "--workspace",
    group=_FILES,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    show_default=False,
    metavar="DIR",
    help="Directory with runs/ and strategies.json.  [default: current directory]",
)
@option(
    "--write",
    group=_FILES,
    is_flag=True,
    help="Save runs, notes and strategies in the workspace.",
)
@option(
    "--root",
    group=_FILES,
    multiple=True,
    metavar="[NAME=]DIR",
    help="Let the batch page read files in this directory; by default it reads none.",
)
@option(
    "--pages",
    group=_FILES,
    multiple=True,
    metavar="[NAME=]DIR",
    help="Show page images and PDF files of this directory beside the fields of a case; they are "
    "named in metadata.pages or after the case id.",
)
@option(
    "--rules",
    group=_FILES,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Default rules of Evaluate, Batch and the Rules page, instead of strategies.json, the "
    "provider for semantic comparison, and the safety judge. A file with only a provider or a "
    "judge leaves the default rules to strategies.json.",
)
@option(
    "--host",
    group=_NETWORK,
    default="127.0.0.1",
    metavar="ADDRESS",
    help="Address to listen on.",
)
@option(
    "--port",
    group=_NETWORK,
    type=Integer(0, 65535),
    default=_PORT,
    metavar="PORT",
    help="Port to listen on; 0 selects a free port.",
)
@option(
    "--allow-host",
    group=_NETWORK,
    multiple=True,
    metavar="HOST",
    help="Accept requests for this host name.",
)
@option(
    "--accept-remote",
    group=_NETWORK,
    is_flag=True,
    help="Allow unencrypted connections from other machines.",
)
@option(
    "--browser/--no-browser",
    group=_NETWORK,
    default=True,
    help="Open the application in a browser.",
)
def serve_command(
    *,
    workspace: Path,
    root: tuple[str, ...],
    pages: tuple[str, ...],
    write: bool,
    rules: Path | None,
    host: str,
    port: int,
    allow_host: tuple[str, ...],
    accept_remote: bool,
    browser: bool,
) -> None:
    """Start the web application and HTTP API.

    The printed address contains an access token; do not share it. Without --write, runs are
    temporary and are deleted when the server stops.
    """
    try:
        from fieldmark.web.routes.strategies import load_default_rules
        from fieldmark.web.server_options import Models, ServerOptions
        from fieldmark.web.serving import listen, serve
    except ImportError as error:
        raise MissingExtra("fieldmark serve", "server") from error
    loaded = None if rules is None else load_rules(rules)
    models = Models() if loaded is None else Models(loaded.provider, loaded.safety_judge)
    default_rules = None if rules is None else load_default_rules(rules, models)
    options = ServerOptions(
        workspace=workspace.resolve(),
        roots=_parse_roots(root),
        pages=_parse_roots(pages, "--pages"),
        write=write,
        hosts=frozenset(allow_host),
        rules=default_rules,
        rules_file="" if rules is None or default_rules is None else rules.name,
        provider=models.provider,
        safety=models.safety,
    )
    listener = listen(options, host=host, port=port, acknowledged=accept_remote)
    serve(options, listener, announce=print_message, browser=browser)


def _parse_roots(arguments: tuple[str, ...], option: str = "--root") -> dict[str, Path]:
    """Parse `[NAME=]DIR` strings; the default name is the name of the directory."""
    roots: dict[str, Path] = {}
    for text in arguments:
        name, _, directory = text.rpartition("=")
        path = Path(directory).resolve()
        if not path.is_dir():
            raise ConfigError.of(f"{option}: directory {directory!r} not found")
        name = name or path.name
        if name in roots:
            hint = f"use another name: {option} other={directory}"
            raise ConfigError.of(f"{option}: duplicate name {name!r}", hint=hint)
        roots[name] = path
    return roots


@make_command(
    examples=(
        "fieldmark mcp",
        "fieldmark mcp --root invoices/ --root runs/",
        "fieldmark mcp --root invoices/ --write",
    ),
    exit_codes=(ExitCode.INTERRUPTED,),
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
def mcp_command(*, roots: tuple[Path, ...], write: bool) -> None:
    """Serve tools to coding agents over standard input and output (MCP).

    The tools are score, show, diff, improve and infer. They read only files below the
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
