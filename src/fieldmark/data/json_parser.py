"""Strict JSON at the speed of orjson.

The fast parser reads first. Where it fails, or a recheck of the bytes finds that it may have
passed over something, the exact parser reads the same text: it keeps integers of any size, takes
lone surrogates as data, sees duplicate keys, and reads the numbers that JSON does not have (NaN,
Infinity, 1e999) where a candidate may hold them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

import orjson

from fieldmark.data.inputs import LIMITS, Duplicates, Limits, Role
from fieldmark.data.json_recheck import needs_recheck
from fieldmark.errors import DataError, LimitError, Location
from fieldmark.model.json import JsonValue
from fieldmark.values.presence import is_blank
from fieldmark.values.strict_json import (
    StrictJsonError,
    Violation,
    nesting_exceeds,
    parse_strict,
    values_exceed,
)

__all__ = [
    "BLANK_LINE",
    "JsonDialect",
    "Row",
    "UnreadableRow",
    "decode",
    "parse_bytes",
    "parse_document",
    "parse_json",
    "parse_lines",
    "parse_text",
    "reject_other_encodings",
]

_UTF16: Final = "this looks like UTF-16; save it as UTF-8"
_OTHER_ENCODINGS: Final = {
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\x1f\x8b": "this looks like gzip; unpack it first, or name a file that ends in .gz",
}
"""The first bytes of files that are not UTF-8."""
_ONLY_EXACT: Final = re.compile(rb"NaN|Infinity|\\u[dD]|[eE][+-]?[0-9]{3}|[0-9]{100}")
"""Only a text with one of these can be refused by the fast parser and taken by the exact one."""
_BOM: Final = b"\xef\xbb\xbf"
_HEAD_BYTES: Final = 1024


@dataclass(slots=True, kw_only=True)
class JsonDialect:
    """Which JSON is accepted, and how often it was accepted although it is not quite JSON."""

    role: Role = Role.TRUTH
    duplicates: Duplicates | str = Duplicates.REFUSE
    limits: Limits = LIMITS
    repeated_keys: int = field(default=0, init=False)
    non_finite: int = field(default=0, init=False)


class UnreadableRow(NamedTuple):
    """A row that cannot be read: the reason, and its first bytes, which may name its case."""

    reason: str
    head: bytes = b""


BLANK_LINE: Final = UnreadableRow("not JSON: there is nothing in it")
"""The row of a blank line, compared by identity."""

Row: TypeAlias = "JsonValue | UnreadableRow"


def reject_other_encodings(raw: bytes, location: Location = Location()) -> None:
    """Raise a `DataError` if the first bytes are those of UTF-16 or gzip."""
    message = _OTHER_ENCODINGS.get(raw[:2])
    if message is not None:
        raise DataError(message, location)


def decode(raw: bytes) -> str:
    """Decode UTF-8 without its byte order mark; the error names the encoding if it is known."""
    reject_other_encodings(raw)
    if b"\0\0" in (raw[0:4:2], raw[1:4:2]):
        raise DataError(_UTF16)
    try:
        return raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DataError(
            f"byte 0x{raw[error.start]:02X} at position {error.start + 1} is not UTF-8; "
            "if this is Latin-1 or Windows-1252 text, save it as UTF-8"
        ) from None


def parse_json(
    raw: bytes,
    *,
    role: Role | str = Role.TRUTH,
    duplicates: Duplicates | str = Duplicates.REFUSE,
    limits: Limits = LIMITS,
) -> JsonValue:
    """Parse one JSON document in UTF-8; anything else is a `DataError`.

    >>> parse_json(b'{"total": 123456789012345678901234567890}')
    {'total': 123456789012345678901234567890}
    """
    return parse_bytes(raw, JsonDialect(role=Role(role), duplicates=duplicates, limits=limits))


def parse_bytes(raw: bytes, dialect: JsonDialect) -> JsonValue:
    """Parse one JSON document in UTF-8, counting in the dialect what was tolerated."""
    limits = dialect.limits
    if len(raw) > limits.document_bytes:
        raise LimitError("document_bytes", f"larger than {limits.document_bytes:,} bytes")
    raw = raw.removeprefix(_BOM)
    if len(raw) > limits.nodes:
        _check_limits(decode(raw), limits)
    try:
        value: JsonValue = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        text = decode(raw)
        if _ONLY_EXACT.search(raw):
            return _parse_exactly(text, dialect)
        _check_limits(text, limits)
        raise DataError(_describe(error, text)) from None
    if needs_recheck(raw, [value], limits.depth):
        return _parse_exactly(decode(raw), dialect)
    return value


def parse_text(text: str, dialect: JsonDialect) -> JsonValue:
    """Parse one JSON document that is text already."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return _parse_exactly(text, dialect)
    return parse_bytes(raw, dialect)


