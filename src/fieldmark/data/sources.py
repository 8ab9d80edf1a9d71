"""Opening inputs as rows: files, URLs, directories, standard input and Python objects."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, cast

from fieldmark import registry
from fieldmark.data.input_files import (
    STDIN,
    InputFile,
    buffer_stream,
    format_suffix,
    is_compressed,
    is_stream,
    is_url,
    open_file,
    open_stdin,
    read_whole,
    redacted_url,
)
from fieldmark.data.inputs import InputLike, ParsedFile
from fieldmark.data.json_parser import (
    Duplicates,
    JsonDialect,
    Row,
    UnreadableRow,
    parse_bytes,
    parse_document,
)
from fieldmark.data.json_rows import (
    JsonlSource,
    ObjectSource,
    ValueSource,
    ensure_documents,
    is_record,
    to_json_value,
)
from fieldmark.data.rows import ID_KEYS, RowBlock, RowSource
from fieldmark.errors import DataError, Location, with_location
from fieldmark.model.reader import FileReader
from fieldmark.values.plain_json import is_table
from fieldmark.values.text import plural

_BLOCK_ROWS: Final = 64
_SUFFIX: Final = ".json"


@dataclass(slots=True)
class DirectorySource(RowSource):
    """Rows of a directory; the id is the file name without `.json`."""

    dialect: JsonDialect = field(default_factory=JsonDialect)
    names: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        other_files = 0
        directories = 0
        with os.scandir(self.name) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    directories += 1
                elif entry.name.endswith(_SUFFIX):
                    self.names.append(entry.name)
                    self.bytes_total += entry.stat(follow_symlinks=False).st_size
                else:
                    other_files += 1
        self.names.sort()
        ignored = (
            plural(directories, "subdirectory", "subdirectories") if directories else "",
            plural(other_files, "file") + " without the extension .json" if other_files else "",
        )
        self.warnings += [f"{self.name}: ignored {warning}" for warning in ignored if warning]
        if not self.names:
            raise DataError("no <id>.json files in this directory", Location(self.name))

    def blocks(self) -> Iterator[RowBlock]:
        """Read the documents in the order of their names."""
        for start in range(0, len(self.names), _BLOCK_ROWS):
            numbers = range(start, min(start + _BLOCK_ROWS, len(self.names)))
            ids = [self.names[number].removesuffix(_SUFFIX) for number in numbers]
            yield RowBlock(list(map(self.read, numbers)), numbers, ids)

    def ids(self) -> list[str]:
        """Return the ids of all documents in order."""
        return [name.removesuffix(_SUFFIX) for name in self.names]

    def read(self, number: int) -> Row:
        """Return the document of a file, or why it cannot be read."""
        try:
            path = Path(self.name, self.names[number])
            if path.is_symlink():
                path = self._resolve_link(path)
            opened = open_file(path, follow=False)
            try:
                raw = read_whole(opened, self.dialect.limits.document_bytes)
            finally:
                opened.close()
            self.bytes_read += len(raw)
            return parse_document(raw, self.dialect)
        except DataError as error:
            return UnreadableRow(error.message)

    def _resolve_link(self, path: Path) -> Path:
        """Return the target of a symbolic link, which must be in the directory."""
        try:
            target = path.resolve()
        except (OSError, RuntimeError):
            raise DataError("broken symbolic link") from None
        if not target.is_relative_to(Path(self.name).resolve()):
            raise DataError("symbolic link to a file outside the directory")
        return target

    def location(self, position: int) -> Location:
        """Return the file of a row."""
        return Location(str(Path(self.name, self.names[position])))

    def describe(self, position: int) -> str:
        """Return the file of a row."""
        return str(self.location(position))


_PEEK_BYTES: Final = 1 << 12
_WORKBOOKS: Final = frozenset((".xlsx", ".xlsm", ".xls"))
_TEXTS: Final = frozenset((".txt", ".log", ".md"))
"""Suffixes of files that may contain JSON, for which no plug-in is looked up."""
_JSON_START: Final = re.compile(r"\s*[\[{]")


def open_source(
    source: InputLike,
    dialect: JsonDialect,
    *,
    side: str,
    text: bool = False,
    sheet: str | None = None,
) -> RowSource:
    """Open the rows of one side; `side` is its name if it has no file name.

    With `text`, rows in memory may be model output. `sheet` names the sheet of a workbook.
    """
    if isinstance(source, str | Path):
        if str(source) == STDIN:
            return _open_stream(open_stdin(), dialect)
        if isinstance(source, str) and is_url(source):
            return _open_path(redacted_url(source), dialect, sheet, path=source)
        # Unlike a method of Path, this accepts text that is too long for a file name.
        if isinstance(source, str) and _JSON_START.match(source) and not os.path.exists(source):  # noqa: PTH110
            message = "expected the name of a file, got JSON text; parse it with json.loads first"
            raise DataError(message, Location(side))
        path = Path(source)
        if path.is_dir():
            return DirectorySource(str(source), dialect)
        return _open_path(str(source), dialect, sheet)
    if isinstance(source, ParsedFile):
        return ValueSource(source.name, source.value)
    if is_table(type(source)):
        from fieldmark.data.arrow_tables import open_table  # only for tables

        return open_table(source, dialect, side)
    if is_record(source):
        try:
            value = to_json_value(source, dialect)
        except DataError as error:
            raise with_location(error, Location(side)) from None
        if isinstance(value, dict) and not value.keys().isdisjoint(ID_KEYS):
            columns = [column for column in value.values() if isinstance(column, list)]
            if len(columns) == len(value) and len(set(map(len, columns))) == 1:
                message = "expected documents, got columns; convert them to a list of rows"
                raise DataError(message, Location(side))
        return ValueSource(side, value)
    if is_stream(source):
        return _open_stream(buffer_stream(source, side), dialect)
    return ObjectSource(side, ensure_documents(source, side), dialect, text)


def _open_stream(opened: InputFile, dialect: JsonDialect) -> RowSource:
    if _holds_lines(opened, dialect):
        return JsonlSource.over(opened, dialect)
    return _read_document(opened, dialect)


def _open_path(name: str, dialect: JsonDialect, sheet: str | None, *, path: str = "") -> RowSource:
    """Open a file by its suffix; `path` is where it is if that is not its name."""
    suffix = format_suffix(Path(name))
    if suffix in _WORKBOOKS:
        if is_compressed(Path(name)):
            raise DataError("compressed workbooks are not supported", Location(name))
        from fieldmark.data.spreadsheets import XlsxSource  # only for tables

        return XlsxSource(name, dialect, sheet, path=path)
    if suffix and suffix not in _BY_SUFFIX and suffix not in _TEXTS:
        for _, strategy in registry.strategies(registry.Plugin.READERS):
            if suffix in getattr(strategy, "suffixes", ()):
                reader = cast("FileReader", registry.create(strategy, {}))
                return _open_by(reader, name, dialect, path)
    return _BY_SUFFIX.get(suffix, _open_json)(name, dialect, path)


def _open_by(reader: FileReader, name: str, dialect: JsonDialect, path: str) -> RowSource:
    """Read all rows of a file; an exception of the reader becomes an error of the data."""
    opened = open_file(path or name)
    try:
        rows = list(reader.read(cast("BinaryIO", opened.stream)))
    except DataError as error:
        raise with_location(error, Location(name)) from error.__cause__
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        message = f"reader {reader.name!r} cannot read the file: {reason}"
        raise DataError(message, Location(name)) from error
    finally:
        opened.close()
    source = ObjectSource(name, rows, dialect, text=True)
    source.bytes_total = source.bytes_read = opened.size
    return source


def _open_jsonl(name: str, dialect: JsonDialect, path: str) -> RowSource:
    opened = open_file(path or name)
    opened.close()
    if opened.size == 0:
        raise _empty_file(name)
    source = JsonlSource.at(name, dialect, path=path, size=opened.size)
    source.version = opened.version
    return source


def _open_csv(name: str, dialect: JsonDialect, path: str, delimiter: str = "") -> RowSource:
    from fieldmark.data.spreadsheets import CsvSource  # only for tables

    source = CsvSource(name, dialect, delimiter, path=path)
    if source.bytes_total == 0:
        raise _empty_file(name)
    return source


def _open_parquet(name: str, dialect: JsonDialect, path: str) -> RowSource:
    if is_compressed(Path(name)):
        raise DataError("compressed Parquet files are not supported", Location(name))
    from fieldmark.data.arrow_tables import ParquetSource  # only for tables

    return ParquetSource(name, dialect, path=path)


def _open_json(name: str, dialect: JsonDialect, path: str) -> RowSource:
    opened = open_file(path or name)
    if opened.seekable and _holds_lines(opened, dialect):
        opened.close()
        source = JsonlSource.at(name, dialect, path=path, size=opened.size)
        source.version = opened.version
        return source
    return _read_document(opened, dialect)


_BY_SUFFIX: Final[Mapping[str, Callable[[str, JsonDialect, str], RowSource]]] = {
    ".jsonl": _open_jsonl,
    ".ndjson": _open_jsonl,
    ".json": _open_json,
    ".csv": _open_csv,
    ".tsv": partial(_open_csv, delimiter="\t"),
    ".parquet": _open_parquet,
}


def _holds_lines(opened: InputFile, dialect: JsonDialect) -> bool:
    """Return whether the first line is a complete JSON value and another line follows."""
    limits = dialect.limits
    line = opened.stream.readline(limits.line_bytes + 1)
    follows = bool(opened.stream.read(_PEEK_BYTES).strip())
    opened.stream.seek(0)
    if not (line.strip() and follows):
        return False
    try:
        parse_bytes(line, JsonDialect(role=dialect.role, duplicates=Duplicates.LAST, limits=limits))
    except DataError:
        return False
    return True


def _read_document(opened: InputFile, dialect: JsonDialect) -> RowSource:
    """Read one JSON value; a candidate that is not JSON is a string."""
    try:
        raw = read_whole(opened, dialect.limits.document_bytes)
        if not raw.strip():
            raise _empty_file(opened.name)
        value = parse_document(raw, dialect)
    except DataError as error:
        raise with_location(error, Location(opened.name)) from None
    finally:
        opened.close()
    source = ValueSource(opened.name, value)
    source.bytes_total = source.bytes_read = opened.size
    return source


def _empty_file(name: str) -> DataError:
    return DataError("the file is empty; expected one row per case", Location(name))
