"""Documents of one form that stay the bytes they are, until someone wants to know a value.

A form is learnt from documents that were read already. It fits objects whose fields hold text,
numbers, booleans, null, or objects of a form of their own; where there are lists, there is none.
Reading such lines needs the compiled part of the package; without it there are no forms either.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import orjson

from fieldmark.model.json import JsonObject

try:
    from fieldmark.model import _lines
except ImportError:  # not compiled
    LINES: frozenset[type] = frozenset()
else:
    LINES = frozenset({_lines.Line})
"""The class of documents that are lines, if there is one."""

if TYPE_CHECKING:
    from fieldmark.model._lines import Line

__all__ = ["DEEPEST_ROW", "LINES", "DocumentForm", "LineKind", "learn_form"]

_SCALARS: Final = frozenset((str, int, float, bool, type(None)))
_MOST_FIELDS: Final = 64
_MOST_LEVELS: Final = 12
DEEPEST_ROW: Final = _MOST_LEVELS + 1
"""How deep a row can be that holds a document of some form."""
_MOST_LEAVES: Final = 256
"""Every line has a place for each, be it there or not: this bounds what short lines may take."""

_Fields: TypeAlias = "dict[str, _Fields | None]"
"""The keys of an object; below a key, those of the object that it holds."""


class DocumentForm:
    """The fields of documents in order, each as the keys that lead to it.

    Behind the fields, a line notes its id, the document, and the row that holds both.
    """

    __slots__ = ("_fields", "id_place", "leaves")

    def __init__(self, fields: _Fields) -> None:
        self.leaves = tuple(_leaves(fields))
        self.id_place = len(self.leaves)
        self._fields = fields

    def kind(self, *, id_key: str | None, value_key: str | None) -> LineKind | None:
        """Lines that hold such a document under a key, or are such documents with an id inside.

        There are none if the keys of such a row could be taken for one another, or be written in
        several ways.
        """
        named = [key for key in (id_key, value_key) if key is not None]
        keys = [*named, *(self._fields if value_key is None else ())]
        if len(set(keys)) < len(keys) or not all(map(_plain, named)):
            return None
        return LineKind(self, self._fields, id_key=id_key, value_key=value_key)


class LineKind:
    """How rows keep such documents."""

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
        """The lines of a block; nothing if some line is unusual."""
        return _lines.read(self._row, raw, self)

    def ids(self, lines: list[Line]) -> list[str] | None:
        """The ids of lines; nothing if one of them is no plain text."""
        return _lines.texts(lines, self.form.id_place)

    def document(self, line: Line) -> JsonObject:
        """The document of a line, as a dictionary."""
        document: JsonObject = orjson.loads(cast("bytes", line.bytes(self._whole)))
        if self._id_key is not None:
            document.pop(self._id_key, None)
        return document


def learn_form(documents: Sequence[JsonObject]) -> DocumentForm | None:
    """The form of these documents and of others like them, if they have one."""
    fields = _learnt(documents) if LINES else None
    form = None if fields is None else DocumentForm(fields)
    return None if form is None or len(form.leaves) > _MOST_LEAVES else form


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
    """Whether JSON has only one way to write a key, short of numbers for its characters."""
    return json.dumps(key, ensure_ascii=False) == f'"{key}"' and key.isprintable()


def _leaves(fields: _Fields, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, below in fields.items():
        if below is None:
            yield (*above, key)
        else:
            yield from _leaves(below, (*above, key))


def _compiled(
    fields: _Fields, numbers: Iterator[int], places: int
) -> tuple[tuple[bytes, int, _lines.Form | None], ...]:
    """The fields as the compiled part wants them, numbered in order."""
    return tuple(
        (key.encode(), next(numbers), None)
        if below is None
        else (key.encode(), -1, _lines.Form(_compiled(below, numbers, places), places))
        for key, below in fields.items()
    )
