"""Strict JSON parsers for documents and lines, almost as fast as orjson.

orjson is used first. If it fails, or a check of the bytes finds that it may have missed something,
the exact parser is used: it supports integers of any size and lone surrogates, detects duplicate
keys, and accepts NaN, Infinity and 1e999 in candidates.

orjson silently accepts duplicate keys (the last value wins), integers beyond 64 bits (they become
floats), any depth, and paths of any length. The kernel finds them in the bytes; without it, the
parsed values are serialized again and compared with the source. Both may have false positives, but
no false negatives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Final, NamedTuple, TypeAlias, cast

import orjson

from fieldmark.errors import DataError, LimitError, Location
from fieldmark.model.json import JsonValue
from fieldmark.model.kernel import COMPILED, kernel
from fieldmark.values.json_text import (
    LIMITS,
    Limits,
    StrictJsonError,
    Violation,
    check_paths,
    may_exceed_64_bits,
    nesting_exceeds,
    parse_strict,
    paths_exceed,
    values_exceed,
)
from fieldmark.values.presence import is_blank
from fieldmark.values.text import shorten

_UTF16: Final = "looks like UTF-16; save it as UTF-8"
_OTHER_ENCODINGS: Final = {
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\x1f\x8b": "looks like gzip; decompress it, or use a file name that ends with .gz",
}
"""The first bytes of files that are not UTF-8."""
_ONLY_EXACT: Final = re.compile(rb"NaN|Infinity|\\u[dD]|[eE][+-]?[0-9]{3}|[0-9]{100}")
"""Text that orjson rejects but the exact parser accepts contains one of these."""
BOM: Final = b"\xef\xbb\xbf"
_COMMENTS: Final = ("#", "//", "/*")
_HEAD_BYTES: Final = 1024
_SHOWN_KEY: Final = 80
_EXPONENT: Final = b"e+" if b"e+" in orjson.dumps(1e20) else b"e"
"""What orjson writes in every float that is as large as an integer beyond 64 bits."""
_RARE: Final = _EXPONENT[-1:]
"""Searching for one byte is much faster than for two, and it is usually not found."""
_ESCAPED_COLON: Final = b"\\u003"
_READER_DEPTH: Final = 1024


class Role(StrEnum):
    """A side of a pair."""

    TRUTH = "truth"
    CANDIDATE = "candidate"

    @property
    def label(self) -> str:
        """The name of the side in messages."""
        return "ground truth" if self is Role.TRUTH else "predictions"


class Duplicates(StrEnum):
    """How duplicate keys in an object are handled."""

    REFUSE = "refuse"
    LAST = "last"


@dataclass(slots=True, kw_only=True, eq=False)
class JsonDialect:
    """Which JSON is accepted, and how many deviations from JSON were accepted."""

    role: Role = Role.TRUTH
    duplicates: Duplicates | str = Duplicates.REFUSE
    limits: Limits = LIMITS
    repeated_keys: int = field(default=0, init=False)
    non_finite: int = field(default=0, init=False)


class UnreadableRow(NamedTuple):
    """A row that cannot be read: the reason, and its first bytes, which may contain its id."""

    reason: str
    head: bytes = b""


BLANK_LINE: Final = UnreadableRow("invalid JSON: empty")
"""The row of a blank line; compare it by identity."""

Row: TypeAlias = "JsonValue | UnreadableRow"


def reject_other_encodings(raw: bytes, location: Location = Location()) -> None:
    """Raise a `DataError` if the first bytes identify UTF-16 or gzip."""
    message = _OTHER_ENCODINGS.get(raw[:2])
    if message is not None:
        raise DataError(message, location)


def decode(raw: bytes) -> str:
    """Decode UTF-8 and remove the byte order mark; the error names the likely encoding."""
    reject_other_encodings(raw)
    if b"\0\0" in (raw[0:4:2], raw[1:4:2]):
        raise DataError(_UTF16)
    try:
        return raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DataError(
            f"invalid UTF-8: byte 0x{raw[error.start]:02X} at position {error.start + 1}; "
            "if this is Latin-1 or Windows-1252 text, save it as UTF-8"
        ) from None


def parse_json(
    raw: bytes,
    *,
    role: Role | str = Role.TRUTH,
    duplicates: Duplicates | str = Duplicates.REFUSE,
    limits: Limits = LIMITS,
) -> JsonValue:
    """Parse a JSON document in UTF-8; raise `DataError` for anything else.

    >>> parse_json(b'{"total": 123456789012345678901234567890}')
    {'total': 123456789012345678901234567890}
    """
    return parse_bytes(raw, JsonDialect(role=Role(role), duplicates=duplicates, limits=limits))


def parse_bytes(raw: bytes, dialect: JsonDialect) -> JsonValue:
    """Parse a JSON document in UTF-8; accepted deviations are counted in the dialect."""
    limits = dialect.limits
    if len(raw) > limits.document_bytes:
        message = f"document exceeds the limit of {limits.document_bytes:,} bytes"
        raise LimitError("document_bytes", message)
    raw = raw.removeprefix(BOM)
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
    if may_be_misread(raw, [value], limits):
        return _parse_exactly(decode(raw), dialect)
    return value


def parse_text(text: str, dialect: JsonDialect) -> JsonValue:
    """Parse a JSON document in a string."""
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
    """Parse each line as a row; `block` contains the same lines, joined."""
    limits = dialect.limits
    if len(block) > limits.nodes:
        return [_parse_line(line, dialect) for line in lines]
    rows: list[Row] = []
    valid: Sequence[int] = range(len(lines))
    try:
        rows = list(map(orjson.loads, lines))
    except orjson.JSONDecodeError:
        # Some lines are not JSON; all other lines are still checked.
        valid = []
        for index, line in enumerate(lines):
            try:
                rows.append(orjson.loads(line))
                valid.append(index)
            except orjson.JSONDecodeError:
                rows.append(_parse_line(line, dialect))
    if not COMPILED:  # checking the rows together is faster
        block = b"\n".join([lines[index] for index in valid])
        if not may_be_misread(block, [rows[index] for index in valid], limits):
            return rows
    for index in valid:
        if may_be_misread(lines[index], rows[index : index + 1], limits):
            rows[index] = _parse_line(lines[index], dialect)
    return rows


def may_be_misread(raw: bytes, values: Sequence[object], limits: Limits) -> bool:
    """Return whether orjson may have misread these values, or they may exceed a limit."""
    depth, key_characters, path_characters = (
        limits.depth,
        limits.key_characters,
        limits.path_characters,
    )
    if COMPILED:
        return not kernel.is_strict(raw, depth, key_characters, path_characters)
    return roundtrip_differs(raw, values, depth, key_characters, path_characters)


def _parse_line(line: bytes, dialect: JsonDialect) -> Row:
    if not line.strip(b" \t\r\n"):
        return BLANK_LINE
    try:
        return parse_bytes(line, dialect)
    except DataError as error:
        return UnreadableRow(error.message, line[:_HEAD_BYTES])


def _check_limits(text: str, limits: Limits) -> None:
    """Raise an error for text that is nested too deeply or has too many values."""
    if nesting_exceeds(text, limits.depth):
        raise LimitError("depth", f"nesting exceeds the limit of {limits.depth} levels")
    if values_exceed(text, limits.nodes):
        raise LimitError("nodes", f"too many values (limit {limits.nodes:,})")


def _parse_exactly(text: str, dialect: JsonDialect) -> JsonValue:
    limits = dialect.limits

    def report(violation: Violation, detail: str) -> None:
        if violation is Violation.INTEGER_LENGTH:
            digits = f"integer has too many digits (limit {limits.integer_digits:,})"
            raise LimitError("integer_digits", digits)
        if violation is Violation.DUPLICATE_KEY:
            if dialect.duplicates == Duplicates.REFUSE:
                raise DataError(f"duplicate key {shorten(detail, _SHOWN_KEY)!r}")
            dialect.repeated_keys += 1
        elif dialect.role is Role.TRUTH:
            raise DataError(f"{detail[:20]} is not a finite number")
        else:
            dialect.non_finite += 1

    _check_limits(text, limits)
    try:
        value = parse_strict(text, max_digits=limits.integer_digits, report=report)
    except json.JSONDecodeError as error:
        raise DataError(_describe(error, text)) from None
    except StrictJsonError:
        raise LimitError("depth", "nested too deeply for the available stack") from None
    check_paths(value, limits)
    return value


def _describe(error: json.JSONDecodeError, text: str) -> str:
    """Return what is wrong with text that is not JSON, and where."""
    if is_blank(text):
        return BLANK_LINE.reason
    line = f"line {error.lineno}, " if error.lineno > 1 else ""
    if text.startswith(_COMMENTS, error.pos):
        return f"invalid JSON: comments are not allowed ({line}column {error.colno})"
    problem = error.msg[:1].lower() + error.msg[1:]
    ended = error.pos >= len(text.rstrip()) and "unexpected end" not in problem
    cut = " (unexpected end)" if ended else ""
    return f"invalid JSON: {problem}{cut} at {line}column {error.colno}"


def roundtrip_differs(
    raw: bytes,
    values: Sequence[object],
    depth: int,
    key_characters: int,
    path_characters: int,
) -> bool:
    """Return whether `raw` may have a duplicate key, a big integer or exceed a limit.

    Serialized values have as many colons as their source unless a duplicate key was dropped:
    colons in strings stay colons, and the escape that could add one is searched for. An integer
    beyond 64 bits was parsed as a float and is written with an exponent. orjson has its own depth
    limit, so the values are wrapped in lists to make it equal to `depth`.

    >>> roundtrip_differs(b'{"a": 1, "a": 2}', [{"a": 2}], 10, 100, 1000)
    True
    """
    levels = _writer_depth() - depth - 1
    if levels < 0:
        return True
    wrapped: object = values
    for _ in range(levels):
        wrapped = [wrapped]
    try:
        written = orjson.dumps(wrapped)
    except orjson.JSONEncodeError:
        return True
    return (
        raw.count(b":") != written.count(b":")
        or (b"\\" in raw and _ESCAPED_COLON in raw)
        or (_RARE in written and _EXPONENT in written and may_exceed_64_bits(raw))
        or any(
            paths_exceed(cast("JsonValue", value), key_characters, path_characters)
            for value in values
        )
    )


@cache
def _writer_depth() -> int:
    """Return how many levels orjson can serialize, or 0 if no limit was found."""
    nested: list[object] = []
    for depth in range(_READER_DEPTH):
        try:
            orjson.dumps(nested)
        except orjson.JSONEncodeError:
            return depth
        nested = [nested]
    return 0
