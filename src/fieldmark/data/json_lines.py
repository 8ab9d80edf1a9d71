"""JSONL files: one row per line, read in blocks and split only at line feeds.

Documents can stay unparsed for the kernel, see `model.kernel`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import orjson

from fieldmark.data.files import InputFile, temporary_file
from fieldmark.data.json_parser import (
    BLANK_LINE,
    BOM,
    JsonDialect,
    Role,
    UnreadableRow,
    parse_lines,
    reject_other_encodings,
)
from fieldmark.data.layout import Layout
from fieldmark.data.line_offsets import LineBlock, read_line_blocks
from fieldmark.data.rows import RowBlock, RowSource, UnparsedRows
from fieldmark.errors import Location
from fieldmark.model.json import JsonValue
from fieldmark.model.kernel import kernel
from fieldmark.values.json_text import all_finite


@dataclass(slots=True, eq=False)
class JsonlSource(RowSource):
    """Rows of a JSONL file, standard input, or a temporary file.

    With `unparsed`, documents that rows with this layout contain stay unparsed.
    """

    has_lines: ClassVar[bool] = True
    dialect: JsonDialect = field(default_factory=JsonDialect)
    opened: InputFile | None = None
    unparsed: Layout | None = field(default=None, init=False)
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
        if self.opened is not None and self.is_seekable:
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
        if self.unparsed is not None:
            return self._read_unparsed(raw, block.first, self.unparsed)
        lines = raw.split(b"\n")
        if not lines[-1]:
            lines.pop()
        places: list[int] | range = range(block.first, block.first + len(lines))
        rows = parse_lines(raw, lines, self.dialect)
        if UnreadableRow in set(map(type, rows)):
            filled = [place for place, row in enumerate(rows) if row is not BLANK_LINE]
            rows, places = [rows[place] for place in filled], [places[place] for place in filled]
        return RowBlock(rows, places)

    def _read_unparsed(self, raw: bytes, first: int, layout: Layout) -> RowBlock:
        """Read a block without parsing it, except for lines that the kernel refuses."""
        limits = self.dialect.limits
        ids, documents, numbers = kernel.read(
            raw,
            layout.id_key,
            layout.value_key,
            limits.depth,
            limits.key_characters,
            limits.path_characters,
            min(limits.nodes, limits.document_bytes),
        )
        refused = [each for each in documents if isinstance(each, bytes)]
        rows = parse_lines(b"\n".join(refused), refused, self.dialect) if refused else []
        places: Sequence[int] = range(first, first + len(documents))
        if numbers is not None:
            places = [first + number for number in numbers]
        return RowBlock(rows, places, unparsed=UnparsedRows(ids, documents))

    @property
    def is_seekable(self) -> bool:
        """Whether the file is open, and can be read again from the start."""
        return self.opened is not None and self.opened.seekable

    def seekable(self) -> JsonlSource:
        """Return the same lines in a seekable file, which is a copy if necessary."""
        if self.is_seekable:
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
