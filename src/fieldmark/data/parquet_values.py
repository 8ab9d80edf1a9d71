"""Values of Parquet columns as JSON: one table from the type of a column to how it is read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias, cast

from fieldmark.data.exact import decode
from fieldmark.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

__all__ = ["Reader", "reader_of"]

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
