"""Files that are whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from fieldmark.errors import StorageError
from fieldmark.store.disk import DISK, Disk

__all__ = ["PART", "write_whole"]

PART = ".part"
"""How the name of a file ends that is not yet in its place."""


def write_whole(path: Path, content: bytes, disk: Disk = DISK) -> None:
    """Write a file so that readers see the old one or the new one, never half of it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}{PART}")
    try:
        file = disk.open_new(beside)
        try:
            disk.write(file, content)
            disk.sync(file)
        finally:
            disk.close(file)
        disk.replace(beside, path)
        disk.sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            disk.remove(beside)
        raise StorageError(f"cannot write {path}: {error.strerror}") from error
