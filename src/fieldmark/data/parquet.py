"""Parquet files: one row per case, read a few rows at a time; columns become keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, cast

from fieldmark.data.json_documents import to_json_value
from fieldmark.data.json_parser import JsonDialect, Row, UnreadableRow, decode
from fieldmark.data.rows import RowBlock, RowSource, with_location
from fieldmark.errors import DataError, LimitError, Location, MissingExtra
from fieldmark.values.strict_json import first_repeated

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]

__all__ = ["ParquetSource"]

_BLOCK_ROWS: Final = 16
"""The number of rows that are decompressed together, because a small file can have large values."""
_PANDAS_INDEX: Final = re.compile(r"__index_level_\d+__\Z")
"""The column that contains the row labels of pandas."""

_Converter: TypeAlias = Callable[[object], object]
"""Converts a value that is not null to a JSON value."""


@dataclass(slots=True)
class ParquetSource(RowSource):
    """Rows of a Parquet file; absent values are null."""

    is_table: ClassVar[bool] = True
    dialect: JsonDialect = field(default_factory=JsonDialect)
    rows: int = field(default=0, init=False)
    converters: dict[str, _Converter] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        opened = self.open_file()
        self.bytes_total = opened.size
        try:
            file = self._parquet_file(opened.file)
            self.rows = file.metadata.num_rows
            self.converters = self._column_converters(file)
        finally:
            opened.close()

    def blocks(self) -> Iterator[RowBlock]:
        """Read the rows in order."""
        opened = self.open_file()
        done = 0
        try:
            for batch in self._batches(self._parquet_file(opened.file)):
                rows = list(map(self._row, batch))
                yield RowBlock(rows, range(done + 1, done + 1 + len(rows)))
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

    def _column_converters(self, file: ParquetFile) -> dict[str, _Converter]:
        columns = [each for each in file.schema_arrow if not _PANDAS_INDEX.match(each.name)]
        duplicate = first_repeated([each.name for each in columns])
        if duplicate is not None:
            raise DataError(f"duplicate column {duplicate!r}", Location(self.name))
        try:
            return {each.name: _converter(each.type, each.name) for each in columns}
        except DataError as error:
            raise with_location(error, Location(self.name)) from None

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

    def _row(self, cells: dict[str, object]) -> Row:
        try:
            return to_json_value(_convert_members(cells, self.converters), self.dialect)
        except DataError as error:
            return UnreadableRow(error.message)

    def _read_error(self, error: Exception) -> DataError:
        reason = str(error).split("\n", 1)[0]
        return DataError(f"cannot read Parquet: {reason}", Location(self.name))


def _converter(kind: pa.DataType, name: str) -> _Converter:
    """Return the converter of a type; raise an error for a type without a JSON equivalent."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _converter(kind.value_type, name)
    if types.is_struct(kind):
        duplicate = first_repeated([member.name for member in kind])
        if duplicate is not None:
            raise DataError(f"column {name!r} has a duplicate field {duplicate!r}")
        members = {each.name: _converter(each.type, f"{name}.{each.name}") for each in kind}
        return lambda value: _convert_members(cast("dict[str, object]", value), members)
    if types.is_map(kind):
        return _map_converter(kind, name)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        convert_item = _converter(kind.value_type, name)
        return lambda value: [_convert(convert_item, each) for each in cast("list[object]", value)]
    scalars: tuple[tuple[tuple[Callable[[pa.DataType], bool], ...], _Converter], ...] = (
        ((types.is_null, types.is_boolean, types.is_integer, types.is_float64), _unchanged),
        ((types.is_string, types.is_large_string, types.is_string_view), _unchanged),
        ((types.is_float32, types.is_float16), _short_float),
        ((types.is_decimal,), _decimal),
        (
            (types.is_binary, types.is_large_binary, types.is_fixed_size_binary),
            lambda value: decode(cast("bytes", value)),
        ),
        (
            (types.is_date, types.is_time, types.is_timestamp),
            lambda value: cast("date | time | datetime", value).isoformat(),
        ),
    )
    for predicates, converter in scalars:
        if any(belongs(kind) for belongs in predicates):
            return converter
    raise DataError(f"column {name!r} has type {kind}, which has no JSON equivalent")


def _map_converter(kind: pa.DataType, name: str) -> _Converter:
    from pyarrow import types

    key = kind.key_type
    if not (types.is_string(key) or types.is_large_string(key) or types.is_string_view(key)):
        raise DataError(f"column {name!r} is a map with keys of type {key}, expected strings")
    converter = _converter(kind.item_type, name)

    def convert(value: object) -> object:
        made: dict[str, object] = {}
        for key, member in cast("list[tuple[str, object]]", value):
            if key in made:
                raise DataError(f"duplicate key {key!r}")
            made[key] = _convert(converter, member)
        return made

    return convert


def _convert_members(
    members: dict[str, object], converters: dict[str, _Converter]
) -> dict[str, object]:
    return {key: _convert(converters[key], member) for key, member in members.items()}


def _convert(converter: _Converter, value: object) -> object:
    return None if value is None else converter(value)


def _unchanged(value: object) -> object:
    return value


def _short_float(value: object) -> object:
    """Return a single-precision number with its shortest digits: 0.1, not 0.10000000149011612."""
    import numpy as np

    return float(str(np.float32(cast("float", value))))


def _decimal(value: object) -> object:
    """Return a decimal as an integer if it has no fraction, otherwise as a float."""
    number = cast("Decimal", value)
    return int(number) if number.as_tuple().exponent == 0 else float(number)
