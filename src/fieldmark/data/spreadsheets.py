"""CSV files and Excel workbooks: a header, then one row per case.

Cells of CSV files are strings, or JSON objects and arrays. The delimiter is detected from the first
rows, and the encoding from the whole file, because a file that starts with ASCII says nothing about
what follows. In workbooks, one sheet is read, and dates and times are ISO text.
"""

from __future__ import annotations

import csv
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import IO, TYPE_CHECKING, ClassVar, Final, TypeAlias, cast

from fieldmark.data.file_blocks import read_line_blocks
from fieldmark.data.input_files import InputFile
from fieldmark.data.json_parser import JsonDialect, Row, UnreadableRow, decode, parse_text
from fieldmark.data.row_layout import CANDIDATE_KEYS, EXPECTED_KEYS, is_envelope
from fieldmark.data.rows import RowBlock, RowSource
from fieldmark.errors import DataError, LimitError, Location, MissingExtra, with_location
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.json_text import Limits, check_paths, first_repeated
from fieldmark.values.paths import parse_path
from fieldmark.values.presence import is_blank
from fieldmark.values.text import did_you_mean

if TYPE_CHECKING:
    from openpyxl import Workbook  # type: ignore[import-untyped]


_NAME: Final = r"[^\W\d][\w -]*(?<! )"
_INDEXES: Final = r"(?:\[(?:0|[1-9]\d{0,5})\])*"
_NESTED: Final = re.compile(rf"{_NAME}{_INDEXES}(?:\.{_NAME}{_INDEXES})*\Z")
"""A name that is a path; other names with dots, as `No.` or `1.5`, are keys."""
_BRACKETS: Final = {"{": "}", "[": "]"}
_MODEL_TEXT: Final = frozenset((*EXPECTED_KEYS, *CANDIDATE_KEYS))

