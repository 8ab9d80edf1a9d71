"""Whole values as rows: a JSON file, or Python objects; and what such a value is taken for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from fieldmark.data.exact import Grammar
from fieldmark.data.inputs import Role, RowsAre
from fieldmark.data.parsing import Row, Unreadable
from fieldmark.data.rows import RowBlock, SourceBase
from fieldmark.errors import DataError, LimitError, Location
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["ObjectSource", "ValueSource", "as_json", "may_be_keyed"]

_BLOCK: Final = 256
_FINITE: Final = float("inf")


def may_be_keyed(value: JsonValue) -> bool:
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
    grammar: Grammar = field(default_factory=Grammar)

    def blocks(self) -> Iterator[RowBlock]:
        """The rows in order; an iterator can be read once."""
        objects = iter(self.objects)
        first = 1
        while part := list(islice(objects, _BLOCK)):
            rows = [self._row(value) for value in part]
            yield RowBlock(rows, range(first, first + len(rows)))
            first += len(rows)

    def _row(self, value: object) -> Row:
        try:
            return as_json(value, self.grammar)
        except DataError as error:
            return Unreadable(error.message)


def as_json(value: object, grammar: Grammar, depth: int = 0) -> JsonValue:
    """A copy of Python objects as JSON: tuples become lists, anything else unknown is refused."""
    if depth > grammar.limits.depth:
        raise LimitError("depth", f"nested deeper than {grammar.limits.depth} levels")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return _number(value, grammar)
    if isinstance(value, Mapping):
        made: JsonObject = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise DataError(f"the key {key!r} is not text")
            made[key] = as_json(item, grammar, depth + 1)
        return made
    if isinstance(value, list | tuple):
        return [as_json(item, grammar, depth + 1) for item in value]
    raise DataError(f"not a JSON value: {type(value).__name__}")


def _number(value: float, grammar: Grammar) -> float:
    if abs(value) < _FINITE:
        return value
    if grammar.role is Role.TRUTH:
        raise DataError(f"{value} is not a finite number")
    grammar.non_finite += 1
    return value
