"""Rows of results of a run that is not saved, in memory or in a temporary file."""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import Final

from fieldmark.errors import StorageError
from fieldmark.metrics.conventions import Convention
from fieldmark.model.outcomes import Attribute
from fieldmark.store.reader import ResultRows
from fieldmark.wire.attributes import NumberedAttribute

__all__ = ["SpooledRows"]

_MAX_IN_MEMORY: Final = 16 << 20
"""The size of rows in bytes from which they are in a file."""


class SpooledRows(ResultRows):
    """Rows that are deleted with this object; several threads can read them at once."""

    def __init__(self, convention: Convention) -> None:
        self._convention = convention
        self._attributes: dict[int, Attribute] = {}
        self._sizes: list[int] = []
        self._lock = threading.Lock()
        self._file = tempfile.SpooledTemporaryFile(max_size=_MAX_IN_MEMORY)  # noqa: SIM115
        weakref.finalize(self, self._file.close)

    @property
    def attributes(self) -> dict[int, Attribute]:
        """All attributes by the numbers that rows contain."""
        return self._attributes

    @property
    def convention(self) -> Convention:
        """The convention of the run."""
        return self._convention

    @property
    def name(self) -> str:
        """The name for messages."""
        return "the rows of the run"

    @property
    def is_large(self) -> bool:
        """Whether the rows are in a file."""
        return sum(self._sizes) > _MAX_IN_MEMORY

    def __reduce__(self) -> tuple[object, ...]:
        return _filled, (self._convention, self._attributes, list(self._contents()))

    def append(self, rows: Iterable[bytes], attributes: Iterable[NumberedAttribute] = ()) -> None:
        """Append the rows of a segment, and the attributes that they use for the first time."""
        content = b"".join(rows)
        self._attributes.update(attributes)
        try:
            with self._lock:
                self._file.seek(0, os.SEEK_END)
                self._file.write(content)
        except OSError as error:
            message = f"cannot write a temporary file: {error.strerror}"
            raise StorageError(message) from error
        self._sizes.append(len(content))

    def lines(self) -> Iterator[bytes]:
        """Yield the rows, a segment at a time."""
        for content in self._contents():
            yield from content.split(b"\n")[:-1]

    def _contents(self) -> Iterator[bytes]:
        start = 0
        for size in self._sizes:
            with self._lock:
                self._file.seek(start)
                content = self._file.read(size)
            start += size
            yield content


def _filled(
    convention: Convention, attributes: dict[int, Attribute], contents: Iterable[bytes]
) -> SpooledRows:
    """Return rows that were pickled."""
    rows = SpooledRows(convention)
    for content in contents:
        rows.append([content], attributes.items())
    return rows
