"""One writer a run: a lock that vanishes with its owner."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import orjson

from fieldmark.errors import RunLockedError, StorageError

__all__ = ["LOCK", "RunLock", "is_locked"]

LOCK: Final = "lock"
_LOOKS: Final = 20
_TRIES: Final = 2
_PAUSE: Final = 0.02


class RunLock:
    """Held while a run is written; who comes second is told who holds it.

    The file stays when the lock is given back: removing it would let two owners in, one with the
    old file and one with a new.
    """

    __slots__ = ("_path", "file")

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
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
            self._close()
            raise RunLockedError(f"{self._path.parent} is being written by {owner}") from None
        except OSError as error:
            self._close()
            said = f"{self._path.parent} cannot be locked: {error.strerror}"
            raise StorageError(said) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def _take(self) -> None:
        """Take the lock; who only looks whether it is held may hold it for a moment."""
        for _ in range(_TRIES):
            with suppress(BlockingIOError):
                return fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            time.sleep(_PAUSE)
        return fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def sign(self) -> None:
        """Say who holds it and is going to write; a name that cannot be written stops nobody."""
        import socket  # readers of runs lock nothing

        owner = orjson.dumps({"pid": os.getpid(), "host": socket.gethostname()})
        try:
            os.ftruncate(self.file, 0)
            os.pwrite(self.file, owner, 0)
        except OSError:
            return

    def _close(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


def is_locked(folder: Path) -> bool:
    """Whether some process writes to a run just now."""
    try:
        file = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
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
    """Who holds the lock; an owner who has just come may not have signed yet."""
    for _ in range(_LOOKS):
        try:
            owner = orjson.loads(os.pread(file, 4096, 0))
            return f"process {int(owner['pid'])} on {owner['host']}"
        except (OSError, ValueError, TypeError, KeyError):
            time.sleep(_PAUSE)
    return "another process"
