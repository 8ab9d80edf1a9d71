"""Documents and data sets that are Python objects."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Final, cast

from fieldmark.data.json_parser import JsonDialect, Role
from fieldmark.errors import InputTypeError, Location, with_hint
from fieldmark.model.json import JsonValue
from fieldmark.values.plain_json import (
    class_names,
    copy_json,
    defines,
    is_series,
    is_table,
    record_reader,
)

_ACCEPTED: Final = (
    "a file, a directory, an open file, a mapping, a data frame or an iterable of documents"
)
_OF_FRAMES: Final = ("to_dict", "to_pandas", "compute")
"""Methods of data frames of other libraries, whose items are the names of their columns."""


def is_record(given: object) -> bool:
    """Return whether an argument is one document by its fields: a mapping, a model and so on."""
    return record_reader(type(given)) is not None


def ensure_documents(given: object, name: str, accepted: str = _ACCEPTED) -> Iterable[object]:
    """Return an argument if it can be an iterable of documents, otherwise raise an error.

    The items of a data frame are the names of its columns, those of a mapping are its keys, and
    those of a set have no order. A missing value in a column of a data frame is `None`.
    """
    kind = type(given)
    if is_series(kind):
        series = cast("Iterable[object]", given)
        return [None if _is_missing(each) else each for each in series]
    refused = issubclass(kind, str | bytes | bytearray | memoryview | AbstractSet)
    table = is_table(kind) or any(defines(kind, "columns", each) for each in _OF_FRAMES)
    if issubclass(kind, Iterable) and not (refused or table or is_record(given)):
        return cast("Iterable[object]", given)
    hint = "call its method collect first" if ("polars", "LazyFrame") in class_names(kind) else ""
    message = f"expected {accepted}, got {kind.__name__}"
    raise InputTypeError(with_hint(message, hint), Location(name))


def _is_missing(value: object) -> bool:
    """Return whether a cell is NaN or one of the missing values of pandas."""
    if isinstance(value, float):
        return value != value  # noqa: PLR0124 - only NaN does not equal itself
    return not {("pandas", "NAType"), ("pandas", "NaTType")}.isdisjoint(class_names(type(value)))


def ensure_json(value: object, role: Role = Role.CANDIDATE) -> JsonValue:
    """Return a copy of a document given by a caller, in plain JSON types.

    >>> ensure_json({"total": (1, 2)})
    {'total': [1, 2]}
    """
    return to_json_value(value, JsonDialect(role=role))


def to_json_value(value: object, dialect: JsonDialect, *, nan_is_null: bool = False) -> JsonValue:
    """Return a copy of a Python object as JSON, within the limits of a dialect.

    Ground truth must be finite; in candidates, NaN and infinite numbers are counted.
    """
    copied, non_finite = copy_json(
        value, dialect.limits, finite=dialect.role is Role.TRUTH, nan_is_null=nan_is_null
    )
    dialect.non_finite += non_finite
    return copied
