"""JSON values in memory as rows: whole JSON files and Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import orjson

from fieldmark.data.inputs import Role, RowsAre
from fieldmark.data.json_parser import JsonDialect, Row, UnreadableRow
from fieldmark.data.layout import ID_KEYS
from fieldmark.data.rows import RowBlock, RowSource
from fieldmark.errors import DataError, Location, with_hint
from fieldmark.model.json import JsonValue, conversion_to_rows
from fieldmark.values.plain_json import NotJsonError, copy_json

__all__ = [
    "ObjectSource",
    "ValueSource",
    "can_be_keyed",
    "ensure_documents",
    "ensure_json",
    "to_json_value",
]

_BLOCK_ROWS: Final = 256
_ACCEPTED: Final = "a file, a directory, an open file, a mapping or an iterable of documents"


def can_be_keyed(value: JsonValue) -> bool:
    """Return whether a value can be documents by id: an object of objects or lists."""
    return (
        isinstance(value, dict)
        and bool(value)
        and all(isinstance(document, dict | list) for document in value.values())
    )


@dataclass(slots=True)
class ValueSource(RowSource):
    """The rows of one JSON value."""

    value: JsonValue = None
    rows_are: RowsAre = RowsAre.DOCUMENT

    def __post_init__(self) -> None:
        self.in_memory = True
        self.settle(RowsAre.LIST if isinstance(self.value, list) else RowsAre.DOCUMENT)

    def settle(self, rows_are: RowsAre) -> None:
        """Read the value as a list of rows, as documents by id, or as one document."""
        wanted = {RowsAre.LIST: list, RowsAre.KEYED: dict}.get(rows_are, object)
        if not isinstance(self.value, wanted):
            raise DataError(
                f"expected {'a list of rows' if wanted is list else 'an object of rows by id'}",
                Location(self.name),
            )
        self.rows_are = rows_are

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order."""
        ids: list[str] | None = None
        rows: list[Row] = [self.value]
        if self.rows_are is RowsAre.KEYED and isinstance(self.value, dict):
            ids, rows = list(self.value), list(self.value.values())
        elif self.rows_are is RowsAre.LIST and isinstance(self.value, list):
            rows = list(self.value)
        for start in range(0, len(rows), _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            yield RowBlock(
                [dict(row) if isinstance(row, dict) else row for row in rows[part]],
                range(start + 1, start + 1 + len(rows[part])),
                None if ids is None else ids[part],
            )


@dataclass(slots=True)
class ObjectSource(RowSource):
    """The rows of an iterable of Python objects, converted to JSON when they are read.

    With `text`, rows may be model output or `None`, as predictions are.
    """

    objects: Iterable[object] = ()
    dialect: JsonDialect = field(default_factory=JsonDialect)
    text: bool = False

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order; an iterator can be read only once."""
        objects = iter(self.objects)
        first = 1
        while part := list(islice(objects, _BLOCK_ROWS)):
            rows = [self._row(value, place) for place, value in enumerate(part, first)]
            yield RowBlock(rows, range(first, first + len(rows)))
            first += len(rows)

    def _row(self, value: object, place: int) -> Row:
        # As a list, a named tuple would lose the names of its fields.
        named_tuple = isinstance(value, tuple) and hasattr(value, "_asdict")
        if named_tuple or not (
            isinstance(value, Mapping | list | tuple)
            or (self.text and isinstance(value, str | None))
        ):
            document = "a document (a mapping or a list)"
            expected = f"{document}, model output or None" if self.text else document
            got = type(value).__name__
            message = f"{self.describe(place)}: expected {expected}, got {got}"
            hint = "convert each row with row._asdict()" if named_tuple else ""
            raise DataError(with_hint(message, hint))
        try:
            return to_json_value(value, self.dialect)
        except NotJsonError as error:
            # A wrong argument is an error of the caller, not a problem in the data.
            raise DataError(f"{self.describe(place)}: {error.message}") from None
        except DataError as error:
            # The id of the row names its case.
            ids = {
                key: value[key] for key in ID_KEYS if isinstance(value, Mapping) and key in value
            }
            named = {key: each for key, each in ids.items() if isinstance(each, str | int)}
            return UnreadableRow(error.message, orjson.dumps(named) if named else b"")


def ensure_documents(given: object, name: str, accepted: str = _ACCEPTED) -> Iterable[object]:
    """Return an argument if it can be an iterable of documents, otherwise raise an error.

    The items of a data frame are the names of its columns, those of a mapping are its keys, and
    those of a set have no order.
    """
    refused = isinstance(given, str | bytes | bytearray | Mapping | AbstractSet)
    conversion = conversion_to_rows(given)
    if isinstance(given, Iterable) and not refused and not conversion:
        return given
    message = f"expected {accepted}, got {type(given).__name__}"
    raise DataError(with_hint(message, conversion), Location(name))


def ensure_json(value: object, role: Role = Role.CANDIDATE) -> JsonValue:
    """Return a copy of a document given by a caller, in plain JSON types.

    >>> ensure_json({"total": (1, 2)})
    {'total': [1, 2]}
    """
    return to_json_value(value, JsonDialect(role=role))


def to_json_value(value: object, dialect: JsonDialect) -> JsonValue:
    """Return a copy of a Python object as JSON, within the limits of a dialect.

    Ground truth must be finite; in candidates, NaN and infinite numbers are counted.
    """
    copied, non_finite = copy_json(value, dialect.limits, finite=dialect.role is Role.TRUTH)
    dialect.non_finite += non_finite
    return copied
