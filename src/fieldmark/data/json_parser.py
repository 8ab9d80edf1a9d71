"""The exact JSON parser: slower, and right about everything the fast one is not asked about.

It keeps integers of any size exact, takes lone surrogates as data, sees duplicate keys, and
reads the numbers that JSON does not have (NaN, Infinity, 1e999) where a candidate may hold them.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple, NoReturn, TypeAlias

import orjson

from fieldmark.data.inputs import LIMITS, Duplicates, Limits, Role
from fieldmark.data.json_recheck import needs_recheck
from fieldmark.errors import DataError, LimitError, Location
from fieldmark.model.json import JsonObject, JsonValue

__all__ = [
    "BLANK_LINE",
    "JsonDialect",
    "Row",
    "UnreadableRow",
    "check_limits",
    "decode",
    "describe_decode_error",
    "parse_bytes",
    "parse_document",
    "parse_exact",
    "parse_json",
    "parse_lines",
    "parse_text",
    "reject_other_encodings",
]

_STRINGS: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS: Final = re.compile(r"[\[\]{}]")
_BLANKS: Final = str.maketrans("", "", " \t\r\n")
_UTF16: Final = "this looks like UTF-16; save it as UTF-8"
_FOREIGN: Final = {
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\x1f\x8b": "this looks like gzip; unpack it first, or name a file that ends in .gz",
}
"""How bytes begin that are something else than UTF-8."""
_BOM: Final = "\ufeff"


@dataclass(slots=True, kw_only=True)
class JsonDialect:
    """Which JSON is taken, and how often it was taken although it is not quite JSON."""

    role: Role = Role.TRUTH
    duplicates: Duplicates | str = Duplicates.REFUSE
    limits: Limits = LIMITS
    repeated_keys: int = field(default=0, init=False)
    non_finite: int = field(default=0, init=False)


def reject_other_encodings(raw: bytes, location: Location = Location()) -> None:
    """Refuse bytes that begin like something else than text in UTF-8, saying what it may be."""
    message = _FOREIGN.get(raw[:2])
    if message is not None:
        raise DataError(message, location)


def decode(raw: bytes) -> str:
    """UTF-8 bytes as text, without a byte order mark; other encodings are named if known."""
    reject_other_encodings(raw)
    if b"\0\0" in (raw[0:4:2], raw[1:4:2]):
        raise DataError(_UTF16)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"byte 0x{raw[error.start]:02X} at position {error.start + 1} is not UTF-8; "
            "if this is Latin-1 or Windows-1252 text, save it as UTF-8"
        ) from None
    return text.removeprefix(_BOM)


def check_limits(text: str, limits: Limits) -> None:
    """Refuse text that nests too deeply or holds too many values, before anything is built."""
    brackets = text.count("[") + text.count("{")
    crowded = brackets + text.count(",") >= limits.nodes
    if brackets > limits.depth or crowded:
        bare = _STRINGS.sub("0", text)
        _check_depth(bare, limits.depth)
        if crowded:
            _check_nodes(bare, limits.nodes)


def _check_depth(bare: str, limit: int) -> None:
    depth = 0
    for bracket in _BRACKETS.findall(bare):
        depth += 1 if bracket in "[{" else -1
        if depth > limit:
            raise LimitError("depth", f"nested deeper than {limit} levels")


def _check_nodes(bare: str, limit: int) -> None:
    dense = bare.translate(_BLANKS)
    filled = dense.count("[") + dense.count("{") - dense.count("[]") - dense.count("{}")
    if 1 + filled + dense.count(",") > limit:
        raise LimitError("nodes", f"holds more than {limit:,} values")


def parse_exact(text: str, dialect: JsonDialect) -> JsonValue:
    """The value of one JSON text; anything else is a data error."""
    check_limits(text, dialect.limits)
    hooks = _Hooks(dialect)
    decoder = json.JSONDecoder(
        object_pairs_hook=hooks.an_object,
        parse_float=hooks.a_float,
        parse_int=hooks.an_integer,
        parse_constant=hooks.a_constant,
    )
    try:
        value: JsonValue = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise DataError(describe_decode_error(error, text)) from None
    except RecursionError:
        raise LimitError("depth", "nested too deeply for the stack that is left") from None
    return value


def describe_decode_error(error: json.JSONDecodeError, text: str) -> str:
    """What is wrong with a text that is not JSON, and where."""
    if not text.strip():
        return "not JSON: there is nothing in it"
    line = f"line {error.lineno}, " if error.lineno > 1 else ""
    what = error.msg[:1].lower() + error.msg[1:]
    cut = " (the text ends too early)" if error.pos >= len(text.rstrip()) else ""
    return f"not JSON: {what}{cut} at {line}column {error.colno}"


class _Hooks:
    """What the decoder asks about the parts of a document."""

    __slots__ = ("_grammar",)

    def __init__(self, dialect: JsonDialect) -> None:
        self._grammar = dialect

    def an_object(self, pairs: list[tuple[str, JsonValue]]) -> JsonObject:
        made = dict(pairs)
        if len(made) != len(pairs):
            self._repeated([key for key, _ in pairs])
        return made

    def _repeated(self, keys: list[str]) -> None:
        if self._grammar.duplicates == Duplicates.REFUSE:
            twice = next(key for place, key in enumerate(keys) if key in keys[:place])
            raise DataError(f"the key {twice!r} occurs twice in one object")
        self._grammar.repeated_keys += 1

    def an_integer(self, digits: str) -> int:
        limit = self._grammar.limits.integer_digits
        if len(digits) - digits.startswith("-") > limit:
            raise LimitError("integer_digits", f"an integer has more than {limit:,} digits")
        return int(digits)

    def a_float(self, digits: str) -> float:
        number = float(digits)
        return number if math.isfinite(number) else self._beyond(number, digits)

    def a_constant(self, name: str) -> float:
        return self._beyond(float(name), name)

    def _beyond(self, number: float, written: str) -> float:
        if self._grammar.role is Role.TRUTH:
            self._refuse_number(written)
        self._grammar.non_finite += 1
        return number

    @staticmethod
    def _refuse_number(written: str) -> NoReturn:
        raise DataError(f"{written[:20]} is not a finite number")


_EXACT_MAY_KNOW: Final = re.compile(rb"NaN|Infinity|\\u[dD]|[eE][+-]?[0-9]{3}|[0-9]{100}")
"""Only a text with one of these can be refused by the fast parser and taken by the exact one."""
_BOM_BYTES: Final = b"\xef\xbb\xbf"
_HEAD: Final = 1024


class UnreadableRow(NamedTuple):
    """A row that cannot be read: why, and how it begins, for it may still name its case."""

    reason: str
    head: bytes = b""


BLANK_LINE: Final = UnreadableRow("not JSON: there is nothing in it")
"""The row of a blank line, known by identity."""

Row: TypeAlias = "JsonValue | UnreadableRow"


def parse_json(
    raw: bytes,
    *,
    role: Role | str = Role.TRUTH,
    duplicates: Duplicates | str = Duplicates.REFUSE,
    limits: Limits = LIMITS,
) -> JsonValue:
    """The value of one JSON document in UTF-8; whatever else the bytes are is a `DataError`.

    >>> parse_json(b'{"total": 123456789012345678901234567890}')
    {'total': 123456789012345678901234567890}
    """
    return parse_bytes(raw, JsonDialect(role=Role(role), duplicates=duplicates, limits=limits))


def parse_bytes(raw: bytes, dialect: JsonDialect) -> JsonValue:
    """The value of one JSON document in UTF-8, by a dialect that remembers what it let pass."""
    limits = dialect.limits
    if len(raw) > limits.document_bytes:
        raise LimitError("document_bytes", f"larger than {limits.document_bytes:,} bytes")
    raw = raw.removeprefix(_BOM_BYTES)
    if len(raw) > limits.nodes:
        check_limits(decode(raw), limits)
    try:
        value: JsonValue = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return _second_opinion(raw, error, dialect)
    if needs_recheck(raw, [value], limits.depth):
        return parse_exact(decode(raw), dialect)
    return value


def _second_opinion(raw: bytes, error: orjson.JSONDecodeError, dialect: JsonDialect) -> JsonValue:
    text = decode(raw)
    if _EXACT_MAY_KNOW.search(raw):
        return parse_exact(text, dialect)
    check_limits(text, dialect.limits)
    raise DataError(describe_decode_error(error, text)) from None


def parse_document(raw: bytes, dialect: JsonDialect) -> JsonValue:
    """The value of a whole file; what a candidate wrote that is no JSON stays text."""
    try:
        return parse_bytes(raw, dialect)
    except LimitError:
        raise
    except DataError:
        if dialect.role is Role.TRUTH:
            raise
        return decode(raw)


def parse_text(text: str, dialect: JsonDialect) -> JsonValue:
    """The value of JSON that is text already."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return parse_exact(text, dialect)
    return parse_bytes(raw, dialect)


