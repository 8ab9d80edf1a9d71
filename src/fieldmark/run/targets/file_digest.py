"""The content of a file as one short text, to tell whether it has changed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

__all__ = ["digest_of"]

_LARGEST: Final = 64 << 20
"""Of a larger file, such as a model, its size and date tell enough."""


def digest_of(path: Path) -> str | None:
    """What changes with a file; nothing for what is no file that can be read."""
    try:
        if not path.is_file():
            return None
        known = path.stat()
        if known.st_size > _LARGEST:
            return f"{known.st_size}:{known.st_mtime_ns}"
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None
