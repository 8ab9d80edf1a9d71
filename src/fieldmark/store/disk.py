"""Every change that is made to a disk, one method each: what can fail, and be made to fail."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["DISK", "Disk"]

_NEW: Final = 0o644


class Disk:
    """The real disk. Nothing else in this room writes, so tests can count and break operations."""

    def make_folder(self, path: Path) -> None:
        """Make a folder and those above it, unless they are there."""
        path.mkdir(parents=True, exist_ok=True)

    def open_new(self, path: Path) -> int:
        """A file to be written from its beginning."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _NEW)

    def open_append(self, path: Path) -> int:
        """A file to be written at its end."""
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
        """Give a file back."""
        os.close(file)

    def replace(self, source: Path, place: Path) -> None:
        """Put a file in the place of another, at once."""
        source.replace(place)

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""
        path.unlink(missing_ok=True)

    def sync_folder(self, path: Path) -> None:
        """Wait until the names in a folder are on the disk, where the system has a way to."""
        try:
            folder = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        except OSError:
            return
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


DISK: Final = Disk()