_Steps: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns, and their steps if any of them is nested.

    The cells of `json_columns` can contain JSON.
    """

    names: tuple[str, ...]
    steps: tuple[_Steps, ...] | None
    json_columns: tuple[int, ...]

    def row(self, cells: Sequence[JsonValue], limits: Limits) -> Row:
        """Return a row as a document; JSON in cells counts below the names of its columns."""
        document = self.document(cells)
        if any(isinstance(cell, dict | list) for cell in cells):
            try:
                check_paths(document, limits)
            except LimitError as error:
                return UnreadableRow(error.message)
        return document

    def document(self, cells: Sequence[JsonValue]) -> JsonObject:
        """Return a row as a document; list items at the end that are blank are left out."""
        if self.steps is None:
            return dict(zip(self.names, cells, strict=False))
        root: dict[str | int, object] = {}
        for steps, cell in zip(self.steps, cells, strict=False):
            at = root
            for step in steps[:-1]:
                at = cast("dict[str | int, object]", at.setdefault(step, {}))
            at[steps[-1]] = cell
        return cast("JsonObject", _with_lists(root))


def read_header(names: Sequence[str], limits: Limits) -> Columns:
    """Return the columns of a header; raise an error for names that contradict each other."""
    duplicate = first_repeated(names)
    if duplicate is not None:
        raise DataError(f"duplicate column {duplicate!r}")
    check_paths(dict.fromkeys(names), limits)
    envelope = is_envelope(names)
    indexes = [index for index, name in enumerate(names) if not (envelope and name in _MODEL_TEXT)]
    steps = [_steps(name, limits) for name in names]
    if max(map(len, steps), default=1) == 1:
        return Columns(tuple(names), None, tuple(indexes))
    _check_steps(dict(zip(steps, names, strict=True)))
    return Columns(tuple(names), tuple(steps), tuple(indexes))


def add_column_note(source: RowSource, columns: Columns) -> None:
    """Add a note about columns that are read as nested keys."""
    named = zip(columns.names, columns.steps or (), strict=False)
    nested = [name for name, steps in named if len(steps) > 1]
    if nested:
        more = ", …" if len(nested) > 1 else ""
        source.add_note(f"columns with paths are nested keys ({nested[0]}{more})")


def read_cell(text: str, dialect: JsonDialect) -> JsonValue:
    """Return a JSON object or array that is given as text, or the text if it is not JSON."""
    if len(text) < 2 or _BRACKETS.get(text[0]) != text[-1]:  # noqa: PLR2004 - two brackets
        return text
    try:
        return parse_text(text, dialect)
    except LimitError:
        raise
    except DataError:
        return text


def _steps(name: str, limits: Limits) -> _Steps:
    if not ("." in name or "[" in name) or not _NESTED.match(name):
        return (name,)
    if name.count(".") + name.count("[") >= limits.depth:
        raise LimitError("depth", f"nesting exceeds the limit of {limits.depth} levels")
    return cast("_Steps", parse_path(name).segments)


def _check_steps(columns: dict[_Steps, str]) -> None:
    """Raise an error if a column is inside another, or if an index of a list is left out."""
    inner: dict[_Steps, dict[str | int, str]] = {}
    for steps, name in columns.items():
        for depth in range(len(steps)):
            if depth and steps[:depth] in columns:
                raise DataError(f"column {name!r} is inside column {columns[steps[:depth]]!r}")
            inner.setdefault(steps[:depth], {}).setdefault(steps[depth], name)
    for members in inner.values():
        indexes = sorted(step for step in members if isinstance(step, int))
        if indexes and len(indexes) < len(members):
            shown = " and ".join(repr(name) for name in list(members.values())[:2])
            raise DataError(f"columns {shown} are an object and a list at the same place")
        for expected, index in enumerate(indexes):
            if index != expected:
                raise DataError(
                    f"column {members[index]!r}: no column with the index {expected}; "
                    "the items of a list are numbered from 0 without gaps"
                )


def _with_lists(value: object) -> object:
    """Return a tree of columns with lists instead of objects with indexes as keys."""
    if not isinstance(value, dict):
        return value
    converted = {step: _with_lists(inner) for step, inner in value.items()}
    if not any(isinstance(step, int) for step in converted):
        return converted
    items = [converted.get(index) for index in range(1 + max(cast("dict[int, object]", converted)))]
    while items and _all_blank(items[-1]):
        items.pop()
    return items


def _all_blank(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_all_blank, value.values()))
    if isinstance(value, list):
        return all(map(_all_blank, value))
    return value is None or (isinstance(value, str) and is_blank(value))


_BLOCK_ROWS: Final = 256
_SAMPLE_ROWS: Final = 20
_UTF8: Final = "utf-8"
_WINDOWS: Final = "cp1252"
_DELIMITERS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_DELIMITER_LINE: Final = re.compile(r"sep=([,;\t|])\r?\n?\Z")
"""The line before the header with which Excel names the delimiter."""


@dataclass(slots=True)
class CsvSource(RowSource):
    """Rows of a CSV file with a header; the position of a row is its last line.

    Without a `delimiter`, it is detected.
    """

    has_lines: ClassVar[bool] = True
    is_table: ClassVar[bool] = True
    dialect: JsonDialect = field(default_factory=JsonDialect)
    delimiter: str = ""
    encoding: str = field(default=_UTF8, init=False)

    def __post_init__(self) -> None:
        self.text_cells = True
        opened = self.open_file()
        self.bytes_total = opened.size
        try:
            sample = self._detect_encoding(opened)
        finally:
            opened.close()
        if not self.delimiter:
            self.delimiter = _detect_delimiter(sample)
            if self.delimiter != ",":
                self.add_note(f"columns separated by {_DELIMITERS[self.delimiter]}")

    def blocks(self) -> Iterator[RowBlock]:
        """Read the rows after the header, without blank lines."""
        opened = self.open_file()
        csv.field_size_limit(self.dialect.limits.line_bytes)
        reader = csv.reader(self._lines(opened), delimiter=self.delimiter, strict=True)
        columns: Columns | None = None
        rows: list[Row] = []
        positions: list[int] = []
        try:
            for cells in reader:
                if not cells:
                    continue
                if columns is None:
                    columns = read_header(cells, self.dialect.limits)
                    add_column_note(self, columns)
                    continue
                rows.append(self._row(cells, columns))
                positions.append(reader.line_num)
                if len(rows) == _BLOCK_ROWS:
                    yield RowBlock(rows, positions)
                    rows, positions = [], []
        except csv.Error as error:
            raise DataError(f"invalid CSV: {error}", self.location(reader.line_num)) from None
        except DataError as error:
            location = error.location if error.location != Location() else self.location(1)
            raise with_location(error, location) from None
        finally:
            opened.close()
        if rows:
            yield RowBlock(rows, positions)

    def _row(self, cells: list[str], columns: Columns) -> Row:
        if len(cells) > len(columns.names):
            return UnreadableRow(f"{len(cells)} cells, but the header has {len(columns.names)}")
        values: list[JsonValue] = [*cells]
        for index in columns.json_columns[: len(cells)]:
            text = cells[index]
            if text[:1] in ("{", "["):
                try:
                    value = read_cell(text, self.dialect)
                except DataError as error:
                    return UnreadableRow(f"column {columns.names[index]!r}: {error.message}")
                self.json_cells = self.json_cells or value is not text
                values[index] = value
        return columns.row(values, self.dialect.limits)

    def _detect_encoding(self, opened: InputFile) -> str:
        """Return the first lines, after reading the whole file to find its encoding.

        A file with valid UTF-8 beside invalid bytes is damaged rather than in another encoding.
        """
        sample = b""
        non_ascii = False
        for block in read_line_blocks(opened.stream, self.dialect.limits.line_bytes, self.name):
            sample = sample or block.raw
            if block.raw.isascii():
                continue
            valid = block.raw.decode(_UTF8, "ignore")
            if valid.encode() != block.raw:
                damaged = non_ascii or not valid.isascii() or b"\0" in sample
                if not damaged:
                    self.encoding = _WINDOWS
                    self.add_note("not UTF-8, read as Windows-1252")
                break
            non_ascii = True
        return sample.decode(self.encoding, "replace").removeprefix("\ufeff")

    def _lines(self, opened: InputFile) -> Iterator[str]:
        """Yield the lines with their line feeds; other line separators are not line ends."""
        limit = self.dialect.limits.line_bytes
        for block in read_line_blocks(opened.stream, limit, self.name):
            self.bytes_read = max(self.bytes_read, opened.position)
            try:
                is_utf8 = self.encoding == _UTF8
                text = decode(block.raw) if is_utf8 else block.raw.decode(self.encoding)
            except DataError as error:
                raise with_location(error, Location(self.name)) from None
            except UnicodeDecodeError as error:
                byte = block.raw[error.start]
                message = f"neither UTF-8 nor Windows-1252: byte 0x{byte:02X}; save it as UTF-8"
                raise DataError(message, Location(self.name)) from None
            *lines, unfinished = text.split("\n")
            for number, line in enumerate(lines, block.first):
                # A blank line is not a row, so that the line numbers stay the same.
                yield "\n" if number == 1 and _DELIMITER_LINE.match(line) else f"{line}\n"
            if unfinished:
                yield unfinished


def _detect_delimiter(sample: str) -> str:
    """Return the delimiter with which most of the first rows have as many cells as the header.

    Among equals, the delimiter with the most columns is chosen, then the first of the table.
    """
    *lines, unfinished = sample.split("\n")
    lines = lines or [unfinished]
    named = _DELIMITER_LINE.match(lines[0])
    if named is not None:
        return named.group(1)

    def fit(delimiter: str) -> tuple[float, int]:
        rows = _first_rows(lines, delimiter)
        if not rows or len(rows[0]) == 1:
            return 0, 0
        agreeing = sum(len(row) == len(rows[0]) for row in rows)
        return agreeing / len(rows), len(rows[0])

    return max(_DELIMITERS, key=fit)


def _first_rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader((f"{line}\n" for line in lines), delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) == _SAMPLE_ROWS:
                break
    except csv.Error:
        pass  # reported when the rows are read
    return rows


# --- Excel workbooks ------------------------------------------------------------------------------

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
    """Rows of a sheet, by default the first; the position of a row is its number in the sheet."""

    has_lines: ClassVar[bool] = True
    is_table: ClassVar[bool] = True
    is_workbook: ClassVar[bool] = True
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
        positions: list[int] = []
        for number, cells in self._numbered_rows():
            if columns is None:
                columns = self._columns(cells, number)
                add_column_note(self, columns)
                continue
            rows.append(self._row(cells, columns))
            positions.append(number)
            if len(rows) == _BLOCK_ROWS:
                yield RowBlock(rows, positions)
                rows, positions = [], []
        self.bytes_read = self.bytes_total
        if rows:
            yield RowBlock(rows, positions)

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
            if any(pattern in text for pattern in _DECLARATIONS) or b"\0" in text:
                raise DataError("workbook with XML declarations refused", Location(self.name))
            self.formulas = self.formulas or any(pattern in text for pattern in _FORMULAS)
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
                    for index in unknown:
                        if index < len(cells) and cells[index] is None:
                            raise DataError(
                                f"the formula in column {index + 1} has no stored value; open the "
                                "workbook in a spreadsheet program and save it",
                                self.location(number),
                            )
                    if any(cell is not None for cell in cells):
                        yield number, list(cells)
            except _DAMAGED as error:
                raise self._read_error(error) from None

    def _formula_cells(self, stack: ExitStack) -> Iterator[frozenset[int]]:
        """Yield the indexes of the formulas in each row."""
        if not self.formulas:
            return
        sheet = self._open(stack, values=False)[self.sheet]
        sheet.reset_dimensions()
        for row in sheet.iter_rows():
            yield frozenset(index for index, cell in enumerate(row) if cell.data_type == "f")

    def _columns(self, cells: Sequence[object], number: int) -> Columns:
        names = ["" if cell is None else str(_to_json(cell)).strip() for cell in cells]
        while names and is_blank(names[-1]):
            names.pop()
        unnamed = next((column for column, name in enumerate(names, 1) if is_blank(name)), None)
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
        for index in columns.json_columns:
            text = values[index]
            if isinstance(text, str):
                try:
                    values[index] = read_cell(text, self.dialect)
                except DataError as error:
                    return UnreadableRow(f"column {columns.names[index]!r}: {error.message}")
        return columns.row(values, self.dialect.limits)

    def _read_error(self, error: Exception) -> DataError:
        reason = str(error).split("\n", 1)[0] or type(error).__name__
        return DataError(f"cannot read the workbook: {reason}", Location(self.name))


def _to_json(cell: object) -> JsonValue:
    """Return the value of a cell; a date without time of day is a date."""
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell)
    return cast("JsonValue", cell)
