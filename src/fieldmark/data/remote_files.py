"""Files in object stores and on web servers, read by range with fsspec.

Credentials come from where the client library of the store looks for them.
"""

from __future__ import annotations

import io
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

from fieldmark.errors import DataError, Location, MissingExtra

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]

__all__ = ["RemoteFile"]

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
_Answer = TypeVar("_Answer")


class RemoteFile(io.RawIOBase):
    """A file at a URL, with a name for messages.

    The `version` of the file changes with its content, if the server reports one.
    A request that fails for a temporary reason is repeated. Any other failure is a `DataError`.
    """

    def __init__(self, url: str, name: str) -> None:
        super().__init__()
        self._url = url
        self._name = name
        self._system, self._path = self._connect()
        info = self._retried(lambda: self._system.info(self._path))
        if info.get("type") == "directory":
            raise self._error("not a file; directories of documents must be local")
        if info.get("size") is None:
            raise self._error("the server does not report the size of the file")
        self.size = int(info["size"])
        known = (info.get(key) for key in ("ETag", "etag", "LastModified", "mtime"))
        self.version = str(next((each for each in known if each), ""))
        self._at = 0
        self._held, self._start = b"", 0
        self._ahead = 0

    def _connect(self) -> tuple[AbstractFileSystem, str]:
        try:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped]
        except ImportError as error:
            raise MissingExtra("reading URLs", "remote") from error
        protocol = urlsplit(self._url).scheme.lower()
        options: dict[str, object] = {}
        try:
            if protocol in {"http", "https"}:
                from aiohttp import ClientTimeout

                limit = ClientTimeout(total=None, sock_connect=_SECONDS, sock_read=_SECONDS)
                options["client_kwargs"] = {"timeout": limit}
            system, path = url_to_fs(self._url, **options)
        except ImportError as error:
            if protocol in _BY_EXTRA:
                raise MissingExtra("reading URLs", "remote") from error
            raise self._error(_reason(error)) from None
        except ValueError as error:
            raise self._error(_reason(error)) from None
        return system, path

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
        def request() -> bytes:
            content: bytes = self._system.cat_file(self._path, start=start, end=end)
            if len(content) > end - start:
                message = "the server does not support range requests; download the file first"
                raise self._error(message)
            if len(content) < end - start:
                raise OSError(f"{len(content):,} of {end - start:,} bytes were received")
            return content

        return self._retried(request)

    def _retried(self, request: Callable[[], _Answer]) -> _Answer:
        reason = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_FIRST_DELAY * 2 ** (attempt - 1) * (0.5 + random.random()))  # noqa: S311 - no secret
            try:
                return request()
            except DataError:
                raise
            except Exception as error:  # noqa: BLE001 - each client library has its own errors
                # fsspec reports any failure of a web server as a missing file.
                actual = error.__cause__ or error
                status = _status(actual)
                if status in _DENIED or (status is None and isinstance(error, PermissionError)):
                    raise self._error("access denied; check the credentials") from None
                missing = status is None and isinstance(error, FileNotFoundError)
                if status in _NOT_FOUND or missing:
                    raise self._error("file not found") from None
                if type(actual).__name__ == "NoCredentialsError":
                    raise self._error("no credentials found") from None
                reason = _reason(actual)
                if status is not None and status < _SERVER_ERROR and status not in _TRANSIENT:
                    raise self._error(f"cannot read file: {reason}") from None
        raise self._error(f"cannot read file after {_ATTEMPTS} attempts: {reason}")

    def _error(self, message: str) -> DataError:
        return DataError(message.replace(self._url, self._name), Location(self._name))


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
