"""Values of Parquet columns as JSON: one table from the type of a column to how it is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from fieldmark.data.files import open_file
from fieldmark.data.json_documents import to_json_value
from fieldmark.data.json_parser import JsonDialect, Row, UnreadableRow, decode
from fieldmark.data.rows import RowBlock, SourceBase, located
from fieldmark.errors import DataError, LimitError, Location, MissingExtra
from fieldmark.model.json import JsonValue

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]

__all__ = ["ParquetSource", "Reader", "reader_of"]

Reader: TypeAlias = Callable[[object], object]
"""Turns a value that is not null into one that JSON has."""


def reader_of(kind: pa.DataType, name: str) -> Reader:
    """How values of a type are read; a type that JSON has no value for is refused by its name."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return reader_of(kind.value_type, name)
    if types.is_struct(kind):
        return _struct(kind, name)
    if types.is_map(kind):
        return _map(kind, name)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _list(reader_of(kind.value_type, name))
    for belongs, reader in _plain_types():
        if belongs(kind):
            return reader
    raise DataError(f"the column {name!r} holds {kind}, which JSON has no value for")


def _plain_types() -> tuple[tuple[Callable[[pa.DataType], bool], Reader], ...]:
    from pyarrow import types

    return (
        (types.is_null, _as_it_is),
        (types.is_boolean, _as_it_is),
        (types.is_integer, _as_it_is),
        (types.is_float64, _as_it_is),
        (types.is_float32, _short_float),
        (types.is_float16, _short_float),
        (types.is_decimal, _decimal),
        (_is_text, _as_it_is),
        (_is_bytes, _bytes),
        (types.is_date, _moment),
        (types.is_time, _moment),
        (types.is_timestamp, _moment),
    )


def _is_text(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(
        types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    )


def _struct(kind: pa.DataType, name: str) -> Reader:
    names = [field.name for field in kind]
    if twice := [each for place, each in enumerate(names) if each in names[:place]]:
        raise DataError(f"the column {name!r} has {twice[0]!r} twice")
    readers = {field.name: reader_of(field.type, f"{name}.{field.name}") for field in kind}

    def read(value: object) -> object:
        members = cast("dict[str, object]", value)
        return {key: _read(readers[key], member) for key, member in members.items()}

    return read


def _map(kind: pa.DataType, name: str) -> Reader:
    if not _is_text(kind.key_type):
        raise DataError(f"the column {name!r} is a map with keys of {kind.key_type}, not of text")
    reader = reader_of(kind.item_type, name)

    def read(value: object) -> object:
        made: dict[str, object] = {}
        for key, member in cast("list[tuple[str, object]]", value):
            if key in made:
                raise DataError(f"the key {key!r} occurs twice")
            made[key] = _read(reader, member)
        return made

    return read


def _list(reader: Reader) -> Reader:
    return lambda value: [_read(reader, item) for item in cast("list[object]", value)]


def _read(reader: Reader, value: object) -> object:
    return None if value is None else reader(value)


def _as_it_is(value: object) -> object:
    return value


def _short_float(value: object) -> object:
    """A number of single precision as people write it: 0.1, and not 0.10000000149011612."""
    import numpy as np

    return float(str(np.float32(cast("float", value))))


def _decimal(value: object) -> object:
    """A decimal as JSON would give it back: whole where it has no fraction, else a float."""
    number = cast("Decimal", value)
    return int(number) if number.as_tuple().exponent == 0 else float(number)


def _bytes(value: object) -> object:
    return decode(cast("bytes", value))


def _moment(value: object) -> object:
    return cast("date | time | datetime", value).isoformat()


_BLOCK: Final = 16
"""Rows that are unpacked at once: few, because a small file may unpack to large values."""

_INDEX: Final = re.compile(r"__index_level_\d+__\Z")
"""The column in which pandas keeps the numbers of its rows."""


@dataclass(slots=True)
class ParquetSource(SourceBase):
    """Rows of a Parquet file. It has no absent values: what is not there is null."""

    dialect: JsonDialect = field(default_factory=JsonDialect)
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
        limit = self.dialect.limits.line_bytes
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
            row = to_json_value(read, self.dialect)
            _check_nodes(row, self.dialect.limits.nodes)
        except DataError as error:
            return UnreadableRow(error.message)
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
