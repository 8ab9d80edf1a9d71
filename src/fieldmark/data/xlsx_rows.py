"""Excel workbooks: one sheet, a header, then one row per case; dates and times are ISO text."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import IO, TYPE_CHECKING, ClassVar, Final, cast

from fieldmark.data.csv_rows import Columns, add_column_note, read_cell, read_header
from fieldmark.data.json_parser import JsonDialect, Row, UnreadableRow
from fieldmark.data.rows import RowBlock, RowSource
from fieldmark.errors import DataError, LimitError, Location, MissingExtra, with_location
from fieldmark.model.json import JsonValue
from fieldmark.values.presence import is_blank
from fieldmark.values.text import did_you_mean

if TYPE_CHECKING:
    from openpyxl import Workbook  # type: ignore[import-untyped]


_BLOCK_ROWS: Final = 256
_CHUNK_BYTES: Final = 1 << 20
_OLE: Final = b"\xd0\xcf\x11\xe0"
"""The first bytes of .xls files and of encrypted workbooks."""
_DECLARATIONS: Final = (b"<!DOCTYPE", b"<!ENTITY")
"""Declarations that let a small part expand to a large one; no spreadsheet program writes them."""
_FORMULAS: Final = (b"<f>", b"<f ")
_MAX_SHOWN_SHEETS: Final = 5
_DAMAGED: Final = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, LookupError, ValueError, TypeError,
    AttributeError, SyntaxError, RuntimeError,
)  # fmt: skip
"""What openpyxl and zipfile raise for damaged files."""


@dataclass(slots=True)
class XlsxSource(RowSource):
    """Rows of a sheet, by default the first; the place of a row is its number in the sheet."""

    has_lines: ClassVar[bool] = True
    is_table: ClassVar[bool] = True
    dialect: JsonDialect = field(default_factory=JsonDialect)
    sheet: str | None = None
    formulas: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        opened = self.open_file()
        self.bytes_total = opened.size
        try:
            self._check_archive(opened.file)
        except _DAMAGED as error:
            raise self._read_error(error) from None
        finally:
            opened.close()
        with ExitStack() as stack:
            sheets = self._open(stack).worksheets
            names = [sheet.title for sheet in sheets]
        shown = ", ".join(names[:_MAX_SHOWN_SHEETS]) + (", …" if names[_MAX_SHOWN_SHEETS:] else "")
        if not names:
            raise DataError("the workbook has no sheet with cells", Location(self.name))
        if self.sheet is None:
            self.sheet = names[0]
            if len(names) > 1:
                self.add_note(f"sheet {names[0]!r} of {len(names)} ({shown}); name another")
        elif self.sheet not in names:
            hint = did_you_mean(self.sheet, names)
            message = f"sheet {self.sheet!r} not found; sheets: {shown}"
            raise DataError(f"{message}; {hint}" if hint else message, Location(self.name))

    def blocks(self) -> Iterator[RowBlock]:
        """Read the rows after the header, without blank rows."""
        columns: Columns | None = None
        rows: list[Row] = []
        places: list[int] = []
        for number, cells in self._numbered_rows():
            if columns is None:
                columns = self._columns(cells, number)
                add_column_note(self, columns)
                continue
            rows.append(self._row(cells, columns))
            places.append(number)
            if len(rows) == _BLOCK_ROWS:
                yield RowBlock(rows, places)
                rows, places = [], []
        self.bytes_read = self.bytes_total
        if rows:
            yield RowBlock(rows, places)

    def _check_archive(self, file: IO[bytes]) -> None:
        """Raise an error for parts that are too large or that can expand, and find formulas."""
        if file.read(len(_OLE)) == _OLE:
            raise DataError(
                "not an .xlsx file, but an .xls file or an encrypted workbook; save it as .xlsx",
                Location(self.name),
            )
        limit = self.dialect.limits.document_bytes
        with zipfile.ZipFile(file) as archive:
            parts = archive.infolist()
            # A part is never decompressed beyond the size that the archive declares.
            if sum(part.file_size for part in parts) > limit:
                message = f"workbook exceeds the limit of {limit:,} bytes when decompressed"
                raise LimitError("document_bytes", message, Location(self.name))
            for part in parts:
                if part.filename.endswith((".xml", ".rels")):
                    with archive.open(part) as stream:
                        self._check_part(stream)

    def _check_part(self, stream: IO[bytes]) -> None:
        before = b""
        while chunk := stream.read(_CHUNK_BYTES):
            text = before + chunk
            if any(each in text for each in _DECLARATIONS) or b"\0" in text:
                raise DataError("workbook with XML declarations refused", Location(self.name))
            self.formulas = self.formulas or any(each in text for each in _FORMULAS)
            before = chunk[-len(_DECLARATIONS[0]) :]

    def _open(self, stack: ExitStack, *, values: bool = True) -> Workbook:
        try:
            from openpyxl import load_workbook
        except ImportError as error:
            raise MissingExtra("reading Excel workbooks", "tables") from error
        opened = self.open_file()
        stack.callback(opened.close)
        try:
            book = load_workbook(opened.file, read_only=True, data_only=values, keep_links=False)
        except _DAMAGED as error:
            raise self._read_error(error) from None
        stack.callback(book.close)
        return book

    def _numbered_rows(self) -> Iterator[tuple[int, list[object]]]:
        """Yield the rows that are not blank; the limit on values is for the whole sheet."""
        limit = self.dialect.limits.nodes
        count = 0
        with ExitStack() as stack:
            sheet = self._open(stack)[self.sheet]
            sheet.reset_dimensions()  # they can be wrong
            formulas = self._formula_cells(stack)
            try:
                for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
                    unknown = next(formulas, frozenset())
                    count += max(1, len(cells))
                    if count > limit:
                        raise LimitError(
                            "nodes", f"too many cells (limit {limit:,})", self.location(number)
                        )
                    for place in unknown:
                        if place < len(cells) and cells[place] is None:
                            raise DataError(
                                f"the formula in column {place + 1} has no stored value; open the "
                                "workbook in a spreadsheet program and save it",
                                self.location(number),
                            )
                    if any(cell is not None for cell in cells):
                        yield number, list(cells)
            except _DAMAGED as error:
                raise self._read_error(error) from None

    def _formula_cells(self, stack: ExitStack) -> Iterator[frozenset[int]]:
        """Yield the places of the formulas in each row."""
        if not self.formulas:
            return
        sheet = self._open(stack, values=False)[self.sheet]
        sheet.reset_dimensions()
        for row in sheet.iter_rows():
            yield frozenset(place for place, cell in enumerate(row) if cell.data_type == "f")

    def _columns(self, cells: Sequence[object], number: int) -> Columns:
        names = ["" if cell is None else _header_text(cell) for cell in cells]
        while names and is_blank(names[-1]):
            names.pop()
        unnamed = next((place for place, name in enumerate(names, 1) if is_blank(name)), None)
        if unnamed is not None:
            raise DataError(f"column {unnamed} has no name", self.location(number))
        try:
            return read_header(names, self.dialect.limits)
        except DataError as error:
            raise with_location(error, self.location(number)) from None

    def _row(self, cells: list[object], columns: Columns) -> Row:
        while cells and cells[-1] is None:
            cells.pop()
        if len(cells) > len(columns.names):
            return UnreadableRow(f"{len(cells)} cells, but the header has {len(columns.names)}")
        values: list[JsonValue] = [_to_json(cell) for cell in cells]
        values += [None] * (len(columns.names) - len(values))
        for place in columns.json_places:
            text = values[place]
            if isinstance(text, str):
                try:
                    values[place] = read_cell(text, self.dialect)
                except DataError as error:
                    return UnreadableRow(f"column {columns.names[place]!r}: {error.message}")
        return columns.row(values, self.dialect.limits)

    def _read_error(self, error: Exception) -> DataError:
        reason = str(error).split("\n", 1)[0] or type(error).__name__
        return DataError(f"cannot read the workbook: {reason}", Location(self.name))


def _header_text(cell: object) -> str:
    value = _to_json(cell)
    return value.strip() if isinstance(value, str) else str(value)


def _to_json(cell: object) -> JsonValue:
    """Return the value of a cell; a date without time of day is a date."""
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell)
    return cast("JsonValue", cell)