def parse_document(raw: bytes, dialect: JsonDialect) -> JsonValue:
    """Parse a whole file; a candidate that is not JSON is returned as text."""
    try:
        return parse_bytes(raw, dialect)
    except LimitError:
        raise
    except DataError:
        if dialect.role is Role.TRUTH:
            raise
        return decode(raw)


def parse_lines(block: bytes, lines: list[bytes], dialect: JsonDialect) -> list[Row]:
    """Parse each line as one row; `block` is the same lines in one piece."""
    if len(block) > dialect.limits.nodes:
        return [_parse_line(line, dialect) for line in lines]
    try:
        rows: list[Row] = list(map(orjson.loads, lines))
    except orjson.JSONDecodeError:
        return _parse_broken_lines(lines, dialect)
    if needs_recheck(block, rows, dialect.limits.depth):
        return [_parse_line(line, dialect) for line in lines]
    return rows


def _parse_broken_lines(lines: list[bytes], dialect: JsonDialect) -> list[Row]:
    """Parse lines of which some are not JSON; the others are still rechecked together."""
    rows: list[Row] = []
    valid: list[int] = []
    for place, line in enumerate(lines):
        try:
            rows.append(orjson.loads(line))
            valid.append(place)
        except orjson.JSONDecodeError:
            rows.append(_parse_line(line, dialect))
    block = b"\n".join([lines[place] for place in valid])
    if needs_recheck(block, [rows[place] for place in valid], dialect.limits.depth):
        for place in valid:
            rows[place] = _parse_line(lines[place], dialect)
    return rows


def _parse_line(line: bytes, dialect: JsonDialect) -> Row:
    if not line.strip(b" \t\r\n"):
        return BLANK_LINE
    try:
        return parse_bytes(line, dialect)
    except DataError as error:
        return UnreadableRow(error.message, line[:_HEAD_BYTES])


def _check_limits(text: str, limits: Limits) -> None:
    """Refuse text that is nested too deeply or holds too many values, before it is parsed."""
    if nesting_exceeds(text, limits.depth):
        raise LimitError("depth", f"nested deeper than {limits.depth} levels")
    if values_exceed(text, limits.nodes):
        raise LimitError("nodes", f"holds more than {limits.nodes:,} values")


def _parse_exactly(text: str, dialect: JsonDialect) -> JsonValue:
    limits = dialect.limits

    def report(violation: Violation, detail: str) -> None:
        if violation is Violation.INTEGER_LENGTH:
            digits = f"an integer has more than {limits.integer_digits:,} digits"
            raise LimitError("integer_digits", digits)
        if violation is Violation.DUPLICATE_KEY:
            if dialect.duplicates == Duplicates.REFUSE:
                raise DataError(f"the key {detail!r} occurs twice in one object")
            dialect.repeated_keys += 1
        elif dialect.role is Role.TRUTH:
            raise DataError(f"{detail[:20]} is not a finite number")
        else:
            dialect.non_finite += 1

    _check_limits(text, limits)
    try:
        return parse_strict(text, max_digits=limits.integer_digits, report=report)
    except json.JSONDecodeError as error:
        raise DataError(_describe(error, text)) from None
    except StrictJsonError:
        raise LimitError("depth", "nested too deeply for the stack that is left") from None


def _describe(error: json.JSONDecodeError, text: str) -> str:
    """Say what is wrong with a text that is not JSON, and where."""
    if is_blank(text):
        return BLANK_LINE.reason
    line = f"line {error.lineno}, " if error.lineno > 1 else ""
    problem = error.msg[:1].lower() + error.msg[1:]
    cut = " (the text ends too early)" if error.pos >= len(text.rstrip()) else ""
    return f"not JSON: {problem}{cut} at {line}column {error.colno}"
