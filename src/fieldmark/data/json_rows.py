"""JSON as rows: JSONL files, whole JSON files and Python objects.

JSONL files are read in blocks and split only at line feeds. Their documents can stay unparsed for
the kernel, see `model.kernel`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import ClassVar, Final, TypeGuard, cast

import orjson

from fieldmark.data.file_blocks import LineBlock, read_line_blocks
from fieldmark.data.input_files import InputFile, temporary_file
from fieldmark.data.inputs import RowsAre
from fieldmark.data.json_parser import (
    BLANK_LINE,
    BOM,
    JsonDialect,
    Role,
    Row,
    UnreadableRow,
    parse_lines,
    reject_other_encodings,
)
from fieldmark.data.row_layout import Layout
from fieldmark.data.rows import ID_KEYS, RowBlock, RowSource, UnparsedRows
from fieldmark.errors import DataError, InputTypeError, Location, with_hint
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.kernel import kernel
from fieldmark.values.equality import canonical_text
from fieldmark.values.json_text import all_finite
from fieldmark.values.plain_json import (
    class_names,
    copy_json,
    defines,
    is_series,
    is_table,
    may_be_document,
    record_reader,
)

_ACCEPTED: Final = (
    "a file, a directory, an open file, a mapping, a data frame or an iterable of documents"
)
_OF_FRAMES: Final = ("to_dict", "to_pandas", "compute")
"""Methods of data frames of other libraries, whose items are the names of their columns."""


def is_record(value: object) -> bool:
    """Return whether an argument is one document by its fields: a mapping, a model and so on."""
    return record_reader(type(value)) is not None


def ensure_documents(documents: object, name: str, accepted: str = _ACCEPTED) -> Iterable[object]:
    """Return an argument if it can be an iterable of documents, otherwise raise an error.

    Data frames, mappings and sets are rejected: their items are column names or keys, or have no
    order. A missing value in a column of a data frame is `None`.
    """
    kind = type(documents)
    if is_series(kind):
        series = cast("Iterable[object]", documents)
        return [None if _is_missing(item) else item for item in series]
    refused = issubclass(kind, str | bytes | bytearray | memoryview | AbstractSet)
    table = is_table(kind) or any(defines(kind, "columns", item) for item in _OF_FRAMES)
    if issubclass(kind, Iterable) and not (refused or table or is_record(documents)):
        return cast("Iterable[object]", documents)
    hint = "call its method collect first" if ("polars", "LazyFrame") in class_names(kind) else ""
    message = f"expected {accepted}, got {kind.__name__}"
    raise InputTypeError(with_hint(message, hint), Location(name))


def _is_missing(value: object) -> bool:
    """Return whether a cell is NaN or one of the missing values of pandas."""
    if isinstance(value, float):
        return value != value  # noqa: PLR0124 - only NaN does not equal itself
    return not {("pandas", "NAType"), ("pandas", "NaTType")}.isdisjoint(class_names(type(value)))


def ensure_json(value: object, role: Role = Role.CANDIDATE) -> JsonValue:
    """Return a copy of a document given by a caller, in plain JSON types.

    >>> ensure_json({"total": (1, 2)})
    {'total': [1, 2]}
    """
    return to_json_value(value, JsonDialect(role=role))


def to_json_value(value: object, dialect: JsonDialect, *, nan_is_null: bool = True) -> JsonValue:
    """Return a copy of a Python object as JSON, within the limits of a dialect.

    NaN is the missing value of data frames, unless `nan_is_null` is false: then it was a number in
    a file. Ground truth must be finite; in candidates, numbers that are not are counted.
    """
    copied, non_finite = copy_json(
        value, dialect.limits, finite=dialect.role is Role.TRUTH, nan_is_null=nan_is_null
    )
    dialect.non_finite += non_finite
    return copied


_BLOCK_ROWS: Final = 256
_DOCUMENT: Final = "a document (a mapping, a list, a model or a dataclass)"


def can_be_keyed(value: JsonValue) -> TypeGuard[JsonObject]:
    """Return whether a value can be documents by id: an object of objects or lists."""
    return (
        isinstance(value, dict)
        and bool(value)
        and all(isinstance(document, dict | list) for document in value.values())
    )


@dataclass(slots=True)
class ValueSource(RowSource):
    """The rows of one JSON value."""

    value: JsonValue = None
    rows_are: RowsAre = RowsAre.DOCUMENT

    def __post_init__(self) -> None:
        self.in_memory = True
        self.settle(RowsAre.LIST if isinstance(self.value, list) else RowsAre.DOCUMENT)

    def settle(self, rows_are: RowsAre) -> None:
        """Read the value as a list of rows, as documents by id, or as one document."""
        wanted = {RowsAre.LIST: list, RowsAre.KEYED: dict}.get(rows_are, object)
        if not isinstance(self.value, wanted):
            raise DataError(
                f"expected {'a list of rows' if wanted is list else 'an object of rows by id'}",
                Location(self.name),
            )
        self.rows_are = rows_are

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order."""
        ids: list[str] | None = None
        rows: list[Row] = [self.value]
        if self.rows_are is RowsAre.KEYED and isinstance(self.value, dict):
            ids, rows = list(self.value), list(self.value.values())
        elif self.rows_are is RowsAre.LIST and isinstance(self.value, list):
            rows = list(self.value)
        for start in range(0, len(rows), _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            yield RowBlock(
                [dict(row) if isinstance(row, dict) else row for row in rows[part]],
                range(start + 1, start + 1 + len(rows[part])),
                None if ids is None else ids[part],
            )


@dataclass(slots=True)
class ObjectSource(RowSource):
    """The rows of an iterable of Python objects, converted to JSON when they are read.

    With `text`, rows may be model output or `None`, as predictions are.
    """

    objects: Iterable[object] = ()
    dialect: JsonDialect = field(default_factory=JsonDialect)
    text: bool = False

    def __post_init__(self) -> None:
        self.in_memory = True
        self.read_once = iter(self.objects) is self.objects

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order; an iterator can be read only once."""
        objects = iter(self.objects)
        first = 1
        while part := list(islice(objects, _BLOCK_ROWS)):
            rows = [self._row(value, position) for position, value in enumerate(part, first)]
            yield RowBlock(rows, range(first, first + len(rows)))
            first += len(rows)

    def _row(self, value: object, position: int) -> Row:
        text = self.text and (value is None or isinstance(value, str))
        if text or may_be_document(type(value)):
            try:
                row = to_json_value(value, self.dialect)
            except InputTypeError as error:
                # A wrong argument is an error of the caller, not a problem in the data.
                message = f"{self.describe(position)}: {error.message}"
                raise InputTypeError(message) from error.__cause__
            except DataError as error:
                return unreadable_row(error.message, value)
            if text or isinstance(row, dict | list):
                return row
        expected = f"{_DOCUMENT}, model output or None" if self.text else _DOCUMENT
        type_name = type(value).__name__
        raise InputTypeError(f"{self.describe(position)}: expected {expected}, got {type_name}")


def unreadable_row(reason: str, value: object) -> UnreadableRow:
    """Return a row that cannot be read, with its id, which names its case."""
    with suppress(Exception):  # code of the caller may raise anything
        for key in ID_KEYS:
            named = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
            if isinstance(named, str | int):
                return UnreadableRow(reason, canonical_text({key: named}))
    return UnreadableRow(reason)


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
            if parsed.positions:
                yield parsed

    def parse(self, block: LineBlock) -> RowBlock:
        """Parse the rows of a block, without blank lines."""
        raw = block.raw.removeprefix(BOM) if block.offset == 0 else block.raw
        if self.unparsed is not None:
            return self._read_unparsed(raw, block.first, self.unparsed)
        lines = raw.split(b"\n")
        if not lines[-1]:
            lines.pop()
        positions: list[int] | range = range(block.first, block.first + len(lines))
        rows = parse_lines(raw, lines, self.dialect)
        if UnreadableRow in set(map(type, rows)):
            filled = [index for index, row in enumerate(rows) if row is not BLANK_LINE]
            rows, positions = (
                [rows[index] for index in filled],
                [positions[index] for index in filled],
            )
        return RowBlock(rows, positions)

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
        refused = [document for document in documents if isinstance(document, bytes)]
        rows = parse_lines(b"\n".join(refused), refused, self.dialect) if refused else []
        positions: Sequence[int] = range(first, first + len(documents))
        if numbers is not None:
            positions = [first + number for number in numbers]
        return RowBlock(rows, positions, unparsed=UnparsedRows(ids, documents))

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
