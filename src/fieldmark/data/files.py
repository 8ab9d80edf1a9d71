"""Open what a path names: regular files only, compressed or not, and standard input."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

from fieldmark.errors import DataError, Location, MissingExtra

__all__ = [
    "STDIN",
    "InputFile",
    "buffer_stream",
    "format_suffix",
    "is_compressed",
    "is_stream",
    "open_file",
    "open_stdin",
    "read_error",
    "read_whole",
    "temporary_file",
]


STDIN: Final = "-"
_MAX_IN_MEMORY: Final = 16 << 20
_CHUNK_BYTES: Final = 1 << 20
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Without blocking, so that a pipe without a writer is recognized as one."""


@dataclass(slots=True)
class InputFile:
    """A stream of plain bytes, and the file below it whose position shows the progress."""

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
        """Close the stream and the file."""
        self.stream.close()
        self.file.close()


def _zstd(file: IO[bytes]) -> IO[bytes]:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("reading zstd", "tables") from error
    source = pa.PythonFile(file, mode="r")
    return cast("IO[bytes]", pa.CompressedInputStream(source, "zstd"))


_DECOMPRESSORS: Final[Mapping[str, Callable[[IO[bytes]], IO[bytes]]]] = {
    ".gz": lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file)),
    ".zst": _zstd,
}
"""By suffix; a damaged file fails while it is read."""


def is_compressed(path: Path) -> bool:
    """Whether the suffix of a file says that it is compressed."""
    return path.suffix.lower() in _DECOMPRESSORS


def format_suffix(path: Path) -> str:
    """The suffix that tells the format, below that of a compressed file."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if is_compressed(path):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def open_file(path: Path, *, follow: bool = True) -> InputFile:
    """Open a regular file for reading; anything else is refused without waiting for it."""
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
    if is_compressed(path):
        try:
            stream = _DECOMPRESSORS[path.suffix.lower()](file)
        except MissingExtra:
            file.close()
            raise
        return InputFile(name, stream, file, state.st_size, seekable=False)
    return InputFile(name, file, file, state.st_size, seekable=True)


def open_stdin() -> InputFile:
    """Standard input, buffered so that it can be read out of order."""
    return buffer_stream(sys.stdin.buffer, "standard input")


def is_stream(given: object) -> bool:
    """Whether an argument is an open file."""
    return callable(getattr(given, "read", None))


def buffer_stream(given: object, name: str) -> InputFile:
    """Copy the rest of an open file, text or bytes, to a nameless temporary file."""
    source = cast("IO[str] | IO[bytes]", given)
    kept = tempfile.SpooledTemporaryFile(max_size=_MAX_IN_MEMORY)  # noqa: SIM115 - lives as long as the rows
    called = getattr(given, "name", None)
    name = called if isinstance(called, str) and not called.startswith("<") else name
    try:
        while part := source.read(_CHUNK_BYTES):
            kept.write(part.encode(errors="surrogatepass") if isinstance(part, str) else part)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        kept.close()
        raise read_error(name, error) from None
    size = kept.tell()
    kept.seek(0)
    stream: IO[bytes] = kept
    return InputFile(name, stream, stream, size, seekable=True)


def temporary_file() -> IO[bytes]:
    """A nameless temporary file that is deleted when it is closed."""
    return tempfile.TemporaryFile()


def read_whole(opened: InputFile, limit: int) -> bytes:
    """Read all bytes of one document, and at most one more than `limit`."""
    parts = io.BytesIO()
    try:
        while parts.tell() <= limit:
            part = opened.stream.read(min(_CHUNK_BYTES, limit + 1 - parts.tell()))
            if not part:
                break
            parts.write(part)
    except (OSError, EOFError, zlib.error) as error:
        raise read_error(opened.name, error) from None
    return parts.getvalue()


def read_error(name: str, error: Exception) -> DataError:
    """The error for a file that fails while it is read, such as a truncated gzip file."""
    return DataError(f"cannot be read: {error}", Location(name))
