"""CSV: a header, then one row a case; every cell is text."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fieldmark.data.files import InputFile, open_file
from fieldmark.data.json_parser import JsonDialect, Row, UnreadableRow, decode
from fieldmark.data.line_offsets import read_line_blocks
from fieldmark.data.rows import RowBlock, SourceBase, located
from fieldmark.errors import DataError, Location

__all__ = ["CsvSource"]

_BLOCK: Final = 256


@dataclass(slots=True)
class CsvSource(SourceBase):
    """Rows of a CSV file with a header."""

    dialect: JsonDialect = field(default_factory=JsonDialect)
    delimiter: str = ","

    def __post_init__(self) -> None:
        self.text_cells = True
        opened = open_file(Path(self.name))
        self.bytes_total = opened.size
        opened.close()

    def blocks(self) -> Iterator[RowBlock]:
        """The rows below the header; blank lines are none."""
        opened = open_file(Path(self.name))
        csv.field_size_limit(self.dialect.limits.line_bytes)
        reader = csv.reader(self._lines(opened), delimiter=self.delimiter, strict=True)
        header: list[str] | None = None
        rows: list[Row] = []
        places: list[int] = []
        try:
            for cells in reader:
                if not cells:
                    continue
                if header is None:
                    header = self._checked(cells)
                    continue
                rows.append(_row(header, cells))
                places.append(reader.line_num)
                if len(rows) == _BLOCK:
                    yield RowBlock(rows, places)
                    rows, places = [], []
        except csv.Error as error:
            raise DataError(f"not CSV: {error}", self.where(reader.line_num)) from None
        finally:
            opened.close()
        if rows:
            yield RowBlock(rows, places)

    def _checked(self, header: list[str]) -> list[str]:
        for place, name in enumerate(header):
            if name in header[:place]:
                raise DataError(f"the column {name!r} occurs twice", self.where(1))
        return header

    def _lines(self, opened: InputFile) -> Iterator[str]:
        limit = self.dialect.limits.line_bytes
        for block in read_line_blocks(opened.stream, limit, self.name):
            self.bytes_read = max(self.bytes_read, opened.position)
            try:
                text = decode(block.raw)
            except DataError as error:
                raise located(error, Location(self.name)) from None
            yield from _split(text)

    def where(self, place: int) -> Location:
        """The file and the line on which the row ends."""
        return Location(self.name, place)

    def phrase(self, place: int) -> str:
        """The file and the line on which the row ends."""
        return f"{self.name}:{place}"


def _split(text: str) -> list[str]:
    """Lines at line feeds only."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _row(header: list[str], cells: list[str]) -> Row:
    if len(cells) > len(header):
        return UnreadableRow(f"the row has {len(cells)} cells, the header {len(header)}")
    return dict(zip(header, cells, strict=False))
