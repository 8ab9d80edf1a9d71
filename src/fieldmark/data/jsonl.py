"""JSONL: one row a line, read in bounded pieces and split at line feeds only."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from fieldmark.data.exact import Grammar, refuse_foreign
from fieldmark.data.files import Opened, open_file, spill, unreadable
from fieldmark.data.line_ends import line_count
from fieldmark.data.parsing import BLANK, Unreadable, parse_lines
from fieldmark.data.rows import RowBlock, SourceBase
from fieldmark.errors import LimitError, Location

if TYPE_CHECKING:
    from fieldmark.data.known_lines import LineReader

__all__ = ["JsonlSource", "LineBlock", "lines_of"]

_PIECE: Final = 1 << 15
_BOM: Final = b"\xef\xbb\xbf"


class LineBlock(NamedTuple):
    """Whole lines in one piece, and where the piece starts: its first line and its offset."""

    raw: bytes
    first: int
    offset: int


def lines_of(stream: IO[bytes], limit: int, name: str) -> Iterator[LineBlock]:
    """The stream in blocks of whole lines; a line beyond the limit is refused unread."""
    first, offset = 1, 0
    parts: list[bytes] = []
    held = 0
    while piece := _read(stream, name):
        cut = piece.rfind(b"\n") + 1
        if not cut:
            parts.append(piece)
            held += len(piece)
            if held > limit:
                raise _too_long(name, first, limit)
            continue
        block = b"".join([*parts, piece[:cut]])
        if parts and block.index(b"\n") > limit:
            raise _too_long(name, first, limit)
        yield LineBlock(block, first, offset)
        first += line_count(block)
        offset += len(block)
        parts = [piece[cut:]] if cut < len(piece) else []
        held = len(piece) - cut
    if parts:
        yield LineBlock(b"".join(parts), first, offset)


def _read(stream: IO[bytes], name: str) -> bytes:
    try:
        return stream.read(_PIECE)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(name, error) from None


def _too_long(name: str, line: int, limit: int) -> LimitError:
    message = f"the line is longer than {limit:,} bytes"
    return LimitError("line_bytes", message, Location(name, line))


@dataclass(slots=True)
class JsonlSource(SourceBase):
    """Rows of a JSONL file, of standard input, or of lines spilled to a temporary file."""

    grammar: Grammar = field(default_factory=Grammar)
    opened: Opened | None = None
    reader: LineReader | None = field(default=None, init=False)
    from_path: bool = field(default=False, init=False)

    @classmethod
    def at(cls, path: str, grammar: Grammar, *, size: int) -> JsonlSource:
        """The rows of the file at a path, opened when they are asked for."""
        source = cls(path, grammar)
        source.from_path = True
        source.bytes_total = size
        return source

    @classmethod
    def over(cls, opened: Opened, grammar: Grammar) -> JsonlSource:
        """The rows of a stream that can be sought and has no path."""
        source = cls(opened.name, grammar, opened)
        source.bytes_total = opened.size
        return source

    def _fresh(self) -> Opened:
        """The stream at its beginning."""
        if self.opened is not None and self.opened.seekable:
            self.opened.stream.seek(0)
            return self.opened
        self.close()
        self.opened = open_file(Path(self.name))
        return self.opened

    def close(self) -> None:
        """Close the file."""
        if self.opened is not None:
            self.opened.close()

    def line_blocks(self) -> Iterator[LineBlock]:
        """The raw lines from the beginning."""
        opened = self._fresh()
        for block in lines_of(opened.stream, self.grammar.limits.line_bytes, self.name):
            self.bytes_read = max(self.bytes_read, opened.position)
            if block.offset == 0:
                refuse_foreign(block.raw, Location(self.name))
            yield block

    def blocks(self) -> Iterator[RowBlock]:
        """The rows of each block of lines."""
        for block in self.line_blocks():
            parsed = self.parse(block)
            if parsed.places:
                yield parsed

    def parse(self, block: LineBlock) -> RowBlock:
        """The rows of whole lines; blank lines are none."""
        raw = block.raw.removeprefix(_BOM) if block.offset == 0 else block.raw
        if self.reader is not None and len(raw) <= self.grammar.limits.nodes:
            known = self.reader.read(raw)
            if known is not None:
                numbers = range(block.first, block.first + len(known.lines))
                return RowBlock([], numbers, lines=known)
        lines = raw.split(b"\n")
        if not lines[-1]:
            lines.pop()
        places: list[int] | range = range(block.first, block.first + len(lines))
        rows = parse_lines(raw, lines, self.grammar)
        if Unreadable in set(map(type, rows)):
            kept = [place for place, row in enumerate(rows) if row is not BLANK]
            rows, places = [rows[place] for place in kept], [places[place] for place in kept]
        return RowBlock(rows, places)

    def where(self, place: int) -> Location:
        """The file and the line."""
        return Location(self.name, place)

    def phrase(self, place: int) -> str:
        """The file and the line."""
        return f"{self.name}:{place}"

    def seekable(self) -> JsonlSource:
        """The same lines where any of them can be read at once: a copy if need be."""
        if self.opened is not None and self.opened.seekable:
            return self
        copy = spill()
        for block in self.line_blocks():
            copy.write(block.raw)
        self.close()
        self.opened = Opened(self.name, copy, copy, copy.tell(), seekable=True)
        return self

    def line_at(self, start: int, end: int) -> bytes:
        """The bytes between two offsets."""
        assert self.opened is not None  # noqa: S101 - only asked once the file was read
        self.opened.stream.seek(start)
        return self.opened.stream.read(end - start)
