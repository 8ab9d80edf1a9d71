"""Files that are packed: plain bytes out of gzip and zstd."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Final, cast

from fieldmark.errors import MissingExtra

__all__ = ["PACKED", "is_packed", "unpacked"]


def _gzip(file: IO[bytes]) -> IO[bytes]:
    return cast("IO[bytes]", gzip.GzipFile(fileobj=file))


def _zstd(file: IO[bytes]) -> IO[bytes]:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("reading zstd", "tables") from error
    source = pa.PythonFile(file, mode="r")
    return cast("IO[bytes]", pa.CompressedInputStream(source, "zstd"))


PACKED: Final[Mapping[str, Callable[[IO[bytes]], IO[bytes]]]] = {".gz": _gzip, ".zst": _zstd}
"""How a file is unpacked, by its suffix."""


def is_packed(path: Path) -> bool:
    """Whether the name of a file says that it is packed."""
    return path.suffix.lower() in PACKED


def unpacked(path: Path, file: IO[bytes]) -> IO[bytes]:
    """The plain bytes of a packed file, a piece at a time; a broken one fails while it is read."""
    return PACKED[path.suffix.lower()](file)
