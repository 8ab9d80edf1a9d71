"""Files and directories in object stores and on web servers, accessed with fsspec.

Files are read by range. Credentials come from where the client library of the store looks for them.
"""

from __future__ import annotations

import io
import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

from fieldmark.data.input_files import redacted_url
from fieldmark.errors import (
    DataError,
    FieldmarkError,
    Location,
    MissingExtra,
    StorageError,
)

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]


_BY_EXTRA: Final = frozenset({"http", "https", "s3", "s3a"})
"""The protocols whose libraries are in the extra."""
_ATTEMPTS: Final = 5
_FIRST_DELAY: Final = 0.25
_FIRST_READ: Final = 1 << 18
_LARGEST_READ: Final = 8 << 20
"""The size of requests doubles up to this number of bytes while a file is read in order."""
_SECONDS: Final = 60.0
_DENIED: Final = frozenset({401, 403})
_NOT_FOUND: Final = frozenset({404, 410})
_TRANSIENT: Final = frozenset({408, 425, 429})
_SERVER_ERROR: Final = 500
_EXISTS: Final = frozenset({409, 412})
"""The answers to a conditional request for a new object that exists or is being written."""
_WITH_DIRECTORIES: Final = frozenset({"file", "local", "hdfs", "sftp", "smb", "ssh"})
_READ_ONLY: Final = frozenset({"http", "https"})
_Answer = TypeVar("_Answer")


class _Connection:
    """The file system of a URL, with a name for messages.

    A request that fails for a temporary reason is repeated. Any other failure is a `DataError`, or
    a `StorageError` if something is written.
    """

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self.protocol = urlsplit(url).scheme.lower()
        self.system, self.path = self._connect()

    def _connect(self) -> tuple[AbstractFileSystem, str]:
        try:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped]
        except ImportError as error:
            raise MissingExtra("access to URLs", "remote") from error
        options: dict[str, object] = {}
        try:
            if self.protocol in _READ_ONLY:
                from aiohttp import ClientTimeout

                limit = ClientTimeout(total=None, sock_connect=_SECONDS, sock_read=_SECONDS)
                options["client_kwargs"] = {"timeout": limit}
            system, path = url_to_fs(self._url, **options)
        except ImportError as error:
            if self.protocol in _BY_EXTRA:
                raise MissingExtra("access to URLs", "remote") from error
            raise self.error(_reason(error)) from None
        except ValueError as error:
            raise self.error(_reason(error)) from None
        return system, path

    def requested(
        self, request: Callable[[], _Answer], *, name: str = "", write: bool = False
    ) -> _Answer:
        """Return the answer to a request that is repeated after temporary failures."""
        reason, verb = "", "write" if write else "read"
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_FIRST_DELAY * 2 ** (attempt - 1) * (0.5 + random.random()))  # noqa: S311 - no secret
            try:
                return request()
            except (FieldmarkError, FileExistsError):
                raise
            except Exception as error:  # noqa: BLE001 - each client library has its own errors
                # fsspec reports any failure of a web server as a missing file.
                actual = error.__cause__ or error
                status = _status(actual)
                if status in _DENIED or (status is None and isinstance(error, PermissionError)):
                    message = "access denied; check the credentials"
                    raise self.error(message, name, write=write) from None
                missing = status is None and isinstance(error, FileNotFoundError)
                if status in _NOT_FOUND or missing:
                    raise self.error("file not found", name, write=write) from None
                if type(actual).__name__ == "NoCredentialsError":
                    raise self.error("no credentials found", name, write=write) from None
                reason = _reason(actual)
                if status is not None and status < _SERVER_ERROR and status not in _TRANSIENT:
                    raise self.error(f"cannot {verb} file: {reason}", name, write=write) from None
        message = f"cannot {verb} file after {_ATTEMPTS} attempts: {reason}"
        raise self.error(message, name, write=write)

    def error(self, message: str, name: str = "", *, write: bool = False) -> FieldmarkError:
        """Return an error that names the file, without credentials."""
        name, message = name or self._name, message.replace(self._url, self._name)
        return StorageError(f"{name}: {message}") if write else DataError(message, Location(name))


