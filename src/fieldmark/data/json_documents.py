"""Whole values as rows: a JSON file, or Python objects; and what such a value is taken for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from fieldmark.data.inputs import LIMITS, Role, RowsAre
from fieldmark.data.json_parser import JsonDialect, Row, UnreadableRow
from fieldmark.data.rows import RowBlock, SourceBase
from fieldmark.errors import DataError, LimitError, Location
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.paths import join

__all__ = [
    "ObjectSource",
    "ValueSource",
    "all_finite",
    "can_be_keyed",
    "ensure_json",
    "to_json_value",
]

_BLOCK: Final = 256
_FINITE: Final = float("inf")
_KEYS: Final = frozenset((str,))
_SCALARS: Final = frozenset((str, int, float, bool, type(None)))
_EXACT: Final = _SCALARS | {dict, list}


def can_be_keyed(value: JsonValue) -> bool:
    """Whether an object can be read as documents by id: every value is an object or a list."""
    return (
        isinstance(value, dict)
        and bool(value)
        and all(isinstance(document, dict | list) for document in value.values())
    )


@dataclass(slots=True)
class ValueSource(SourceBase):
    """The rows of one JSON value that is held in memory."""

    value: JsonValue = None
    rows_are: RowsAre = RowsAre.DOCUMENT

    def __post_init__(self) -> None:
        self.in_memory = True
        self.settle(RowsAre.LIST if isinstance(self.value, list) else RowsAre.DOCUMENT)

    def settle(self, rows_are: RowsAre) -> None:
        """Take the value for a list of rows, for documents by id, or for one document."""
        wanted = {RowsAre.LIST: list, RowsAre.KEYED: dict}.get(rows_are, object)
        if not isinstance(self.value, wanted):
            raise DataError(
                f"does not hold {'a list of rows' if wanted is list else 'an object keyed by id'}",
                Location(self.name),
            )
        self.rows_are = rows_are

    def blocks(self) -> Iterator[RowBlock]:
        """The rows in order."""
        ids: list[str] | None = None
        rows: list[Row] = [self.value]
        if self.rows_are is RowsAre.KEYED and isinstance(self.value, dict):
            ids, rows = list(self.value), list(self.value.values())
        elif self.rows_are is RowsAre.LIST and isinstance(self.value, list):
            rows = list(self.value)
        for start in range(0, len(rows), _BLOCK):
            part = slice(start, start + _BLOCK)
            yield RowBlock(
                [dict(row) if isinstance(row, dict) else row for row in rows[part]],
                range(start + 1, start + 1 + len(rows[part])),
                None if ids is None else ids[part],
            )


@dataclass(slots=True)
class ObjectSource(SourceBase):
    """The rows of an iterable of Python objects, checked to be JSON as they pass."""

    objects: Iterable[object] = ()
    dialect: JsonDialect = field(default_factory=JsonDialect)

    def blocks(self) -> Iterator[RowBlock]:
        """The rows in order; an iterator can be read once."""
        objects = iter(self.objects)
        first = 1
        while part := list(islice(objects, _BLOCK)):
            rows = [self._row(value, place) for place, value in enumerate(part, first)]
            yield RowBlock(rows, range(first, first + len(rows)))
            first += len(rows)

    def _row(self, value: object, place: int) -> Row:
        try:
            return to_json_value(value, self.dialect)
        except NotJsonError as error:
            # A mistake of the caller, who holds the objects, and not of the data.
            raise DataError(f"{self.phrase(place)}: {error.message}") from None
        except DataError as error:
            return UnreadableRow(error.message)


class NotJsonError(DataError):
    """A Python object that JSON has no value for."""


def ensure_json(value: JsonValue) -> JsonValue:
    """The value itself if it is JSON, else a copy that is; what cannot be is refused by its path.

    >>> ensure_json({"total": (1, 2)})
    {'total': [1, 2]}
    """
    return value if _is_json(value) else to_json_value(value, JsonDialect(role=Role.CANDIDATE))


def _is_json(value: object) -> bool:
    """Whether all the types are those of JSON exactly; looked at level by level, which is fast."""
    level: list[object] = [value]
    for _ in range(LIMITS.depth + 1):
        kinds = set(map(type, level))
        if not kinds <= _EXACT:
            return False
        if kinds <= _SCALARS:
            return True
        below: list[object] = []
        for item in level:
            if isinstance(item, dict):
                if not set(map(type, item)) <= _KEYS:
                    return False
                below += item.values()
            elif isinstance(item, list):
                below += item
        level = below
    return False


def to_json_value(value: object, dialect: JsonDialect) -> JsonValue:
    """A copy of Python objects as JSON: tuples become lists, anything else unknown is refused."""
    return _copied(value, dialect, ())


def _copied(value: object, dialect: JsonDialect, path: tuple[str | int, ...]) -> JsonValue:
    if len(path) > dialect.limits.depth:
        raise LimitError("depth", f"nested deeper than {dialect.limits.depth} levels")
    if isinstance(value, Mapping):
        made: JsonObject = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotJsonError(f"{_place(path)}the key {key!r} is not text")
            made[key] = _copied(item, dialect, (*path, key))
        return made
    if isinstance(value, list | tuple):
        return [_copied(item, dialect, (*path, place)) for place, item in enumerate(value)]
    return _scalar(value, dialect, path)


def _scalar(value: object, dialect: JsonDialect, path: tuple[str | int, ...]) -> JsonValue:
    """A value without parts, as the plain type where it is of a type below that."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return _number(float.__float__(value), dialect)
    raise NotJsonError(f"{_place(path)}{type(value).__name__} is not a JSON value")


def _place(path: tuple[str | int, ...]) -> str:
    """A path and a colon; nothing for the whole document."""
    text = ""
    for step in path:
        text = join(text, step) if isinstance(step, str) else f"{text}[{step}]"
    return f"{text}: " if text else ""


def _number(value: float, dialect: JsonDialect) -> float:
    if abs(value) < _FINITE:
        return value
    if dialect.role is Role.TRUTH:
        raise DataError(f"{value} is not a finite number")
    dialect.non_finite += 1
    return value


def all_finite(value: JsonValue) -> bool:
    """Whether every number in a value is finite."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(all_finite, value.values()))
    return all(map(all_finite, value)) if isinstance(value, list) else True
