"""JSON values in memory as rows: whole JSON files and Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from fieldmark.data.inputs import RowsAre
from fieldmark.data.json_parser import JsonDialect, Row, UnreadableRow
from fieldmark.data.python_objects import to_json_value
from fieldmark.data.rows import ID_KEYS, RowBlock, RowSource
from fieldmark.errors import DataError, InputTypeError, Location
from fieldmark.model.json import JsonValue
from fieldmark.values.canonical import canonical_text
from fieldmark.values.plain_json import may_be_document

_BLOCK_ROWS: Final = 256
_DOCUMENT: Final = "a document (a mapping, a list, a model or a dataclass)"


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

    def __post_init__(self) -> None:
        self.in_memory = True
        self.read_once = iter(self.objects) is self.objects

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order; an iterator can be read only once."""
        objects = iter(self.objects)
        first = 1
        while part := list(islice(objects, _BLOCK_ROWS)):
            rows = [self._row(value, place) for place, value in enumerate(part, first)]
            yield RowBlock(rows, range(first, first + len(rows)))
            first += len(rows)

    def _row(self, value: object, place: int) -> Row:
        text = self.text and (value is None or isinstance(value, str))
        if text or may_be_document(type(value)):
            try:
                row = to_json_value(value, self.dialect)
            except InputTypeError as error:
                # A wrong argument is an error of the caller, not a problem in the data.
                message = f"{self.describe(place)}: {error.message}"
                raise InputTypeError(message) from error.__cause__
            except DataError as error:
                return unreadable_row(error.message, value)
            if text or isinstance(row, dict | list):
                return row
        expected = f"{_DOCUMENT}, model output or None" if self.text else _DOCUMENT
        got = type(value).__name__
        raise InputTypeError(f"{self.describe(place)}: expected {expected}, got {got}")


def unreadable_row(reason: str, value: object) -> UnreadableRow:
    """Return a row that cannot be read, with its id, which names its case."""
    with suppress(Exception):  # code of the caller may raise anything
        for key in ID_KEYS:
            named = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
            if isinstance(named, str | int):
                return UnreadableRow(reason, canonical_text({key: named}))
    return UnreadableRow(reason)
