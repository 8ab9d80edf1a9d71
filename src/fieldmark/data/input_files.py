"""Input files: regular files and URLs, compressed or not, and standard input."""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NamedTuple, TypeGuard, cast
from urllib.parse import urlsplit, urlunsplit

from fieldmark.errors import DataError, InputTypeError, Location, MissingExtra

STDIN: Final = "-"
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_MAX_IN_MEMORY: Final = 16 << 20
_CHUNK_BYTES: Final = 1 << 20
_REMOTE_BYTES: Final = 1 << 16
"""The size of the buffer of a remote file, which requests more than that."""
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Non-blocking, so that opening a pipe without a writer does not hang."""


class FileState(NamedTuple):
    """A regular file at some time, to notice later that it has changed."""

    name: str
    size: int
    written: int
    number: int

    @classmethod
    def of(cls, path: str | Path) -> FileState | None:
        """Return the state of a file; `None` for anything else."""
        try:
            state = Path(path).stat()
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(state.st_mode):
            return None
        return cls(str(path), state.st_size, state.st_mtime_ns, state.st_ino)

    @property
    def is_current(self) -> bool:
        """Whether the file is still the same."""
        return FileState.of(self.name) == self


@dataclass(slots=True, eq=False)
class InputFile:
    """A stream of uncompressed bytes, and the underlying file whose position shows the progress.

    The `version` of a remote file changes with its content.
    """

    name: str
    stream: IO[bytes]
    file: IO[bytes]
    size: int
    seekable: bool
    version: str = ""

    @property
    def position(self) -> int:
        """The number of bytes read from the file."""
        return self.file.tell()

    def close(self) -> None:
        """Close the stream and the file."""
        self.stream.close()
        self.file.close()


def _gzip(file: IO[bytes]) -> IO[bytes]:
    return cast("IO[bytes]", gzip.GzipFile(fileobj=file))


def _zstd(file: IO[bytes]) -> IO[bytes]:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("reading zstd", "tables") from error
    source = pa.PythonFile(file, mode="r")
    return cast("IO[bytes]", pa.CompressedInputStream(source, "zstd"))


_DECOMPRESSORS: Final[Mapping[str, Callable[[IO[bytes]], IO[bytes]]]] = {
    ".gz": _gzip,
    ".zst": _zstd,
}
"""Decompressors by suffix; a corrupt file raises an error while it is read."""


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed, by its suffix."""
    return path.suffix.lower() in _DECOMPRESSORS


def format_suffix(path: Path) -> str:
    """Return the suffix of the format, without the suffix of the compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if is_compressed(path):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def is_url(source: object) -> TypeGuard[str]:
    """Return whether an input is a URL; a `Path` never is, because it merges slashes."""
    return isinstance(source, str) and _URL.match(source) is not None


def redacted_url(url: str) -> str:
    """Return a URL without user name, password, query and fragment, for messages and results.

    The query may contain a signature.

    >>> redacted_url("https://me:secret@example.org/truth.jsonl?X-Signature=abc")
    'https://example.org/truth.jsonl'
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def open_file(path: str | Path, *, follow: bool = True) -> InputFile:
    """Open a regular file or a URL for reading; anything else is an error, without blocking."""
    name = str(path)
    if is_url(path):
        from fieldmark.data.remote_files import RemoteFile

        name = redacted_url(path)
        remote = RemoteFile(path, name)
        file = io.BufferedReader(remote, _REMOTE_BYTES)
        return _decompressed(name, file, remote.size, remote.version)
    nofollow = 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    try:
        number = os.open(path, _FLAGS | nofollow)
    except FileNotFoundError:
        raise DataError("file not found", Location(name)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"cannot read file: {reason}", Location(name)) from None
    state = os.fstat(number)
    if not stat.S_ISREG(state.st_mode):
        os.close(number)
        raise DataError(
            'not a regular file; to read a pipe, use "-" for standard input', Location(name)
        )
    return _decompressed(name, os.fdopen(number, "rb"), state.st_size)


def _decompressed(name: str, file: IO[bytes], size: int, version: str = "") -> InputFile:
    """Return an open file with its content decompressed, if its name says that it is."""
    path = Path(name)
    if not is_compressed(path):
        return InputFile(name, file, file, size, seekable=True, version=version)
    try:
        stream = _DECOMPRESSORS[path.suffix.lower()](file)
    except MissingExtra:
        file.close()
        raise
    return InputFile(name, stream, file, size, seekable=False, version=version)


def open_stdin() -> InputFile:
    """Open standard input, buffered so that it can be read out of order."""
    return buffer_stream(sys.stdin.buffer, "standard input")


def is_stream(source: object) -> bool:
    """Return whether an argument is an open file."""
    return callable(getattr(source, "read", None))


def buffer_stream(source: object, name: str) -> InputFile:
    """Copy the rest of an open file, text or bytes, to an unnamed temporary file."""
    read = cast("Callable[[int], object]", getattr(source, "read", None))
    copy = tempfile.SpooledTemporaryFile(max_size=_MAX_IN_MEMORY)  # noqa: SIM115 - closed later
    called = getattr(source, "name", None)
    name = called if isinstance(called, str) and not called.startswith("<") else name
    try:
        while part := read(_CHUNK_BYTES):
            if not isinstance(part, str | bytes):
                copy.close()
                message = f"expected an open file, but {type(source).__name__}.read returned "
                raise InputTypeError(message + type(part).__name__, Location(name))
            copy.write(part.encode(errors="surrogatepass") if isinstance(part, str) else part)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        copy.close()
        raise read_error(name, error) from None
    size = copy.tell()
    copy.seek(0)
    stream: IO[bytes] = copy
    return InputFile(name, stream, stream, size, seekable=True)


def temporary_file() -> IO[bytes]:
    """Return an unnamed temporary file that is deleted when it is closed."""
    return tempfile.TemporaryFile()


def read_whole(opened: InputFile, limit: int) -> bytes:
    """Read all bytes of a document, but at most `limit` + 1."""
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
    """Return the error for a failure while reading, such as a truncated gzip file."""
    if isinstance(error, gzip.BadGzipFile):
        return DataError("not a gzip file, or a damaged one", Location(name))
    return DataError(f"cannot read file: {error}", Location(name))
