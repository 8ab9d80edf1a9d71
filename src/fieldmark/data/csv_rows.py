"""CSV files: a header, then one row per case; all cells are strings."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final

from fieldmark.data.files import InputFile
from fieldmark.data.json_parser import JsonDialect, Row, UnreadableRow, decode
from fieldmark.data.line_offsets import read_line_blocks
from fieldmark.data.rows import RowBlock, RowSource, with_location
from fieldmark.errors import DataError, LimitError, Location
from fieldmark.values.json_limits import check_paths
from fieldmark.values.strict_json import first_repeated

__all__ = ["CsvSource"]

_BLOCK_ROWS: Final = 256


@dataclass(slots=True)
class CsvSource(RowSource):
    """Rows of a CSV file with a header; the place of a row is its last line."""

    has_lines: ClassVar[bool] = True
    dialect: JsonDialect = field(default_factory=JsonDialect)
    delimiter: str = ","

    def __post_init__(self) -> None:
        self.text_cells = True
        opened = self.open_file()
        self.bytes_total = opened.size
        opened.close()

    def blocks(self) -> Iterator[RowBlock]:
        """Read the rows after the header, without blank lines."""
        opened = self.open_file()
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
                    name = first_repeated(header)
                    if name is not None:
                        raise DataError(f"duplicate column {name!r}", self.location(1))
                    try:
                        check_paths(dict.fromkeys(header), self.dialect.limits)
                    except LimitError as error:
                        raise with_location(error, self.location(1)) from None
                    continue
                if len(cells) > len(header):
                    reason = f"{len(cells)} cells, but the header has {len(header)}"
                    rows.append(UnreadableRow(reason))
                else:
                    rows.append(dict(zip(header, cells, strict=False)))
                places.append(reader.line_num)
                if len(rows) == _BLOCK_ROWS:
                    yield RowBlock(rows, places)
                    rows, places = [], []
        except csv.Error as error:
            raise DataError(f"invalid CSV: {error}", self.location(reader.line_num)) from None
        finally:
            opened.close()
        if rows:
            yield RowBlock(rows, places)

    def _lines(self, opened: InputFile) -> Iterator[str]:
        """Yield the lines with their line feeds; other line separators are not line ends."""
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
