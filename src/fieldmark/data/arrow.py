"""Rows of Arrow tables as documents, for Parquet files and for tables in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import numpy as np

from fieldmark.data.json_parser import decode
from fieldmark.errors import DataError
from fieldmark.values.strict_json import first_repeated

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


_PANDAS_INDEX: Final = re.compile(r"__index_level_\d+__\Z")
"""The column that contains the row labels of pandas, if they have no name."""

Converter: TypeAlias = Callable[[object], object]
"""Converts a value that is not null to one that `copy_json` accepts."""


def column_converters(schema: pa.Schema) -> dict[str, Converter]:
    """Return the converters of all columns; raise an error for a type without JSON equivalent."""
    columns = [each for each in schema if not _PANDAS_INDEX.match(each.name)]
    duplicate = first_repeated([each.name for each in columns])
    if duplicate is not None:
        raise DataError(f"duplicate column {duplicate!r}")
    return {each.name: _converter(each.type, each.name) for each in columns}


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
        members = {each.name: _converter(each.type, f"{name}.{each.name}") for each in kind}
        return lambda value: convert_members(cast("dict[str, object]", value), members)
    if types.is_map(kind):
        return _map_converter(kind, name)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        convert_item = _converter(kind.value_type, name)
        return lambda value: [_convert(convert_item, each) for each in cast("list[object]", value)]
    scalars: tuple[tuple[tuple[Callable[[pa.DataType], bool], ...], Converter], ...] = (
        ((types.is_null, types.is_boolean, types.is_integer, types.is_float64), _unchanged),
        ((types.is_string, types.is_large_string, types.is_string_view), _unchanged),
        ((types.is_decimal, types.is_date, types.is_time, types.is_timestamp), _unchanged),
        ((types.is_float32, types.is_float16), _short_float),
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
        made: dict[str, object] = {}
        for key, member in cast("list[tuple[str, object]]", value):
            if key in made:
                raise DataError(f"duplicate key {key!r}")
            made[key] = _convert(converter, member)
        return made

    return convert


def _convert(converter: Converter, value: object) -> object:
    return None if value is None else converter(value)


def _unchanged(value: object) -> object:
    return value


def _short_float(value: object) -> object:
    """Return a single-precision number with its shortest digits: 0.1, not 0.10000000149011612."""
    return np.float32(cast("float", value))
