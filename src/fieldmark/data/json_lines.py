"""JSONL files: one row per line, read in blocks and split only at line feeds.

Lines with documents of the same form can stay unparsed, see `model.lines`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, cast

import orjson

from fieldmark.data.files import InputFile, temporary_file
from fieldmark.data.inputs import Role
from fieldmark.data.json_parser import (
    BLANK_LINE,
    BOM,
    JsonDialect,
    Row,
    UnreadableRow,
    parse_lines,
    reject_other_encodings,
)
from fieldmark.data.layout import Layout
from fieldmark.data.rows import RowBlock, RowSource
from fieldmark.errors import Location
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.lines import LineKind, learn_form
from fieldmark.values.strict_json import all_finite

if TYPE_CHECKING:
    from fieldmark.data.line_offsets import LineBlock
    from fieldmark.model._lines import Line

__all__ = ["JsonlSource", "LineReader", "UnparsedLines", "line_readers", "spill_to_lines"]

_MAX_REFUSALS: Final = 8
"""The number of consecutive blocks with other forms after which a line reader gives up."""


@dataclass(slots=True)
class JsonlSource(RowSource):
    """Rows of a JSONL file, standard input, or a temporary file."""

    has_lines: ClassVar[bool] = True
    dialect: JsonDialect = field(default_factory=JsonDialect)
    opened: InputFile | None = None
    reader: LineReader | None = field(default=None, init=False)
    from_path: bool = field(default=False, init=False)

    @classmethod
    def at(cls, name: str, dialect: JsonDialect, *, path: str = "", size: int) -> JsonlSource:
        """Return the rows of the file at a path, which is opened when they are read."""
        source = cls(name, dialect, path=path)
        source.from_path = True
        source.bytes_total = size
        return source

    @classmethod
    def over(cls, opened: InputFile, dialect: JsonDialect) -> JsonlSource:
        """Return the rows of a seekable stream without a path."""
        source = cls(opened.name, dialect, opened)
        source.bytes_total = opened.size
        return source

    def close(self) -> None:
        """Close the file."""
        if self.opened is not None:
            self.opened.close()

    def line_blocks(self) -> Iterator[LineBlock]:
        """Read the raw lines from the start."""
        from fieldmark.data.line_offsets import read_line_blocks

        if self.opened is not None and self.opened.seekable:
            self.opened.stream.seek(0)
        else:
            self.close()
            self.opened = self.open_unchanged()
        opened = self.opened
        for block in read_line_blocks(opened.stream, self.dialect.limits.line_bytes, self.name):
            self.bytes_read = max(self.bytes_read, opened.position)
            if block.offset == 0:
                reject_other_encodings(block.raw, Location(self.name))
            yield block

    def blocks(self) -> Iterator[RowBlock]:
        """Read the rows of each block of lines."""
        for block in self.line_blocks():
            parsed = self.parse(block)
            if parsed.places:
                yield parsed

    def parse(self, block: LineBlock) -> RowBlock:
        """Parse the rows of a block, without blank lines."""
        raw = block.raw.removeprefix(BOM) if block.offset == 0 else block.raw
        if self.reader is not None and len(raw) <= self.dialect.limits.nodes:
            unparsed = self.reader.read(raw)
            if unparsed is not None:
                numbers = range(block.first, block.first + len(unparsed.lines))
                return RowBlock([], numbers, lines=unparsed)
        lines = raw.split(b"\n")
        if not lines[-1]:
            lines.pop()
        places: list[int] | range = range(block.first, block.first + len(lines))
        rows = parse_lines(raw, lines, self.dialect)
        if UnreadableRow in set(map(type, rows)):
            filled = [place for place, row in enumerate(rows) if row is not BLANK_LINE]
            rows, places = [rows[place] for place in filled], [places[place] for place in filled]
        return RowBlock(rows, places)

    def seekable(self) -> JsonlSource:
        """Return the same lines in a seekable file, which is a copy if necessary."""
        if self.opened is not None and self.opened.seekable:
            return self
        copy = temporary_file()
        for block in self.line_blocks():
            copy.write(block.raw)
        self.close()
        self.opened = InputFile(self.name, copy, copy, copy.tell(), seekable=True)
        return self

    def line_at(self, start: int, end: int) -> bytes:
        """Return the bytes between two offsets."""
        assert self.opened is not None  # noqa: S101 - only called after the file was read
        self.opened.stream.seek(start)
        return self.opened.stream.read(end - start)


def spill_to_lines(source: RowSource) -> JsonlSource:
    """Return the rows of a source as JSONL in a seekable temporary file."""
    if isinstance(source, JsonlSource):
        return source.seekable()
    copy = temporary_file()
    source.files.append(copy)
    for block in source.blocks():
        for row in block.rows:
            # An unreadable row has no id, so any unreadable line can represent it.
            copy.write(b"!" if isinstance(row, UnreadableRow) else _serialize(row))
            copy.write(b"\n")
    opened = InputFile(source.name, copy, copy, copy.tell(), seekable=True)
    return JsonlSource.over(opened, JsonDialect(role=Role.CANDIDATE))


def _serialize(row: JsonValue) -> bytes:
    """Serialize a row so that it is parsed to the same value, including NaN and large integers."""
    try:
        line = orjson.dumps(row)
    except TypeError:
        return json.dumps(row).encode("ascii")
    return line if b"null" not in line or all_finite(row) else json.dumps(row).encode("ascii")


class UnparsedLines(NamedTuple):
    """Unparsed lines, and their ids if they have any."""

    ids: Sequence[str | None]
    lines: Sequence[Line]


class LineReader:
    """Reads the lines of one side without parsing them."""

    __slots__ = ("_attempts", "_kind", "_named")

    def __init__(self, kind: LineKind, *, named: bool) -> None:
        self._kind = kind
        self._named = named
        self._attempts = _MAX_REFUSALS

    def read(self, raw: bytes) -> UnparsedLines | None:
        """Return the lines of a block, or `None` if any of them must be parsed."""
        if not self._attempts:
            return None
        lines = self._kind.read(raw)
        if lines:
            ids = self._kind.ids(lines) if self._named else [None] * len(lines)
            if ids is not None:
                self._attempts = _MAX_REFUSALS
                return UnparsedLines(ids, lines)
        self._attempts -= 1
        return None


def line_readers(sides: Sequence[tuple[Layout, Sequence[Row]]]) -> Sequence[LineReader]:
    """Return a reader for each side, or none if the first rows have different forms."""
    documents: list[JsonObject] = []
    for layout, rows in sides:
        found = [_bare_document(row, layout) for row in rows]
        if None in found or layout.partner_key is not None:
            return ()
        documents += cast("list[JsonObject]", found)
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


def _bare_document(row: Row, layout: Layout) -> JsonObject | None:
    """Return the document of a row, or `None` if the row has other keys than its layout."""
    if not isinstance(row, dict):
        return None
    if layout.value_key is None:
        return {key: value for key, value in row.items() if key != layout.id_key}
    document = row.get(layout.value_key)
    alone = row.keys() == {layout.value_key, *filter(None, [layout.id_key])}
    return document if alone and isinstance(document, dict) else None
