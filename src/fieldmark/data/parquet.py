"""Parquet files: one row per case, read a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from fieldmark.data.rows import RowBlock
from fieldmark.data.tables import TableSource
from fieldmark.errors import DataError, LimitError, Location, MissingExtra

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]

__all__ = ["ParquetSource"]

_BLOCK_ROWS: Final = 16
"""The number of rows that are decompressed together, because a small file can have large values."""


@dataclass(slots=True)
class ParquetSource(TableSource):
    """Rows of a Parquet file, which distinguishes null and NaN."""

    nan_is_null: ClassVar[bool] = False
    rows: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        opened = self.open_file()
        self.bytes_total = opened.size
        try:
            file = self._parquet_file(opened.file)
            self.rows = file.metadata.num_rows
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

    def _batches(self, file: ParquetFile) -> Iterator[list[dict[str, object]]]:
        """Yield rows as Python objects; a row beyond the size limit is an error."""
        import pyarrow as pa

        limit = self.dialect.limits.line_bytes
        columns = list(self.converters)
        done = 0
        try:
            for batch in file.iter_batches(_BLOCK_ROWS, columns=columns, use_threads=False):
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