class RemoteFile(io.RawIOBase):
    """A file at a URL, with a name for messages.

    The `version` of the file changes with its content, if the server reports one.
    A request that fails for a temporary reason is repeated. Any other failure is a `DataError`.
    """

    def __init__(self, url: str, name: str) -> None:
        super().__init__()
        self._connection = connection = _Connection(url, name)
        info = connection.requested(lambda: connection.system.info(connection.path))
        if info.get("type") == "directory":
            raise connection.error("not a file; directories of documents must be local")
        if info.get("size") is None:
            raise connection.error("the server does not report the size of the file")
        self.size = int(info["size"])
        known = (info.get(key) for key in ("ETag", "etag", "LastModified", "mtime"))
        self.version = str(next((version for version in known if version), ""))
        self._at = 0
        self._held, self._start = b"", 0
        self._ahead = 0

    def readable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Return true."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Change the position; nothing is requested yet."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read some bytes; files that are read in order are requested in large parts."""
        wanted = memoryview(buffer).cast("B")
        number = min(len(wanted), self.size - self._at)
        if number <= 0:
            return 0
        end = self._start + len(self._held)
        if not self._start <= self._at < end:
            in_order = self._at == end
            self._ahead = min(max(2 * self._ahead, _FIRST_READ), _LARGEST_READ) if in_order else 0
            end = min(self._at + max(number, self._ahead), self.size)
            self._held, self._start = self._range(self._at, end), self._at
        number = min(number, end - self._at)
        first = self._at - self._start
        wanted[:number] = self._held[first : first + number]
        self._at += number
        return number

    def _range(self, start: int, end: int) -> bytes:
        connection = self._connection

        def request() -> bytes:
            content: bytes = connection.system.cat_file(connection.path, start=start, end=end)
            if len(content) > end - start:
                message = "the server does not support range requests; download the file first"
                raise connection.error(message)
            if len(content) < end - start:
                raise OSError(f"{len(content):,} of {end - start:,} bytes were received")
            return content

        return connection.requested(request)


class RemoteDirectory:
    """A prefix of an object store as a directory; `name` is its URL without credentials.

    A file is replaced as a whole and atomically.
    """

    def __init__(self, url: str) -> None:
        self.name = redacted_url(url).rstrip("/")
        self._connection = _Connection(url, self.name)
        self._path = self._connection.path.rstrip("/")

    @property
    def is_read_only(self) -> bool:
        """Whether files can only be read."""
        return self._connection.protocol in _READ_ONLY

    def list(self, name: str = "") -> list[str]:
        """Return the names of the files and directories in the directory, or in one of them."""
        connection, path = self._connection, self._place(name)

        def request() -> list[str]:
            connection.system.invalidate_cache()
            try:
                return list(connection.system.ls(path, detail=False))
            except FileNotFoundError:
                return []

        paths = connection.requested(request, name=self.name)
        return sorted(entry.rstrip("/").rpartition("/")[2] for entry in paths if entry != path)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or `None` if there is no such file."""
        connection, path = self._connection, self._place(name)

        def request() -> bytes | None:
            try:
                content: bytes = connection.system.cat_file(path)
            except FileNotFoundError as error:
                if _status(error.__cause__ or error) in {None, *_NOT_FOUND}:
                    return None
                raise
            return content

        return connection.requested(request, name=f"{self.name}/{name}")

    def download(self, name: str, local: Path) -> bool:
        """Copy a file to this machine; return false if there is no such file."""
        connection, path = self._connection, self._place(name)

        def request() -> bool:
            try:
                connection.system.get_file(path, str(local))
            except FileNotFoundError as error:
                local.unlink(missing_ok=True)
                if _status(error.__cause__ or error) in {None, *_NOT_FOUND}:
                    return False
                raise
            return True

        return connection.requested(request, name=f"{self.name}/{name}")

    def write(self, name: str, content: bytes, *, new: bool = False) -> None:
        """Write a file; with `new`, an existing one is a `FileExistsError` if the store knows."""
        connection, path = self._connection, self._place(name)

        def request() -> None:
            self._make_parent(path)
            try:
                connection.system.pipe_file(path, content, mode="create" if new else "overwrite")
            except Exception as error:
                if new and _status(error) in _EXISTS:
                    raise FileExistsError(path) from None
                raise

        connection.requested(request, name=f"{self.name}/{name}", write=True)

    def upload(self, local: Path, name: str) -> None:
        """Copy a file from this machine; its size is checked."""
        connection, path = self._connection, self._place(name)

        def request() -> None:
            self._make_parent(path)
            connection.system.put_file(str(local), path)
            size, expected = connection.system.info(path)["size"], local.stat().st_size
            if size != expected:
                raise OSError(f"{size:,} of {expected:,} bytes were stored")

        connection.requested(request, name=f"{self.name}/{name}", write=True)

    def remove(self, name: str) -> None:
        """Remove a file."""
        connection, path = self._connection, self._place(name)

        def request() -> None:
            with suppress(FileNotFoundError):
                connection.system.rm_file(path)

        connection.requested(request, name=f"{self.name}/{name}", write=True)

    def _make_parent(self, path: str) -> None:
        """Create the directory of a file; an object store has none, and would create a bucket."""
        if self._connection.protocol in _WITH_DIRECTORIES:
            self._connection.system.makedirs(path.rpartition("/")[0], exist_ok=True)

    def _place(self, name: str) -> str:
        return f"{self._path}/{name}" if name else self._path


def _status(error: BaseException) -> int | None:
    """Return the HTTP status behind an error, if there is one."""
    status = getattr(error, "status", None)
    answer = getattr(error, "response", None)
    if isinstance(answer, dict):
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
    return status if isinstance(status, int) else None


def _reason(error: BaseException) -> str:
    """Return the first line of an error, without the URL that some libraries append."""
    if isinstance(error, TimeoutError):
        return f"no response within {_SECONDS:g} s"
    status, message = getattr(error, "status", None), getattr(error, "message", None)
    if isinstance(status, int) and isinstance(message, str):
        return f"{status} {message}".strip()
    return (str(error).strip() or type(error).__name__).partition("\n")[0]
