"""What an argument names, opened as rows: a file, a folder, standard input, or Python objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from fieldmark.data.exact import Grammar
from fieldmark.data.files import STDIN, Opened, keep, open_file, open_stdin, read_whole, suffix_of
from fieldmark.data.folders import FolderSource
from fieldmark.data.jsonl import JsonlSource
from fieldmark.data.packed import is_packed
from fieldmark.data.parquet import ParquetSource
from fieldmark.data.parsing import document_or_text, parse_bytes
from fieldmark.data.rows import RowSource, located
from fieldmark.data.tables import CsvSource
from fieldmark.data.values import ObjectSource, ValueSource, as_json
from fieldmark.errors import DataError, Location
from fieldmark.model.json import JsonValue

__all__ = ["Given", "is_stream", "open_source"]

Given: TypeAlias = "str | Path | Mapping[str, object] | Iterable[object]"
"""A path, `-` for standard input, an open file, one JSON object, or rows."""


def open_source(given: Given, grammar: Grammar, *, side: str) -> RowSource:
    """The rows of one side; `side` names it where it has no file."""
    if isinstance(given, str | Path):
        return _from_path(str(given), grammar)
    if isinstance(given, Mapping):
        return ValueSource(side, _named(given, grammar, side))
    if is_stream(given):
        return _from_stream(keep(given, side), grammar)
    source = ObjectSource(side, given, grammar)
    source.in_memory = True
    return source


def is_stream(given: object) -> bool:
    """Whether something is a file that has been opened, and not its rows."""
    return callable(getattr(given, "read", None))


def _named(given: object, grammar: Grammar, side: str) -> JsonValue:
    try:
        return as_json(given, grammar)
    except DataError as error:
        raise located(error, Location(side)) from None


def _from_stream(kept: Opened, grammar: Grammar) -> RowSource:
    lines = _is_lines(kept, grammar)
    return JsonlSource.over(kept, grammar) if lines else _whole(kept, grammar)


def _from_path(name: str, grammar: Grammar) -> RowSource:
    if name == STDIN:
        return _from_stream(open_stdin(), grammar)
    path = Path(name)
    if path.is_dir():
        return FolderSource(name, grammar)
    return _BY_SUFFIX.get(suffix_of(path), _json)(name, grammar)


def _jsonl(name: str, grammar: Grammar) -> RowSource:
    opened = open_file(Path(name))
    opened.close()
    return _filled(JsonlSource.at(name, grammar, size=opened.size))


def _csv(name: str, grammar: Grammar) -> RowSource:
    return _filled(CsvSource(name, grammar))


def _tsv(name: str, grammar: Grammar) -> RowSource:
    return _filled(CsvSource(name, grammar, "\t"))


def _parquet(name: str, grammar: Grammar) -> RowSource:
    path = Path(name)
    if is_packed(path):
        raise DataError("Parquet is packed already; unpack the file first", Location(name))
    return ParquetSource(name, grammar)


def _json(name: str, grammar: Grammar) -> RowSource:
    opened = open_file(Path(name))
    if opened.seekable and _is_lines(opened, grammar):
        opened.close()
        return JsonlSource.at(name, grammar, size=opened.size)
    return _whole(opened, grammar)


_BY_SUFFIX: Final[Mapping[str, Callable[[str, Grammar], RowSource]]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".json": _json,
    ".csv": _csv,
    ".tsv": _tsv,
    ".parquet": _parquet,
}


def _is_lines(opened: Opened, grammar: Grammar) -> bool:
    """Whether the first line is a whole JSON value and another line follows."""
    line = opened.stream.readline(grammar.limits.line_bytes + 1)
    follows = bool(opened.stream.read(1 << 12).strip())
    opened.stream.seek(0)
    if not (line.strip() and follows):
        return False
    try:
        parse_bytes(line, Grammar(role=grammar.role, duplicates="last", limits=grammar.limits))
    except DataError:
        return False
    return True


def _whole(opened: Opened, grammar: Grammar) -> RowSource:
    """One JSON value; what a candidate wrote that is no JSON stays text."""
    try:
        raw = read_whole(opened, grammar.limits.document_bytes)
        if not raw.strip():
            raise _empty(opened.name)
        value = document_or_text(raw, grammar)
    except DataError as error:
        raise located(error, Location(opened.name)) from None
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
