"""Parquet files: one row per case, read a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from fieldmark.data.file_blocks import BlockRange, FileBlock
from fieldmark.data.rows import RowBlock, changed_error
from fieldmark.data.tables import TableSource
from fieldmark.errors import DataError, LimitError, Location, MissingExtra

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile, RowGroupMetaData  # type: ignore[import-untyped]


_BLOCK_ROWS: Final = 16
"""The number of rows that are decompressed together, because a small file can have large values."""


@dataclass(slots=True)
class ParquetSource(TableSource):
    """Rows of a Parquet file, which distinguishes null and NaN."""

    nan_is_null: ClassVar[bool] = False
    rows: int = field(default=0, init=False)
    groups: tuple[FileBlock, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        opened = self.open_file()
        self.bytes_total = opened.size
        try:
            file = self._parquet_file(opened.file)
            metadata = file.metadata
            self.rows = metadata.num_rows
            groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
            self.groups = tuple(
                FileBlock(number, _compressed_size(group), group.num_rows)
                for number, group in enumerate(groups)
            )
            self._read_schema(file.schema_arrow)
        finally:
            opened.close()

    def blocks(self) -> Iterator[RowBlock]:
        """Read the rows in order."""
        opened = self.open_file()
        done = 0
        try:
            for rows in self._batches(self._parquet_file(opened.file)):
                yield self._block(rows, done + 1)
                done += len(rows)
                progress = self.bytes_total * done // max(1, self.rows)
                self.bytes_read = max(self.bytes_read, progress)
        finally:
            opened.close()

    def _parquet_file(self, file: object) -> ParquetFile:
        try:
            import pyarrow as pa  # type: ignore[import-untyped]
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise MissingExtra("reading Parquet", "tables") from error
        try:
            return ParquetFile(file, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            raise self._read_error(error) from None

    def _batches(
        self, file: ParquetFile, group: int = 0, skip: int = 0
    ) -> Iterator[list[dict[str, object]]]:
        """Yield rows as Python objects, from a row group on; too large a row is an error."""
        import pyarrow as pa

        limit = self.dialect.limits.line_bytes
        columns = list(self.converters)
        done = sum(each.lines for each in self.groups[:group])
        first, groups = done + skip, range(group, len(self.groups))
        try:
            for read in file.iter_batches(_BLOCK_ROWS, groups, columns, use_threads=False):
                batch = read
                if done < first:
                    passed = min(first - done, batch.num_rows)
                    batch, done = batch.slice(passed), done + passed
                    if not batch.num_rows:
                        continue
                if batch.nbytes > limit:
                    for place in range(batch.num_rows):
                        if batch.slice(place, 1).nbytes > limit:
                            row = self.describe(done + place + 1)
                            message = f"{row}: row exceeds the limit of {limit:,} bytes"
                            raise LimitError("line_bytes", message)
                done += batch.num_rows
                yield batch.to_pylist()
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise self._read_error(error) from None

    def _read_error(self, error: Exception) -> DataError:
        reason = str(error).split("\n", 1)[0]
        return DataError(f"cannot read Parquet: {reason}", Location(self.name))


@dataclass(slots=True)
class RowGroupSource(ParquetSource):
    """Some rows of a Parquet file at a time; consecutive rows are read in one pass."""

    part: BlockRange = field(default=BlockRange(0, 0, 0, 1, 0), init=False)
    _next: int = field(default=0, init=False)
    _held: list[dict[str, object]] = field(default_factory=list, init=False)
    _rest: Iterator[list[dict[str, object]]] = field(default=iter(()), init=False)

    def blocks(self) -> Iterator[RowBlock]:
        """Read the rows of the part."""
        start, skip, lines, first, _ = self.part
        if self._next != first:
            self.end()
            file = self._parquet_file(self.open_file().file)
            self._held, self._rest = [], self._batches(file, start, skip)
        self._next, end = first, first + lines
        while self._next < end:
            rows = self._held or next(self._rest, [])
            if not rows:
                raise changed_error(self.name)
            number = min(len(rows), end - self._next)
            yield self._block(rows[:number], self._next)
            self._held = rows[number:]
            self._next += number

    def close(self) -> None:
        """Keep the file open for the following rows."""

    def end(self) -> None:
        """Close the file."""
        ParquetSource.close(self)
        self.files.clear()


def _compressed_size(group: RowGroupMetaData) -> int:
    columns = (group.column(number) for number in range(group.num_columns))
    return sum(column.total_compressed_size for column in columns)
