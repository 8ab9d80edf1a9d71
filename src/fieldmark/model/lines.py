"""Documents with the same form, stored as raw lines until a value is needed.

A form is learned from documents that have been parsed. It fits objects whose fields are strings,
numbers, booleans, null, or objects with a form of their own; objects with lists have no form.
Reading such lines requires the compiled extension; without it, there are no forms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import orjson

from fieldmark.model.json import JsonObject, JsonValue, Missing

try:
    from fieldmark.model import _lines
except ImportError:  # not compiled
    LINES: frozenset[type] = frozenset()
else:
    LINES = frozenset({_lines.Line})
"""The class of unparsed documents, if the extension is available."""

if TYPE_CHECKING:
    from fieldmark.model._lines import Line

__all__ = [
    "DEEPEST_ROW",
    "LINES",
    "LONGEST_PATHS",
    "DocumentForm",
    "LineKind",
    "learn_form",
    "parsed",
]

_SCALARS: Final = frozenset((str, int, float, bool, type(None)))
_MOST_FIELDS: Final = 64
_MOST_LEVELS: Final = 12
DEEPEST_ROW: Final = _MOST_LEVELS + 1
"""The maximum depth of a row that contains a document with a form."""
_MOST_LEAVES: Final = 256
"""Every line reserves space for each field, present or not: this bounds the memory of short lines.
"""

LONGEST_PATHS: Final = 100_000
"""The maximum number of characters of the paths of all values of a document with a form."""
_LONGEST_NAME: Final = 256
"""The maximum length of the key of a document in its row."""

_Fields: TypeAlias = "dict[str, _Fields | None]"
"""The keys of an object; below a key, those of the nested object."""


class DocumentForm:
    """The fields of documents in order, each as the keys that lead to it.

    After the fields, a line stores its id, the document, and the row that contains both.
    """

    __slots__ = ("_fields", "id_place", "leaves")

    def __init__(self, fields: _Fields) -> None:
        self.leaves = tuple(_leaves(fields))
        self.id_place = len(self.leaves)
        self._fields = fields

    def example(self) -> JsonObject:
        """Return a document with all fields, which are null."""
        return _example(self._fields)

    def kind(self, *, id_key: str | None, value_key: str | None) -> LineKind | None:
        """Return the form of rows that contain such a document under a key, or are such documents.

        Rows have no form if their keys could be confused with each other, or written in several
        ways.
        """
        named = [key for key in (id_key, value_key) if key is not None]
        keys = [*named, *(self._fields if value_key is None else ())]
        if max(map(len, named), default=0) > _LONGEST_NAME:
            return None
        if len(set(keys)) < len(keys) or not all(map(_plain, named)):
            return None
        return LineKind(self, self._fields, id_key=id_key, value_key=value_key)


class LineKind:
    """The form of rows that contain such documents."""

    __slots__ = ("_id_key", "_row", "_whole", "form")

    def __init__(
        self, form: DocumentForm, fields: _Fields, *, id_key: str | None, value_key: str | None
    ) -> None:
        self.form = form
        self._id_key = id_key if value_key is None else None
        places = form.id_place + 3
        self._whole = places - 1 if value_key is None else places - 2
        numbers = iter(range(form.id_place))
        named = () if id_key is None else ((id_key.encode(), form.id_place, None),)
        inside = _compiled(fields, numbers, places)
        if value_key is None:
            self._row = _lines.Form((*named, *inside), places)
        else:
            document = _lines.Form(inside, places)
            self._row = _lines.Form((*named, (value_key.encode(), self._whole, document)), places)

    def read(self, raw: bytes) -> list[Line] | None:
        """Return the lines of a block, or `None` if a line is unusual."""
        return _lines.read(self._row, raw, self)

    def ids(self, lines: list[Line]) -> list[str] | None:
        """Return the ids of lines, or `None` if one of them is not a plain string."""
        return _lines.texts(lines, self.form.id_place)

    def document(self, line: Line) -> JsonObject:
        """Return the document of a line as a dictionary."""
        document: JsonObject = orjson.loads(cast("bytes", line.bytes(self._whole)))
        if self._id_key is not None:
            document.pop(self._id_key, None)
        return document


def learn_form(documents: Sequence[JsonObject]) -> DocumentForm | None:
    """Return the form of these and similar documents, if they have one."""
    fields = _learnt(documents) if LINES else None
    form = None if fields is None else DocumentForm(fields)
    if form is None or len(form.leaves) > _MOST_LEAVES:
        return None
    # Each leaf and the objects above it have at most this path.
    paths = sum(len(keys) * (sum(map(len, keys)) + len(keys)) for keys in form.leaves)
    return None if paths > LONGEST_PATHS else form


def parsed(document: JsonValue | Missing | Line) -> JsonValue | Missing:
    """Return a document, parsed if it is a line."""
    if type(document) in LINES:
        line = cast("Line", document)
        return line.kind.document(line)
    return cast("JsonValue | Missing", document)


def _learnt(objects: Sequence[JsonObject], level: int = 1) -> _Fields | None:
    keys = dict.fromkeys(key for each in objects for key in each)
    if not 0 < len(keys) < _MOST_FIELDS or level > _MOST_LEVELS:
        return None
    fields: _Fields = {}
    for key in keys:
        values = [each[key] for each in objects if key in each]
        kinds = set(map(type, values))
        below = _learnt(cast("list[JsonObject]", values), level + 1) if kinds == {dict} else None
        if (below is None and not kinds <= _SCALARS) or not _plain(key):
            return None
        fields[key] = below
    return fields


def _plain(key: str) -> bool:
    """Return whether JSON has only one way to write a key, apart from character escapes."""
    return json.dumps(key, ensure_ascii=False) == f'"{key}"' and key.isprintable()


def _example(fields: _Fields) -> JsonObject:
    return {key: None if below is None else _example(below) for key, below in fields.items()}


def _leaves(fields: _Fields, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, below in fields.items():
        if below is None:
            yield (*above, key)
        else:
            yield from _leaves(below, (*above, key))


def _compiled(
    fields: _Fields, numbers: Iterator[int], places: int
) -> tuple[tuple[bytes, int, _lines.Form | None], ...]:
    """Return the fields as the extension needs them, numbered in order."""
    return tuple(
        (key.encode(), next(numbers), None)
        if below is None
        else (key.encode(), -1, _lines.Form(_compiled(below, numbers, places), places))
        for key, below in fields.items()
    )
