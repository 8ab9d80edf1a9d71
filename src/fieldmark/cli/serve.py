"""`fieldmark serve`: the web application and the HTTP API on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.output import print_message
from fieldmark.config.rules_file import load_rules
from fieldmark.errors import ConfigError, MissingExtra

__all__ = ["command"]

_EPILOG = """\b
Examples:
  fieldmark serve
  fieldmark serve --write --root data/
  fieldmark serve --rules rules.yaml --port 9000 --no-browser

\b
The address that is printed holds the key to the application: keep it to yourself.
Exit codes: 0 stopped, 2 bad usage.
"""
_PORT: Final = 8321


@click.command(epilog=_EPILOG)
@click.option(
    "--workspace",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    metavar="DIR",
    help="Holds the folder runs and the file strategies.json; the current folder if left out.",
)
@click.option(
    "--root",
    multiple=True,
    metavar="[NAME=]DIR",
    help="A folder whose files the batch page may read; no other file can be named there.",
)
@click.option("--write", is_flag=True, help="Keep runs, notes and strategies in the workspace.")
@click.option(
    "--rules",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="A rules file whose provider judges meaning; requests cannot name one.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="The port; 0 takes any that is free.",
)
@click.option("--allow-host", multiple=True, metavar="NAME", help="Another host name to answer to.")
@click.option(
    "--accept-remote",
    is_flag=True,
    help="Let other machines in, over a connection that is not encrypted.",
)
@click.option("--browser/--no-browser", default=True, help="Open the application in the browser.")
def command(
    *,
    workspace: Path,
    root: tuple[str, ...],
    write: bool,
    rules: Path | None,
    host: str,
    port: int,
    allow_host: tuple[str, ...],
    accept_remote: bool,
    browser: bool,
) -> int:
    """Serve the web application and the HTTP API on this machine.

    Nothing is written unless --write is given: runs then last as long as the server.
    """
    try:
        from fieldmark.server.options import ServerOptions
        from fieldmark.server.serving import listen, serve
    except ImportError as error:
        raise MissingExtra("fieldmark serve", "server") from error
    options = ServerOptions(
        workspace=workspace.resolve(),
        roots=_parse_roots(root),
        write=write,
        hosts=frozenset(allow_host),
        provider=None if rules is None else load_rules(rules).provider,
    )
    listener = listen(options, host=host, port=port, acknowledged=accept_remote)
    serve(options, listener, announce=print_message, browser=browser)
    return ExitCode.OK


def _parse_roots(given: tuple[str, ...]) -> dict[str, Path]:
    """Parse the folders by the names that paths begin with."""
    roots: dict[str, Path] = {}
    for text in given:
        name, _, rest = text.rpartition("=")
        path = Path(rest).resolve()
        if not path.is_dir():
            raise ConfigError.of(f"--root {text}: there is no such folder.")
        name = name or path.name
        if name in roots:
            hint = f"Give one of them another name: --root other={rest}"
            raise ConfigError.of(f"Two roots are called {name}.", hint=hint)
        roots[name] = path
    return roots
