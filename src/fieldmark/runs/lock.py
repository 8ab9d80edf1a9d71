"""Locks that allow one process to write, and are released when the process ends.

Files are locked by `fcntl`, or by `msvcrt` on Windows. There, locks are never shared, a locked byte
cannot be read by others, and a directory cannot be opened.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import orjson

from fieldmark.errors import RunLockedError, StorageError
from fieldmark.runs.disk import BINARY

LOCK: Final = "lock"
_GUARD: Final = ".lock"
"""The file that is locked instead of its directory on Windows, and then removed."""
_OWNER_READS: Final = 20
_LOCK_ATTEMPTS: Final = 2
_OPEN_ATTEMPTS: Final = 50
_PAUSE: Final = 0.02
_LOCKED_BYTE: Final = 1 << 30
"""The position of the byte that `msvcrt` locks, behind the name of the owner."""

# The available module decides. The conditions are only for the type checker.
try:
    import fcntl
except ImportError:
    if not TYPE_CHECKING or sys.platform == "win32":
        import msvcrt

        def _try_lock(file: int, *, shared: bool = False) -> None:
            """Lock an open file, or raise `BlockingIOError` if another process has locked it."""
            os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
            try:
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            except PermissionError:
                if not shared:
                    raise BlockingIOError from None
                # Another process may only be looking, too.
                time.sleep(_PAUSE)
                _try_lock(file)

        def _unlock(file: int) -> None:
            os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

        def _lock_directory(directory: Path) -> int:
            """Wait for the lock on a file in a directory, which its last owner may have removed."""
            guard = directory / _GUARD
            failures = 0
            while True:
                try:
                    file = os.open(guard, os.O_RDWR | os.O_CREAT | BINARY, 0o644)
                except PermissionError:
                    # It is just being removed, or no file can be created in the directory.
                    failures += 1
                    if failures == _OPEN_ATTEMPTS:
                        raise
                else:
                    with suppress(BlockingIOError, FileNotFoundError):
                        _try_lock(file)
                        if os.path.samestat(os.fstat(file), guard.stat()):
                            return file
                    os.close(file)
                time.sleep(_PAUSE)

        def _unlock_directory(directory: Path, file: int) -> None:
            guard = directory / _GUARD
            try:
                guard.unlink()
            except OSError:
                # Windows removes no file that is open, here or where its lock is waited for.
                os.close(file)
                with suppress(OSError):
                    guard.unlink()
            else:
                os.close(file)

else:
    if not TYPE_CHECKING or sys.platform != "win32":

        def _try_lock(file: int, *, shared: bool = False) -> None:
            """Lock an open file, or raise `BlockingIOError` if another process has locked it."""
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

        def _unlock(file: int) -> None:
            fcntl.flock(file, fcntl.LOCK_UN)

        def _lock_directory(directory: Path) -> int:
            """Wait for the lock on a directory itself."""
            file = os.open(directory, os.O_RDONLY)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
            except BaseException:
                os.close(file)
                raise
            return file

        def _unlock_directory(directory: Path, file: int) -> None:  # noqa: ARG001 - as on Windows
            # Closing would not release it if a process was forked in the meantime.
            with suppress(OSError):
                _unlock(file)
            os.close(file)


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
            self.file = os.open(self._path, os.O_RDWR | os.O_CREAT | BINARY, 0o644)
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
            # Windows may release the lock of a closed file later.
            with suppress(OSError):
                _unlock(self.file)
            os.close(self.file)
            self.file = -1

    def _take(self) -> None:
        """Acquire the lock; `is_locked` in another process may hold it for a moment."""
        for _ in range(_LOCK_ATTEMPTS):
            with suppress(BlockingIOError):
                return _try_lock(self.file)
            time.sleep(_PAUSE)
        return _try_lock(self.file)

    def write_owner(self) -> None:
        """Write the process id and host into the file, if possible."""
        owner = orjson.dumps({"pid": os.getpid(), "host": platform.node()})
        with suppress(OSError):
            os.ftruncate(self.file, 0)
            os.lseek(self.file, 0, os.SEEK_SET)
            os.write(self.file, owner)


@contextmanager
def directory_lock(directory: Path) -> Iterator[None]:
    """Wait for the lock on a directory, and hold it for a moment.

    On a file system without such locks, there is none.
    """
    try:
        file = _lock_directory(directory)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        _unlock_directory(directory, file)


def is_locked(directory: Path) -> bool:
    """Return whether a process is writing the run."""
    try:
        file = os.open(directory / LOCK, os.O_RDONLY | BINARY)
    except OSError:
        return False
    try:
        _try_lock(file, shared=True)
        _unlock(file)
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
            os.lseek(file, 0, os.SEEK_SET)
            owner = orjson.loads(os.read(file, 4096))
            return f"process {int(owner['pid'])} on {owner['host']}"
        except (OSError, ValueError, TypeError, KeyError):
            time.sleep(_PAUSE)
    return "another process"
