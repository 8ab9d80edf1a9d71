"""Strict JSON at the speed of orjson.

Where a second look at the bytes finds that the fast parser may have passed over something, the
exact parser is asked.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias

import orjson

from fieldmark.data.exact import Grammar, check_shape, decode, explained, parse_exact
from fieldmark.data.inputs import LIMITS, Duplicates, Limits, Role
from fieldmark.data.second_look import may_mislead
from fieldmark.errors import DataError, LimitError
from fieldmark.model.json import JsonValue

__all__ = [
    "BLANK",
    "Row",
    "Unreadable",
    "document_or_text",
    "parse_bytes",
    "parse_json",
    "parse_lines",
    "parse_text",
]

_EXACT_MAY_KNOW: Final = re.compile(rb"NaN|Infinity|\\u[dD]|[eE][+-]?[0-9]{3}|[0-9]{100}")
"""Only a text with one of these can be refused by the fast parser and taken by the exact one."""
_BOM: Final = b"\xef\xbb\xbf"
_HEAD: Final = 1024


class Unreadable(NamedTuple):
    """A row that cannot be read: why, and how it begins, for it may still name its case."""

    reason: str
    head: bytes = b""


BLANK: Final = Unreadable("not JSON: there is nothing in it")
"""The row of a blank line, known by identity."""

Row: TypeAlias = "JsonValue | Unreadable"


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
    return parse_bytes(raw, Grammar(role=Role(role), duplicates=duplicates, limits=limits))


def parse_bytes(raw: bytes, grammar: Grammar) -> JsonValue:
    """The value of one JSON document in UTF-8, by a grammar that remembers what it let pass."""
    limits = grammar.limits
    if len(raw) > limits.document_bytes:
        raise LimitError("document_bytes", f"larger than {limits.document_bytes:,} bytes")
    raw = raw.removeprefix(_BOM)
    if len(raw) > limits.nodes:
        check_shape(decode(raw), limits)
    try:
        value: JsonValue = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return _second_opinion(raw, error, grammar)
    if may_mislead(raw, [value], limits.depth):
        return parse_exact(decode(raw), grammar)
    return value


def _second_opinion(raw: bytes, error: orjson.JSONDecodeError, grammar: Grammar) -> JsonValue:
    text = decode(raw)
    if _EXACT_MAY_KNOW.search(raw):
        return parse_exact(text, grammar)
    check_shape(text, grammar.limits)
    raise DataError(explained(error, text)) from None


def document_or_text(raw: bytes, grammar: Grammar) -> JsonValue:
    """The value of a whole file; what a candidate wrote that is no JSON stays text."""
    try:
        return parse_bytes(raw, grammar)
    except LimitError:
        raise
    except DataError:
        if grammar.role is Role.TRUTH:
            raise
        return decode(raw)


def parse_text(text: str, grammar: Grammar) -> JsonValue:
    """The value of JSON that is text already."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return parse_exact(text, grammar)
    return parse_bytes(raw, grammar)


def parse_lines(block: bytes, lines: list[bytes], grammar: Grammar) -> list[Row]:
    """One row for each line; `block` is the same lines in one piece."""
    if len(block) > grammar.limits.nodes:
        return [_row(line, grammar) for line in lines]
    try:
        rows: list[Row] = list(map(orjson.loads, lines))
    except orjson.JSONDecodeError:
        return _with_broken_lines(lines, grammar)
    if may_mislead(block, rows, grammar.limits.depth):
        return [_row(line, grammar) for line in lines]
    return rows


def _with_broken_lines(lines: list[bytes], grammar: Grammar) -> list[Row]:
    """Rows of lines of which some are no JSON: the others are still checked together."""
    rows: list[Row] = []
    whole: list[int] = []
    for place, line in enumerate(lines):
        try:
            rows.append(orjson.loads(line))
            whole.append(place)
        except orjson.JSONDecodeError:
            rows.append(_row(line, grammar))
    good = b"\n".join([lines[place] for place in whole])
    if may_mislead(good, [rows[place] for place in whole], grammar.limits.depth):
        for place in whole:
            rows[place] = _row(lines[place], grammar)
    return rows


def _row(line: bytes, grammar: Grammar) -> Row:
    if not line.strip(b" \t\r\n"):
        return BLANK
    try:
        return parse_bytes(line, grammar)
    except DataError as error:
        return Unreadable(error.message, line[:_HEAD])
