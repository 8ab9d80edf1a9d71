"""The plug-in protocols of readers, which turn files of other tools into rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import BinaryIO, ClassVar, Protocol

from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["ExportReader", "FileReader"]


class ExportReader(Protocol):
    """Reads exports that are JSON, selected by `--from`; a frozen dataclass.

    A row has the keys `id`, `expected` and `candidate`, as far as the export has them. A value that
    is not such an export raises `DataError`.
    """

    name: ClassVar[str]

    def rows(self, value: JsonValue) -> Sequence[JsonObject]:
        """Return the rows of an export."""
        ...


class FileReader(Protocol):
    """Reads files of another format, selected by their suffix; a frozen dataclass."""

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    def read(self, file: BinaryIO) -> Iterable[object]:
        """Yield the rows of a file: documents, or objects as in a JSONL file."""
        ...
