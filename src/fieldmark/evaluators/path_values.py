"""The values that a path with `[]` selects, with their paths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, NamedTuple, TypeAlias

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.paths import (
    ANY_DEPTH,
    ANY_ITEM,
    ROOT,
    PathError,
    append_path,
    parse_path,
    resolve,
)


class PathValue(NamedTuple):
    """A path without wildcards and its value."""

    path: str
    value: JsonValue | Missing


@dataclass(frozen=True, slots=True)
class _Selects:
    """A path that can select a list of values."""

    def problem(self, value: object) -> str:
        """Return what is wrong with a path, or an empty string."""
        try:
            parsed = parse_path(str(value))
        except PathError as error:
            return error.message
        return "must not contain **" if ANY_DEPTH in parsed.segments else ""

    def to_schema(self) -> JsonObject:
        """Return no keywords."""
        return {}


ValuePath: TypeAlias = Annotated[str, _Selects()]
"""The path of a value; with `[]`, it selects the values of list items."""


def is_pattern(path: str) -> bool:
    """Whether a path selects items of a list."""
    return ANY_ITEM in parse_path(path).segments


def value_at(document: JsonValue | Missing, path: str) -> JsonValue | Missing:
    """Return the value at a path without wildcards; `$` is the document itself."""
    if document is MISSING:
        return MISSING
    value = resolve(document, path)
    return document if value is MISSING and path == ROOT else value


def find_values(document: JsonValue | Missing, path: str) -> list[PathValue]:
    """Return every value that a path selects, in order; `MISSING` for items without a value.

    >>> find_values({"rows": [{"box": 1}, {}]}, "rows[].box")
    [PathValue(path='rows[0].box', value=1), PathValue(path='rows[1].box', value=MISSING)]
    """
    first, *others = split_at_items(path)
    selected = [PathValue(first, document if not first else value_at(document, first))]
    for piece in others:
        listed = [parent for parent in selected if isinstance(parent.value, list)]
        items = [
            PathValue(f"{parent.path}[{number}]", item)
            for parent in listed
            for number, item in enumerate(parent.value)  # type: ignore[arg-type]
        ]
        selected = (
            items
            if not piece
            else [
                PathValue(append_path(item_path, piece), value_at(item, piece))
                for item_path, item in items
            ]
        )
    return selected


def values_at(document: JsonValue | Missing, path: str) -> list[JsonValue | Missing]:
    """Return the values that a path selects, without their paths.

    >>> values_at({"rows": [{"box": 1}, {}]}, "rows[].box")
    [1, MISSING]
    """
    first, *others = split_at_items(path)
    values = [document if not first else value_at(document, first)]
    for piece in others:
        items = [item for value in values if isinstance(value, list) for item in value]
        # An existing key takes precedence over any other meaning of the piece.
        values = [
            item[piece]
            if isinstance(item, dict) and piece in item
            else value_at(item, piece)
            if piece
            else item
            for item in items
        ]
    return values


@lru_cache(maxsize=256)
def split_at_items(path: str) -> list[str]:
    """Split a path at `[]`; the first and the last part can be empty.

    >>> split_at_items("orders[].lines[].amount"), split_at_items("[].rows[]")
    (['orders', 'lines', 'amount'], ['', 'rows', ''])
    """
    parsed = parse_path(path)
    pieces: list[str] = []
    start = 0
    for segment, here in zip(parsed.segments, parsed.starts, strict=True):
        if segment is ANY_ITEM:
            pieces.append(path[start:here].removeprefix("."))
            start = path.index("]", here) + 1
    return [*pieces, path[start:].removeprefix(".")]
