"""Typed tables, one row per case: data frames and Arrow tables in memory, and Parquet files.

Columns are named and nested as in CSV files, but cells keep their types. Frames of pandas are read
by column, because Arrow cannot represent columns with objects of several types. All other tables
are read as streams of Arrow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, TypeAlias, cast

from fieldmark.data.file_blocks import BlockRange, FileBlock
from fieldmark.data.json_parser import JsonDialect, Role, Row, UnreadableRow, decode
from fieldmark.data.json_rows import to_json_value, unreadable_row
from fieldmark.data.rows import RowBlock, RowSource, changed_error
from fieldmark.data.spreadsheets import Columns, add_column_note, read_header
from fieldmark.errors import (
    DataError,
    InputTypeError,
    LimitError,
    Location,
    MissingExtra,
    with_location,
)
from fieldmark.model.json import JsonObject
from fieldmark.values.arrays import np
from fieldmark.values.json_text import first_repeated
from fieldmark.values.plain_json import class_names

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]


_PANDAS_INDEX: Final = re.compile(r"__index_level_\d+__\Z")
"""The column that contains the row labels of pandas, if they have no name."""

Converter: TypeAlias = Callable[[object], object]
"""Converts a value that is not null to one that `copy_json` accepts."""


def convert_members(
    members: Mapping[str, object], converters: Mapping[str, Converter]
) -> dict[str, object]:
    """Return the members of a row or a struct, converted."""
    return {key: _convert(converters[key], member) for key, member in members.items()}


def _converter(kind: pa.DataType, name: str) -> Converter:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _converter(kind.value_type, name)
    if types.is_struct(kind):
        duplicate = first_repeated([member.name for member in kind])
        if duplicate is not None:
            raise DataError(f"column {name!r} has a duplicate field {duplicate!r}")
        members = {member.name: _converter(member.type, f"{name}.{member.name}") for member in kind}
        return lambda value: convert_members(cast("dict[str, object]", value), members)
    if types.is_map(kind):
        return _map_converter(kind, name)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        convert_item = _converter(kind.value_type, name)
        return lambda value: [_convert(convert_item, item) for item in cast("list[object]", value)]
    scalars: tuple[tuple[tuple[Callable[[pa.DataType], bool], ...], Converter], ...] = (
        ((types.is_null, types.is_boolean, types.is_integer, types.is_float64), _unchanged),
        ((types.is_string, types.is_large_string, types.is_string_view), _unchanged),
        ((types.is_decimal, types.is_date, types.is_time, types.is_timestamp), _unchanged),
        # The shortest digits of a single-precision number: 0.1, not 0.10000000149011612.
        (
            (types.is_float32, types.is_float16),
            lambda value: np.float32(cast("float", value)),
        ),
        (
            (
                types.is_binary,
                types.is_large_binary,
                types.is_fixed_size_binary,
                types.is_binary_view,
            ),
            lambda value: decode(cast("bytes", value)),
        ),
    )
    for predicates, converter in scalars:
        if any(belongs(kind) for belongs in predicates):
            return converter
    raise DataError(f"column {name!r} has type {kind}, which has no JSON equivalent")


def _map_converter(kind: pa.DataType, name: str) -> Converter:
    from pyarrow import types

    key = kind.key_type
    if not (types.is_string(key) or types.is_large_string(key) or types.is_string_view(key)):
        raise DataError(f"column {name!r} is a map with keys of type {key}, expected strings")
    converter = _converter(kind.item_type, name)

    def convert(value: object) -> object:
        converted: dict[str, object] = {}
        for key, member in cast("list[tuple[str, object]]", value):
            if key in converted:
                raise DataError(f"duplicate key {key!r}")
            converted[key] = _convert(converter, member)
        return converted

    return convert


def _convert(converter: Converter, value: object) -> object:
    return None if value is None else converter(value)


def _unchanged(value: object) -> object:
    return value


_BLOCK_ROWS: Final = 256
_DOUBLE: Final = 8
_POLARS: Final = ("polars", "DataFrame")
_HUGGING_FACE: Final = ("datasets", "Dataset")
_READ_AGAIN: Final = frozenset(
    {_POLARS, ("pyarrow", "Table"), ("pyarrow", "RecordBatch"), _HUGGING_FACE}
)
"""Other streams can perhaps be read only once."""


class _Dataset(Protocol):
    """A data set of Hugging Face."""

    features: _Features

    def with_format(self, kind: str) -> _Dataset: ...

    def iter(self, batch_size: int) -> Iterator[pa.Table]: ...


class _Features(Protocol):
    arrow_schema: pa.Schema


def open_table(table: object, dialect: JsonDialect, side: str) -> TableSource:
    """Open the rows of a table in memory; `is_table` is true for it."""
    if ("pandas", "DataFrame") in class_names(type(table)):
        return _PandasSource(side, dialect, frame=cast("pd.DataFrame", table))
    return _ArrowSource(side, dialect, table=table)


def read_table(table: object, name: str) -> list[JsonObject]:
    """Return all rows of a table in memory as documents."""
    source = open_table(table, JsonDialect(role=Role.CANDIDATE), name)
    rows: list[JsonObject] = []
    for block in source.blocks():
        for row, position in zip(block.rows, block.positions, strict=True):
            if not isinstance(row, dict):
                reason = row.reason if isinstance(row, UnreadableRow) else "not an object"
                raise DataError(f"{source.describe(position)}: {reason}")
            rows.append(row)
    return rows


@dataclass(slots=True)
class TableSource(RowSource):
    """The rows of a table; a missing value is null, and with `nan_is_null`, NaN is too."""

    is_table: ClassVar[bool] = True
    nan_is_null: ClassVar[bool] = True
    dialect: JsonDialect = field(default_factory=JsonDialect)
    columns: Columns = field(init=False)
    converters: Mapping[str, Converter] = field(default_factory=dict, init=False)

    def _read_columns(self, names: list[str]) -> None:
        """Determine how columns become keys."""
        if not names:
            raise DataError("the table has no columns", Location(self.name))
        try:
            self.columns = read_header(names, self.dialect.limits)
        except DataError as error:
            raise with_location(error, Location(self.name)) from None
        add_column_note(self, self.columns)

    def _read_schema(self, schema: pa.Schema) -> None:
        columns = [column for column in schema if not _PANDAS_INDEX.match(column.name)]
        duplicate = first_repeated([column.name for column in columns])
        if duplicate is not None:
            raise DataError(f"duplicate column {duplicate!r}", Location(self.name))
        try:
            self.converters = {
                column.name: _converter(column.type, column.name) for column in columns
            }
        except DataError as error:
            raise with_location(error, Location(self.name)) from None
        self._read_columns(list(self.converters))

    def _block(self, rows: Iterable[dict[str, object]], first: int) -> RowBlock:
        """Return rows as documents; the first one has the number `first`."""
        read = [self._row(cells, position) for position, cells in enumerate(rows, first)]
        return RowBlock(read, range(first, first + len(read)))

    def _row(self, cells: dict[str, object], position: int) -> Row:
        try:
            converted = convert_members(cells, self.converters) if self.converters else cells
            document = to_json_value(converted, self.dialect, nan_is_null=self.nan_is_null)
        except InputTypeError as error:
            raise InputTypeError(f"{self.describe(position)}: {error.message}") from error.__cause__
        except DataError as error:
            return unreadable_row(error.message, cells)
        if self.columns.steps is None or not isinstance(document, dict):
            return document
        return self.columns.row([*document.values()], self.dialect.limits)


@dataclass(slots=True)
class _PandasSource(TableSource):
    """The rows of a frame of pandas; levels of the index that have a name are columns too."""

    frame: pd.DataFrame = field(kw_only=True)
    levels: list[int] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        index = self.frame.index
        self.levels = [level for level, name in enumerate(index.names) if name is not None]
        names = [*(index.names[level] for level in self.levels), *self.frame.columns]
        for name in names:
            if not isinstance(name, str):
                message = f"the name of column {name!r} is not a string; rename the column"
                raise DataError(message, Location(self.name))
        self._read_columns([str.__str__(name) for name in names])
        if not self.levels and index.dtype.kind not in "iu":
            self.warnings.append(
                f"{self.name or 'data frame'}: the index has no name and is ignored; to pair rows "
                "by it, name it with df.rename_axis('id')"
            )

    def blocks(self) -> Iterator[RowBlock]:
        """Convert the rows in order."""
        names = self.columns.names
        for start in range(0, len(self.frame), _BLOCK_ROWS):
            part = self.frame.iloc[start : start + _BLOCK_ROWS]
            labels = [part.index.get_level_values(index).tolist() for index in self.levels]
            cells = [_cells(part.iloc[:, index]) for index in range(part.shape[1])]
            rows = zip(*labels, *cells, strict=True)
            yield self._block((dict(zip(names, row, strict=True)) for row in rows), start + 1)


def _cells(column: pd.Series) -> list[object]:
    """Return the cells of a column; numbers of single precision stay such numbers."""
    size: int = getattr(column.dtype, "itemsize", _DOUBLE)
    if column.dtype.kind == "f" and size < _DOUBLE:
        return list(column.to_numpy(f"f{size}", na_value=float("nan")))
    return column.tolist()


@dataclass(slots=True)
class _ArrowSource(TableSource):
    """The rows of a table that is a stream of Arrow."""

    table: object = field(kw_only=True)
    reader: pa.RecordBatchReader | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        # If rows cannot be read again, rows that are out of order must be in memory.
        self.in_memory = self.read_once = _READ_AGAIN.isdisjoint(class_names(type(self.table)))
        self.reader = self._open()
        self._read_schema(self.reader.schema)

    def blocks(self) -> Iterator[RowBlock]:
        """Convert the rows in order; some streams can be read only once."""
        reader, self.reader = self.reader, None
        if reader is None:
            if self.read_once:
                return
            reader = self._open()
        first = 1
        for rows in self._batches(reader):
            yield self._block(rows, first)
            first += len(rows)

    def _open(self) -> pa.RecordBatchReader:
        try:
            import pyarrow as pa
        except ImportError as error:
            raise MissingExtra("reading tables", "tables") from error
        names = class_names(type(self.table))
        try:
            if _HUGGING_FACE in names:
                data = cast("_Dataset", self.table)
                tables = data.with_format("arrow").iter(batch_size=_BLOCK_ROWS)
                batches = (batch for table in tables for batch in table.to_batches())
                return pa.RecordBatchReader.from_batches(data.features.arrow_schema, batches)
            if _POLARS in names:
                self._refuse_objects()
            return pa.RecordBatchReader.from_stream(self.table)
        except DataError:
            raise
        except Exception as error:
            type_name = type(self.table).__name__
            message = f"cannot read {type_name} as a table: {_reason(error)}"
            raise InputTypeError(message, Location(self.name)) from error

    def _refuse_objects(self) -> None:
        """Raise an error for columns of Python objects, which polars exports as addresses."""
        columns = cast("Mapping[str, object]", getattr(self.table, "schema", {}))
        for name, kind in columns.items():
            if str(kind) == "Object":
                message = f"column {name!r} has type Object, which has no JSON equivalent"
                raise DataError(message, Location(self.name))

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[list[dict[str, object]]]:
        try:
            for batch in reader:
                columns = batch.select(list(self.converters))
                for start in range(0, columns.num_rows, _BLOCK_ROWS):
                    yield columns.slice(start, _BLOCK_ROWS).to_pylist()
        except Exception as error:
            message = f"cannot read the table: {_reason(error)}"
            raise DataError(message, Location(self.name)) from error


def _reason(error: Exception) -> str:
    return str(error).split("\n", 1)[0] or type(error).__name__


# --- Parquet files --------------------------------------------------------------------------------

_PARQUET_ROWS: Final = 16
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
            groups: list[FileBlock] = []
            for number in range(metadata.num_row_groups):
                group = metadata.row_group(number)
                columns = (group.column(index) for index in range(group.num_columns))
                size = sum(column.total_compressed_size for column in columns)
                groups.append(FileBlock(number, size, group.num_rows))
            self.groups = tuple(groups)
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
            import pyarrow as pa
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
        done = sum(row_group.lines for row_group in self.groups[:group])
        first, groups = done + skip, range(group, len(self.groups))
        try:
            for read in file.iter_batches(_PARQUET_ROWS, groups, columns, use_threads=False):
                batch = read
                if done < first:
                    passed = min(first - done, batch.num_rows)
                    batch, done = batch.slice(passed), done + passed
                    if not batch.num_rows:
                        continue
                if batch.nbytes > limit:
                    for index in range(batch.num_rows):
                        if batch.slice(index, 1).nbytes > limit:
                            row = self.describe(done + index + 1)
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
