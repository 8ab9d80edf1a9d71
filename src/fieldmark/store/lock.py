"""A lock that allows one process to write a run, and is released when the process ends."""

from __future__ import annotations

import fcntl
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

import orjson

from fieldmark.errors import RunLockedError, StorageError

__all__ = ["LOCK", "RunLock", "directory_lock", "is_locked"]

LOCK: Final = "lock"
_OWNER_READS: Final = 20
_LOCK_ATTEMPTS: Final = 2
_PAUSE: Final = 0.02


class RunLock:
    """Held while a run is written; the error for a second process names the owner.

    The file is not deleted when the lock is released: otherwise two processes could hold the lock,
    one on the deleted file and one on a new file.
    """

    __slots__ = ("_path", "file")

    def __init__(self, directory: Path) -> None:
        self._path = directory / LOCK
        self.file = -1

    def __enter__(self) -> Self:
        try:
            self.file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StorageError(f"cannot lock {self._path.parent}: {error.strerror}") from error
        try:
            self._take()
        except BlockingIOError:
            owner = _owner(self.file)
            self.__exit__()
            message = f"{self._path.parent} is being written by {owner}"
            raise RunLockedError(message) from None
        except OSError as error:
            self.__exit__()
            message = f"cannot lock {self._path.parent}: {error.strerror}"
            raise StorageError(message) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1

    def _take(self) -> None:
        """Acquire the lock; `is_locked` in another process may hold it for a moment."""
        for _ in range(_LOCK_ATTEMPTS):
            with suppress(BlockingIOError):
                return fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            time.sleep(_PAUSE)
        return fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def write_owner(self) -> None:
        """Write the process id and host into the file, if possible."""
        owner = orjson.dumps({"pid": os.getpid(), "host": platform.node()})
        with suppress(OSError):
            os.ftruncate(self.file, 0)
            os.pwrite(self.file, owner, 0)


@contextmanager
def directory_lock(directory: Path) -> Iterator[None]:
    """Wait for the lock on a directory itself, and hold it for a moment.

    On a file system without such locks, there is none.
    """
    try:
        file = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        # Closing would not release it if a process was forked in the meantime.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)


def is_locked(directory: Path) -> bool:
    """Return whether a process is writing the run."""
    try:
        file = os.open(directory / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(file)
    return False


def _owner(file: int) -> str:
    """Return the process that holds the lock; it may not have written its id yet."""
    for _ in range(_OWNER_READS):
        try:
            owner = orjson.loads(os.pread(file, 4096, 0))
            return f"process {int(owner['pid'])} on {owner['host']}"
        except (OSError, ValueError, TypeError, KeyError):
            time.sleep(_PAUSE)
    return "another process"
