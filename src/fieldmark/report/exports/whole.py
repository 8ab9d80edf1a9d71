"""Files that are whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fieldmark.errors import StorageError

__all__ = ["whole_file"]


@contextmanager
def whole_file(out: Path) -> Iterator[Path]:
    """A path beside `out` to write to; it takes its place at the end, or nothing does."""
    beside = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        yield beside
        beside.replace(out)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StorageError(f"cannot write {out}: {error.strerror or error}") from error
        raise
