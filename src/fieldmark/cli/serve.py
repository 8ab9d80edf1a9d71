"""`fieldmark serve`: the web application and the HTTP API on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

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
    "provider for semantic comparison, and the safety judge.",
)
@option(
    "--host",
    group=_NETWORK,
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on.",
)
@option(
    "--port",
    group=_NETWORK,
    type=Integer(0, 65535),
    default=_PORT,
    show_default=True,
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
def command(
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
    options = ServerOptions(
        workspace=workspace.resolve(),
        roots=_parse_roots(root),
        pages=_parse_roots(pages, "--pages"),
        write=write,
        hosts=frozenset(allow_host),
        rules=None if rules is None else load_default_rules(rules, models),
        rules_file="" if rules is None else rules.name,
        provider=models.provider,
        safety=models.safety,
    )
    listener = listen(options, host=host, port=port, acknowledged=accept_remote)
    serve(options, listener, announce=print_message, browser=browser)


def _parse_roots(given: tuple[str, ...], option: str = "--root") -> dict[str, Path]:
    """Parse `[NAME=]DIR` strings; the name defaults to that of the directory."""
    roots: dict[str, Path] = {}
    for text in given:
        name, _, rest = text.rpartition("=")
        path = Path(rest).resolve()
        if not path.is_dir():
            raise ConfigError.of(f"{option}: directory {rest!r} not found")
        name = name or path.name
        if name in roots:
            hint = f"use another name: {option} other={rest}"
            raise ConfigError.of(f"{option}: duplicate name {name!r}", hint=hint)
        roots[name] = path
    return roots