def parse_lines(block: bytes, lines: list[bytes], dialect: JsonDialect) -> list[Row]:
    """One row for each line; `block` is the same lines in one piece."""
    if len(block) > dialect.limits.nodes:
        return [_row(line, dialect) for line in lines]
    try:
        rows: list[Row] = list(map(orjson.loads, lines))
    except orjson.JSONDecodeError:
        return _with_broken_lines(lines, dialect)
    if needs_recheck(block, rows, dialect.limits.depth):
        return [_row(line, dialect) for line in lines]
    return rows


def _with_broken_lines(lines: list[bytes], dialect: JsonDialect) -> list[Row]:
    """Rows of lines of which some are no JSON: the others are still checked together."""
    rows: list[Row] = []
    whole: list[int] = []
    for place, line in enumerate(lines):
        try:
            rows.append(orjson.loads(line))
            whole.append(place)
        except orjson.JSONDecodeError:
            rows.append(_row(line, dialect))
    good = b"\n".join([lines[place] for place in whole])
    if needs_recheck(good, [rows[place] for place in whole], dialect.limits.depth):
        for place in whole:
            rows[place] = _row(lines[place], dialect)
    return rows


def _row(line: bytes, dialect: JsonDialect) -> Row:
    if not line.strip(b" \t\r\n"):
        return BLANK_LINE
    try:
        return parse_bytes(line, dialect)
    except DataError as error:
        return UnreadableRow(error.message, line[:_HEAD])
