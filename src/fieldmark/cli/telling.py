"""Writes to the two standard streams; a reader who has gone away is no error, a full disk is one.

`fieldmark score … | head` closes the pipe early. What is left to print is then dropped in silence,
and the exit code stays what the run earned: 1 would look like a failed gate.
"""

from __future__ import annotations

import os
import sys
from typing import Final, TextIO

from fieldmark.errors import StorageError

__all__ = ["finish", "put", "tell", "unwritten"]

_PLAIN: Final = str.maketrans(
    {
        "≥": ">=",
        "≤": "<=",
        "\N{EN DASH}": "-",
        "·": ".",
        "…": "...",
        **dict.fromkeys("▏▎▍▌▋▊▉█", "#"),
    }
)


def put(text: str | bytes) -> None:
    """Write to standard output."""
    try:
        _write(text, sys.stdout)
    except OSError as error:
        raise unwritten(error) from error


def finish() -> None:
    """Write what standard output still holds, while a failure can still be told."""
    put("")


def unwritten(error: OSError) -> StorageError:
    """What to say of output that could not be written; what is left of it is dropped."""
    silence(sys.stdout)
    return StorageError(f"cannot write the output: {error.strerror or error}")


def tell(what: object, *, prefix: str = "") -> None:
    """Write each line of a message to standard error, with control characters as escapes.

    So text from files cannot command the terminal.
    """
    from fieldmark.values.escape import visible

    try:
        for line in str(what).split("\n"):
            _write(f"{prefix}{visible(line)}\n", sys.stderr)
    except OSError:
        # There is no other place to say it; the exit code still does.
        silence(sys.stderr)


def _write(text: str | bytes, stream: TextIO | None) -> None:
    if stream is None:
        # Python has none where the caller closed it: nobody wants to read it.
        return
    try:
        if isinstance(text, bytes):
            stream.buffer.write(text)
        else:
            stream.write(_in_encoding_of(stream, text))
        stream.flush()
    except BrokenPipeError:
        silence(stream)


def _in_encoding_of(stream: TextIO, text: str) -> str:
    """The text with signs that a stream lacks written in plain letters."""
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding, "surrogatepass")
    except UnicodeError:
        return text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return text


def silence(stream: TextIO) -> None:
    """Let a stream lead nowhere, so that what it still holds cannot fail when the command ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
