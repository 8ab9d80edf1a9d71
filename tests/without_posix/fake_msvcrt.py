"""The part of the module msvcrt that fieldmark uses, on Linux."""

from __future__ import annotations

import errno
import os
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

LK_UNLCK = 0
LK_NBLCK = 2
OWNER_BYTES = 4096


def locking(file: int, mode: int, size: int) -> None:
    """Lock a file: never shared, and never waiting."""
    # Others could not read the locked bytes.
    assert (size, os.lseek(file, 0, os.SEEK_CUR) >= OWNER_BYTES) == (1, True)
    try:
        flock(file, LOCK_UN if mode == LK_UNLCK else LOCK_EX | LOCK_NB)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, "Permission denied") from None
