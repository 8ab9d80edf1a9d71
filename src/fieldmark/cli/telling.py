"""Writes to the two standard streams; a reader who has gone away is no error.

`fieldmark score … | head` closes the pipe early. What is left to print is then dropped in silence,
and the exit code stays what the run earned: 1 would look like a failed gate.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO

__all__ = ["put", "tell"]


def put(text: str | bytes) -> None:
    """Write to standard output."""
    _write(text, sys.stdout)


def tell(what: object, *, prefix: str = "") -> None:
    """Write each line of a message to standard error, with control characters as escapes.

    So text from files cannot command the terminal.
    """
    from fieldmark.report.escape import visible

    for line in str(what).split("\n"):
        _write(f"{prefix}{visible(line)}\n", sys.stderr)


def _write(text: str | bytes, stream: TextIO) -> None:
    try:
        if isinstance(text, bytes):
            stream.buffer.write(text)
        else:
            stream.write(text)
        stream.flush()
    except BrokenPipeError:
        silence(stream)


def silence(stream: TextIO) -> None:
    """Let a stream lead nowhere, so that what it still holds cannot fail when the command ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
