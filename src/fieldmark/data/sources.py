"""What an argument names, opened as rows: a file, a folder, standard input, or Python objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from fieldmark.data.csv_rows import CsvSource
from fieldmark.data.files import (
    STDIN,
    InputFile,
    buffer_stream,
    format_suffix,
    is_compressed,
    open_file,
    open_stdin,
    read_whole,
)
from fieldmark.data.folders import FolderSource
from fieldmark.data.inputs import InputLike
from fieldmark.data.json_documents import ObjectSource, ValueSource, to_json_value
from fieldmark.data.json_lines import JsonlSource
from fieldmark.data.json_parser import JsonDialect, parse_bytes, parse_document
from fieldmark.data.parquet import ParquetSource
from fieldmark.data.rows import RowSource, with_location
from fieldmark.errors import DataError, Location
from fieldmark.model.json import JsonValue

__all__ = ["is_stream", "open_source"]


def open_source(given: InputLike, dialect: JsonDialect, *, side: str) -> RowSource:
    """The rows of one side; `side` names it where it has no file."""
    if isinstance(given, str | Path):
        return _from_path(str(given), dialect)
    if isinstance(given, Mapping):
        return ValueSource(side, _named(given, dialect, side))
    if is_stream(given):
        return _from_stream(buffer_stream(given, side), dialect)
    source = ObjectSource(side, given, dialect)
    source.in_memory = True
    return source


def is_stream(given: object) -> bool:
    """Whether something is a file that has been opened, and not its rows."""
    return callable(getattr(given, "read", None))


def _named(given: object, dialect: JsonDialect, side: str) -> JsonValue:
    try:
        return to_json_value(given, dialect)
    except DataError as error:
        raise with_location(error, Location(side)) from None


def _from_stream(kept: InputFile, dialect: JsonDialect) -> RowSource:
    lines = _is_lines(kept, dialect)
    return JsonlSource.over(kept, dialect) if lines else _whole(kept, dialect)


def _from_path(name: str, dialect: JsonDialect) -> RowSource:
    if name == STDIN:
        return _from_stream(open_stdin(), dialect)
    path = Path(name)
    if path.is_dir():
        return FolderSource(name, dialect)
    return _BY_SUFFIX.get(format_suffix(path), _json)(name, dialect)


def _jsonl(name: str, dialect: JsonDialect) -> RowSource:
    opened = open_file(Path(name))
    opened.close()
    return _filled(JsonlSource.at(name, dialect, size=opened.size))


def _csv(name: str, dialect: JsonDialect) -> RowSource:
    return _filled(CsvSource(name, dialect))


def _tsv(name: str, dialect: JsonDialect) -> RowSource:
    return _filled(CsvSource(name, dialect, "\t"))


def _parquet(name: str, dialect: JsonDialect) -> RowSource:
    path = Path(name)
    if is_compressed(path):
        raise DataError("Parquet is packed already; unpack the file first", Location(name))
    return ParquetSource(name, dialect)


def _json(name: str, dialect: JsonDialect) -> RowSource:
    opened = open_file(Path(name))
    if opened.seekable and _is_lines(opened, dialect):
        opened.close()
        return JsonlSource.at(name, dialect, size=opened.size)
    return _whole(opened, dialect)


_BY_SUFFIX: Final[Mapping[str, Callable[[str, JsonDialect], RowSource]]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".json": _json,
    ".csv": _csv,
    ".tsv": _tsv,
    ".parquet": _parquet,
}


def _is_lines(opened: InputFile, dialect: JsonDialect) -> bool:
    """Whether the first line is a whole JSON value and another line follows."""
    line = opened.stream.readline(dialect.limits.line_bytes + 1)
    follows = bool(opened.stream.read(1 << 12).strip())
    opened.stream.seek(0)
    if not (line.strip() and follows):
        return False
    try:
        parse_bytes(line, JsonDialect(role=dialect.role, duplicates="last", limits=dialect.limits))
    except DataError:
        return False
    return True


def _whole(opened: InputFile, dialect: JsonDialect) -> RowSource:
    """One JSON value; what a candidate wrote that is no JSON stays text."""
    try:
        raw = read_whole(opened, dialect.limits.document_bytes)
        if not raw.strip():
            raise _empty(opened.name)
        value = parse_document(raw, dialect)
    except DataError as error:
        raise with_location(error, Location(opened.name)) from None
    finally:
        opened.close()
    source = ValueSource(opened.name, value)
    source.bytes_total = source.bytes_read = opened.size
    return source


def _filled(source: JsonlSource | CsvSource) -> RowSource:
    if source.bytes_total == 0:
        raise _empty(source.name)
    return source


def _empty(name: str) -> DataError:
    return DataError("the file is empty; expected one row a case", Location(name))
