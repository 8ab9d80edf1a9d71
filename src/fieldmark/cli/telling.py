"""Says on standard error what is wrong; text from files cannot command the terminal."""

from __future__ import annotations

import click

__all__ = ["tell"]


def tell(what: object, *, prefix: str = "") -> None:
    """Write each line of a message, with control characters shown as escapes."""
    from fieldmark.report.escape import visible

    for line in str(what).split("\n"):
        click.echo(f"{prefix}{visible(line)}", err=True)
