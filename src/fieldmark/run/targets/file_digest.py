"""A digest of a file that tells whether it has changed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

__all__ = ["file_digest"]

_MAX_HASHED_BYTES: Final = 64 << 20
"""Larger files, such as models, are identified by size and modification time."""


def file_digest(path: Path) -> str | None:
    """Return the digest of a file, or none if there is no readable file."""
    try:
        if not path.is_file():
            return None
        stat = path.stat()
        if stat.st_size > _MAX_HASHED_BYTES:
            return f"{stat.st_size}:{stat.st_mtime_ns}"
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None
