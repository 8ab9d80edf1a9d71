"""Every change that is made to a disk, one method each: what can fail, and be made to fail."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from fieldmark.errors import StorageError

__all__ = ["DISK", "PART", "Disk", "write_atomic"]

PART: Final = ".part"
"""The suffix of a file that is not yet in its place."""
_NEW: Final = 0o644


class Disk:
    """The real disk. All writes of the store go through it, so tests can make any of them fail."""

    def make_folder(self, path: Path) -> None:
        """Make a folder and its parents, unless they exist."""
        path.mkdir(parents=True, exist_ok=True)

    def open_new(self, path: Path) -> int:
        """Open a file for writing from its beginning."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _NEW)

    def open_append(self, path: Path) -> int:
        """Open a file for writing at its end."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, _NEW)

    def write(self, file: int, content: bytes) -> None:
        """Write all of it."""
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(file, rest) :]

    def sync(self, file: int) -> None:
        """Wait until what was written is on the disk."""
        os.fsync(file)

    def truncate(self, file: int, size: int) -> None:
        """Cut a file."""
        os.ftruncate(file, size)

    def close(self, file: int) -> None:
        """Close a file."""
        os.close(file)

    def replace(self, source: Path, place: Path) -> None:
        """Replace a file atomically."""
        source.replace(place)

    def remove(self, path: Path) -> None:
        """Remove a file, if it exists."""
        path.unlink(missing_ok=True)

    def sync_folder(self, path: Path) -> None:
        """Wait until the names in a folder are on the disk, where the system supports it."""
        try:
            folder = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        except OSError:
            return
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


DISK: Final = Disk()


def write_atomic(path: Path, content: bytes, disk: Disk = DISK) -> None:
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
