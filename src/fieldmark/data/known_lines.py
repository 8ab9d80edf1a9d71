"""Lines of one form, read as lines and not as values, as long as nothing about them is unusual."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from fieldmark.data.layout import Layout
from fieldmark.data.parsing import Row
from fieldmark.model.json import JsonObject
from fieldmark.model.lines import LineKind, learn_form

if TYPE_CHECKING:
    from fieldmark.model._lines import Line

__all__ = ["KnownLines", "LineReader", "line_readers"]

_PATIENCE: Final = 8
"""Blocks in a row that may be refused; where so many are, asking is not worth while."""


class KnownLines(NamedTuple):
    """Lines, and their ids where they have any."""

    ids: Sequence[str | None]
    lines: Sequence[Line]


class LineReader:
    """Reads the lines of one side."""

    __slots__ = ("_kind", "_named", "_patience")

    def __init__(self, kind: LineKind, *, named: bool) -> None:
        self._kind = kind
        self._named = named
        self._patience = _PATIENCE

    def read(self, raw: bytes) -> KnownLines | None:
        """The lines of a block; nothing if some line must be looked at more closely."""
        if not self._patience:
            return None
        lines = self._kind.read(raw)
        if lines:
            ids = self._kind.ids(lines) if self._named else [None] * len(lines)
            if ids is not None:
                self._patience = _PATIENCE
                return KnownLines(ids, lines)
        self._patience -= 1
        return None


def line_readers(sides: Sequence[tuple[Layout, Sequence[Row]]]) -> Sequence[LineReader]:
    """A reader for each side that begins with these rows; none if their documents have no form."""
    documents: list[JsonObject] = []
    for layout, rows in sides:
        held = [_document(row, layout) for row in rows]
        if None in held or layout.partner_key is not None:
            return ()
        documents += cast("list[JsonObject]", held)
    form = learn_form(documents)
    if form is None:
        return ()
    readers: list[LineReader] = []
    for layout, _ in sides:
        kind = form.kind(id_key=layout.id_key, value_key=layout.value_key)
        if kind is None:
            return ()
        readers.append(LineReader(kind, named=layout.id_key is not None))
    return readers


def _document(row: Row, layout: Layout) -> JsonObject | None:
    """The document of a row; nothing if the row is not what the layout says and no more."""
    if not isinstance(row, dict):
        return None
    if layout.value_key is None:
        return {key: value for key, value in row.items() if key != layout.id_key}
    document = row.get(layout.value_key)
    alone = row.keys() == {layout.value_key, *filter(None, [layout.id_key])}
    return document if alone and isinstance(document, dict) else None
