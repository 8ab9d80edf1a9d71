"""Parquet: one row a case, read a few rows at a time; columns become keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fieldmark.data.exact import Grammar
from fieldmark.data.files import open_file
from fieldmark.data.parquet_values import Reader, reader_of
from fieldmark.data.parsing import Row, Unreadable
from fieldmark.data.rows import RowBlock, SourceBase, located
from fieldmark.data.values import as_json
from fieldmark.errors import DataError, LimitError, Location, MissingExtra
from fieldmark.model.json import JsonValue

if TYPE_CHECKING:
    from pyarrow import RecordBatch  # type: ignore[import-untyped]
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]

__all__ = ["ParquetSource"]

_BLOCK: Final = 16
"""Rows that are unpacked at once: few, because a small file may unpack to large values."""

_INDEX: Final = re.compile(r"__index_level_\d+__\Z")
"""The column in which pandas keeps the numbers of its rows."""


@dataclass(slots=True)
class ParquetSource(SourceBase):
    """Rows of a Parquet file. It has no absent values: what is not there is null."""

    grammar: Grammar = field(default_factory=Grammar)
    rows: int = field(default=0, init=False)
    readers: dict[str, Reader] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        opened = open_file(Path(self.name))
        self.bytes_total = opened.size
        try:
            file = self._file(opened.file)
            self.rows = file.metadata.num_rows
            self.readers = self._columns(file)
        finally:
            opened.close()

    def blocks(self) -> Iterator[RowBlock]:
        """The rows in their order."""
        opened = open_file(Path(self.name))
        first = 1
        try:
            for batch in self._batches(self._file(opened.file)):
                rows = list(map(self._row, batch))
                yield RowBlock(rows, range(first, first + len(rows)))
                first += len(rows)
                self.bytes_read = max(
                    self.bytes_read, self.bytes_total * (first - 1) // max(1, self.rows)
                )
        finally:
            opened.close()

    def _file(self, file: object) -> ParquetFile:
        try:
            import pyarrow as pa
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise MissingExtra("reading Parquet", "tables") from error
        try:
            return ParquetFile(file, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(error) from None

    def _columns(self, file: ParquetFile) -> dict[str, Reader]:
        columns = [each for each in file.schema_arrow if not _INDEX.match(each.name)]
        names = [each.name for each in columns]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise DataError(f"the column {name!r} occurs twice", Location(self.name))
        try:
            return {each.name: reader_of(each.type, each.name) for each in columns}
        except DataError as error:
            raise located(error, Location(self.name)) from None

    def _batches(self, file: ParquetFile) -> Iterator[list[dict[str, object]]]:
        """The rows as Python holds them; a row beyond the limit is refused before it is made."""
        import pyarrow as pa

        done = 0
        try:
            for batch in file.iter_batches(_BLOCK, columns=list(self.readers), use_threads=False):
                self._check_size(batch, done)
                done += batch.num_rows
                yield batch.to_pylist()
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise self._unreadable(error) from None

    def _check_size(self, batch: RecordBatch, done: int) -> None:
        limit = self.grammar.limits.line_bytes
        if batch.nbytes <= limit:
            return
        for place in range(batch.num_rows):
            if batch.slice(place, 1).nbytes > limit:
                said = f"{self.phrase(done + place + 1)}: the row is larger than {limit:,} bytes"
                raise LimitError("line_bytes", said)

    def _row(self, cells: dict[str, object]) -> Row:
        readers = self.readers
        try:
            read = {
                name: None if value is None else readers[name](value)
                for name, value in cells.items()
            }
            row = as_json(read, self.grammar)
            _check_nodes(row, self.grammar.limits.nodes)
        except DataError as error:
            return Unreadable(error.message)
        return row

    def _unreadable(self, error: Exception) -> DataError:
        said = str(error).split("\n", 1)[0]
        return DataError(f"not Parquet that can be read: {said}", Location(self.name))


def _check_nodes(row: JsonValue, most: int) -> None:
    """Refuse a row with more values than a document may hold; looked at level by level."""
    level: list[JsonValue] = [row]
    seen = 0
    while level:
        seen += len(level)
        if seen > most:
            raise LimitError("nodes", f"more than {most:,} values")
        below: list[JsonValue] = []
        for item in level:
            if isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
        level = below
