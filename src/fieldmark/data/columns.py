"""The columns of a table as keys of a document.

A column with dots or indexes is a path: `vendor.name` is a key of the object `vendor`, and
`lines[0].amount` one of the first item of the list `lines`. A cell with the text of a JSON object
or array is that object or array.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from fieldmark.data.json_parser import JsonDialect, Row, UnreadableRow, parse_text
from fieldmark.data.layout import CANDIDATE_KEYS, EXPECTED_KEYS, is_envelope
from fieldmark.data.rows import RowSource
from fieldmark.errors import DataError, LimitError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.json_limits import Limits, check_paths
from fieldmark.values.paths import parse_path
from fieldmark.values.presence import is_blank
from fieldmark.values.strict_json import first_repeated

_NAME: Final = r"[^\W\d][\w -]*(?<! )"
_INDEXES: Final = r"(?:\[(?:0|[1-9]\d{0,5})\])*"
_NESTED: Final = re.compile(rf"{_NAME}{_INDEXES}(?:\.{_NAME}{_INDEXES})*\Z")
"""A name that is a path; other names with dots, as `No.` or `1.5`, are keys."""
_BRACKETS: Final = {"{": "}", "[": "]"}
_MODEL_TEXT: Final = frozenset((*EXPECTED_KEYS, *CANDIDATE_KEYS))

_Steps: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns, and their steps if any of them is nested.

    The cells of `json_places` can contain JSON.
    """

    names: tuple[str, ...]
    steps: tuple[_Steps, ...] | None
    json_places: tuple[int, ...]

    @property
    def nested(self) -> list[str]:
        """The names of the columns that are paths."""
        steps = self.steps or ()
        return [name for name, each in zip(self.names, steps, strict=False) if len(each) > 1]

    def row(self, cells: Sequence[JsonValue], limits: Limits) -> Row:
        """Return a row as a document; JSON in cells counts below the names of its columns."""
        document = self.document(cells)
        if any(isinstance(cell, dict | list) for cell in cells):
            try:
                check_paths(document, limits)
            except LimitError as error:
                return UnreadableRow(error.message)
        return document

    def document(self, cells: Sequence[JsonValue]) -> JsonObject:
        """Return a row as a document; list items at the end that are blank are left out."""
        if self.steps is None:
            return dict(zip(self.names, cells, strict=False))
        root: dict[str | int, object] = {}
        for steps, cell in zip(self.steps, cells, strict=False):
            at = root
            for step in steps[:-1]:
                at = cast("dict[str | int, object]", at.setdefault(step, {}))
            at[steps[-1]] = cell
        return cast("JsonObject", _with_lists(root))


def read_header(names: Sequence[str], limits: Limits) -> Columns:
    """Return the columns of a header; raise an error for names that contradict each other."""
    duplicate = first_repeated(names)
    if duplicate is not None:
        raise DataError(f"duplicate column {duplicate!r}")
    check_paths(dict.fromkeys(names), limits)
    envelope = is_envelope(names)
    places = [place for place, name in enumerate(names) if not (envelope and name in _MODEL_TEXT)]
    steps = [_steps(name, limits) for name in names]
    if max(map(len, steps), default=1) == 1:
        return Columns(tuple(names), None, tuple(places))
    _check_steps(dict(zip(steps, names, strict=True)))
    return Columns(tuple(names), tuple(steps), tuple(places))


def add_column_note(source: RowSource, columns: Columns) -> None:
    """Add a note about columns that are read as nested keys."""
    nested = columns.nested
    if nested:
        more = ", …" if len(nested) > 1 else ""
        source.add_note(f"columns with paths are nested keys ({nested[0]}{more})")


def read_cell(text: str, dialect: JsonDialect) -> JsonValue:
    """Return a JSON object or array that is given as text, or the text if it is not JSON."""
    if len(text) < 2 or _BRACKETS.get(text[0]) != text[-1]:  # noqa: PLR2004 - two brackets
        return text
    try:
        return parse_text(text, dialect)
    except LimitError:
        raise
    except DataError:
        return text


def _steps(name: str, limits: Limits) -> _Steps:
    if not ("." in name or "[" in name) or not _NESTED.match(name):
        return (name,)
    if name.count(".") + name.count("[") >= limits.depth:
        raise LimitError("depth", f"nesting exceeds the limit of {limits.depth} levels")
    return cast("_Steps", parse_path(name).segments)


def _check_steps(columns: dict[_Steps, str]) -> None:
    """Raise an error if a column is inside another, or if an index of a list is left out."""
    inner: dict[_Steps, dict[str | int, str]] = {}
    for steps, name in columns.items():
        for depth in range(len(steps)):
            if depth and steps[:depth] in columns:
                raise DataError(f"column {name!r} is inside column {columns[steps[:depth]]!r}")
            inner.setdefault(steps[:depth], {}).setdefault(steps[depth], name)
    for members in inner.values():
        indexes = sorted(step for step in members if isinstance(step, int))
        if indexes and len(indexes) < len(members):
            shown = " and ".join(repr(name) for name in list(members.values())[:2])
            raise DataError(f"columns {shown} are an object and a list at the same place")
        for place, index in enumerate(indexes):
            if index != place:
                raise DataError(
                    f"column {members[index]!r}: no column with the index {place}; "
                    "the items of a list are numbered from 0 without gaps"
                )


def _with_lists(value: object) -> object:
    """Return a tree of columns with lists instead of objects with indexes as keys."""
    if not isinstance(value, dict):
        return value
    made = {step: _with_lists(inner) for step, inner in value.items()}
    if not any(isinstance(step, int) for step in made):
        return made
    items = [made.get(place) for place in range(1 + max(cast("dict[int, object]", made)))]
    while items and _all_blank(items[-1]):
        items.pop()
    return items


def _all_blank(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_all_blank, value.values()))
    if isinstance(value, list):
        return all(map(_all_blank, value))
    return value is None or (isinstance(value, str) and is_blank(value))
