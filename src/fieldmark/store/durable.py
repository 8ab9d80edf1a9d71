"""Files that are whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import os
from pathlib import Path

from fieldmark.errors import StorageError

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that readers see the old one or the new one, never half of it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StorageError(f"cannot write {path}: {error.strerror}") from error
