"""Disk operations, one method each, so that tests can make any of them fail."""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from fieldmark.errors import StorageError

PART: Final = ".part"
"""The suffix of a temporary file that has not been renamed yet."""
BINARY: Final[int] = getattr(os, "O_BINARY", 0)
"""The flag of `os.open` without which Windows translates line ends."""
_NEW: Final = 0o644
_REPLACE_ATTEMPTS: Final = 50
_PAUSE: Final = 0.02
_NOT_SYNCABLE: Final = frozenset({errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EACCES})
"""The errors of systems and file systems that cannot synchronize a directory."""


class Disk:
    """The real disk, which performs all writes of saved runs."""

    def make_directory(self, path: Path) -> None:
        """Create a directory and its parents, unless they exist."""
        path.mkdir(parents=True, exist_ok=True)

    def open_new(self, path: Path) -> int:
        """Open a file for writing, and truncate it."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | BINARY, _NEW)

    def open_append(self, path: Path) -> int:
        """Open a file for appending."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY, _NEW)

    def write(self, file: int, content: bytes) -> None:
        """Write all of the content."""
        unwritten = memoryview(content)
        while unwritten:
            unwritten = unwritten[os.write(file, unwritten) :]

    def overwrite(self, path: Path, at: int, content: bytes) -> None:
        """Replace bytes within a file by as many others, and synchronize it to disk."""
        file = os.open(path, os.O_WRONLY | BINARY)
        try:
            os.lseek(file, at, os.SEEK_SET)
            os.write(file, content)
            os.fsync(file)
        finally:
            os.close(file)

    def sync(self, file: int) -> None:
        """Synchronize a file to disk."""
        os.fsync(file)

    def truncate(self, file: int, size: int) -> None:
        """Truncate a file to a size."""
        os.ftruncate(file, size)

    def close(self, file: int) -> None:
        """Close a file."""
        os.close(file)

    def replace(self, source: Path, destination: Path) -> None:
        """Replace a file atomically.

        Windows does not replace a file while another process has it open, so it is tried for a
        second.
        """
        for _ in range(_REPLACE_ATTEMPTS):
            try:
                source.replace(destination)
            except PermissionError as error:
                if not hasattr(error, "winerror"):
                    raise
                time.sleep(_PAUSE)
            else:
                return
        source.replace(destination)

    def remove(self, path: Path) -> None:
        """Remove a file, if it exists."""
        path.unlink(missing_ok=True)

    def sync_directory(self, path: Path) -> None:
        """Synchronize the entries of a directory to disk, if the system supports it."""
        try:
            directory = os.open(path, os.O_RDONLY)
        except OSError:
            return
        try:
            os.fsync(directory)
        except OSError as error:
            if error.errno not in _NOT_SYNCABLE:
                raise
        finally:
            os.close(directory)


DISK: Final = Disk()


def write_atomic(path: Path, content: bytes) -> None:
    """Replace a file atomically: readers see the previous content or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}{PART}")
    try:
        file = DISK.open_new(temporary)
        try:
            DISK.write(file, content)
            DISK.sync(file)
        finally:
            DISK.close(file)
        DISK.replace(temporary, path)
        DISK.sync_directory(path.parent)
    except OSError as error:
        with suppress(OSError):
            DISK.remove(temporary)
        raise StorageError(f"cannot write {path}: {error.strerror}") from error
