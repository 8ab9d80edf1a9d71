"""Opening what a path names: regular files only, compressed or not, and standard input."""

from __future__ import annotations

import io
import os
import stat
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

from fieldmark.data.packed import is_packed, unpacked
from fieldmark.errors import DataError, Location, MissingExtra

__all__ = [
    "STDIN",
    "Opened",
    "keep",
    "open_file",
    "open_stdin",
    "read_whole",
    "spill",
    "suffix_of",
    "unreadable",
]

STDIN: Final = "-"
_IN_MEMORY: Final = 16 << 20
_PIECE: Final = 1 << 20
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Without blocking, so that a pipe that nobody writes to is seen to be one."""


@dataclass(slots=True)
class Opened:
    """A stream of plain bytes, and the file below it whose position tells the progress."""

    name: str
    stream: IO[bytes]
    file: IO[bytes]
    size: int
    seekable: bool

    @property
    def position(self) -> int:
        """How far the file has been read."""
        return self.file.tell()

    def close(self) -> None:
        """Give the file back."""
        self.stream.close()
        self.file.close()


def suffix_of(path: Path) -> str:
    """The suffix that tells the format, looking through those of packed files."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if is_packed(path):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def open_file(path: Path, *, follow: bool = True) -> Opened:
    """A regular file for reading; anything else is refused without waiting for it."""
    name = str(path)
    nofollow = 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    try:
        number = os.open(path, _FLAGS | nofollow)
    except FileNotFoundError:
        raise DataError("no such file; check the path", Location(name)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"cannot be opened: {reason}", Location(name)) from None
    state = os.fstat(number)
    if not stat.S_ISREG(state.st_mode):
        os.close(number)
        raise DataError(
            'not a regular file; pipe it in and say "-" for standard input', Location(name)
        )
    file = os.fdopen(number, "rb")
    if is_packed(path):
        try:
            stream = unpacked(path, file)
        except MissingExtra:
            file.close()
            raise
        return Opened(name, stream, file, state.st_size, seekable=False)
    return Opened(name, file, file, state.st_size, seekable=True)


def open_stdin() -> Opened:
    """Standard input, kept so that it can be read out of order."""
    return keep(sys.stdin.buffer, "standard input")


def keep(given: object, name: str) -> Opened:
    """What is left to read of an open file, text or bytes, in a nameless temporary file."""
    source = cast("IO[str] | IO[bytes]", given)
    kept = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - lives as long as the rows
    called = getattr(given, "name", None)
    name = called if isinstance(called, str) and not called.startswith("<") else name
    try:
        while part := source.read(_PIECE):
            kept.write(part.encode(errors="surrogatepass") if isinstance(part, str) else part)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        kept.close()
        raise unreadable(name, error) from None
    size = kept.tell()
    kept.seek(0)
    stream: IO[bytes] = kept
    return Opened(name, stream, stream, size, seekable=True)


def spill() -> IO[bytes]:
    """A nameless temporary file, gone when it is closed."""
    return tempfile.TemporaryFile()


def read_whole(opened: Opened, limit: int) -> bytes:
    """All bytes of one document, and one more than `limit` at most."""
    parts = io.BytesIO()
    try:
        while parts.tell() <= limit:
            part = opened.stream.read(min(1 << 20, limit + 1 - parts.tell()))
            if not part:
                break
            parts.write(part)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(opened.name, error) from None
    return parts.getvalue()


def unreadable(name: str, error: Exception) -> DataError:
    """The error for a file that fails while it is read, such as one cut short by compression."""
    return DataError(f"cannot be read: {error}", Location(name))
