"""Writes to the two standard streams.

`fieldmark score … | head` closes the pipe early. The rest of the output is then discarded, and the
exit code is the same as without a pipe: 1 would look like a failed gate. A full disk is an error.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Final, TextIO

from fieldmark.errors import StorageError

_ASCII: Final = str.maketrans(
    {
        "≥": ">=",
        "≤": "<=",
        "\N{EN DASH}": "-",
        "\N{MINUS SIGN}": "-",
        "·": ".",
        "…": "...",
        **dict.fromkeys("▏▎▍▌▋▊▉█", "#"),
    }
)


def write_stdout(text: str | bytes) -> None:
    """Write to standard output and flush it."""
    try:
        _write(text, sys.stdout)
    except OSError as error:
        raise output_error(error) from error


def output_error(error: OSError) -> StorageError:
    """Discard the rest of the output, and return the error."""
    _discard(sys.stdout)
    return StorageError(f"cannot write output: {error.strerror or error}")


def print_message(message: object, *, prefix: str = "") -> None:
    """Write each line of a message to standard error.

    Control characters are escaped, so text from files cannot control the terminal.
    """
    from fieldmark.values.escape import visible

    try:
        for line in str(message).split("\n"):
            _write(f"{prefix}{visible(line)}\n", sys.stderr)
    except OSError:
        # The exit code still reports the result.
        _discard(sys.stderr)


def _write(text: str | bytes, stream: TextIO | None) -> None:
    if stream is None:
        return  # closed by the caller
    try:
        if isinstance(text, bytes):
            stream.buffer.write(text)
        else:
            encoding = stream.encoding or "utf-8"
            try:
                text.encode(encoding, "surrogatepass")
            except UnicodeError:
                text = text.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
            stream.write(text)
        stream.flush()
    except OSError as error:
        # Windows has no error of its own for a pipe that was closed.
        closed = os.name == "nt" and error.errno == errno.EINVAL
        if not (closed or isinstance(error, BrokenPipeError)):
            raise
        _discard(stream)


def _discard(stream: TextIO) -> None:
    """Redirect a stream to the null device, so that flushing it at exit cannot fail."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
