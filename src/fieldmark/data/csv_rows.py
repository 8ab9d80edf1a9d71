"""CSV: a header, then one row per case; every cell is text."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fieldmark.data.files import InputFile, open_file
from fieldmark.data.json_parser import JsonDialect, Row, UnreadableRow, decode
from fieldmark.data.line_offsets import read_line_blocks
from fieldmark.data.rows import RowBlock, RowSource, with_location
from fieldmark.errors import DataError, Location

__all__ = ["CsvSource"]

_BLOCK_ROWS: Final = 256


@dataclass(slots=True)
class CsvSource(RowSource):
    """Rows of a CSV file with a header."""

    dialect: JsonDialect = field(default_factory=JsonDialect)
    delimiter: str = ","
    opened: list[InputFile] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.text_cells = True
        opened = open_file(Path(self.name))
        self.bytes_total = opened.size
        opened.close()

    def blocks(self) -> Iterator[RowBlock]:
        """Read the rows below the header, without blank lines."""
        opened = open_file(Path(self.name))
        self.opened.append(opened)
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
                    header = cells
                    for place, name in enumerate(header):
                        if name in header[:place]:
                            raise DataError(f"the column {name!r} occurs twice", self.location(1))
                    continue
                if len(cells) > len(header):
                    reason = f"the row has {len(cells)} cells, the header {len(header)}"
                    rows.append(UnreadableRow(reason))
                else:
                    rows.append(dict(zip(header, cells, strict=False)))
                places.append(reader.line_num)
                if len(rows) == _BLOCK_ROWS:
                    yield RowBlock(rows, places)
                    rows, places = [], []
        except csv.Error as error:
            raise DataError(f"not CSV: {error}", self.location(reader.line_num)) from None
        finally:
            opened.close()
        if rows:
            yield RowBlock(rows, places)

    def _lines(self, opened: InputFile) -> Iterator[str]:
        """The lines of the file with their line feeds; other line ends do not split."""
        limit = self.dialect.limits.line_bytes
        for block in read_line_blocks(opened.stream, limit, self.name):
            self.bytes_read = max(self.bytes_read, opened.position)
            try:
                text = decode(block.raw)
            except DataError as error:
                raise with_location(error, Location(self.name)) from None
            *lines, rest = text.split("\n")
            for line in lines:
                yield f"{line}\n"
            if rest:
                yield rest

    def close(self) -> None:
        """Close the files, also those that were not read to the end."""
        for opened in self.opened:
            opened.close()
        RowSource.close(self)

    def location(self, place: int) -> Location:
        """The file and the line on which the row ends."""
        return Location(self.name, place)

    def describe(self, place: int) -> str:
        """The file and the line on which the row ends."""
        return f"{self.name}:{place}"
