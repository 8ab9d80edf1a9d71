"""A candidate that is text: the one JSON value that a model wrote into it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from fieldmark.data.inputs import Parse
from fieldmark.data.json_parser import JsonDialect, parse_text
from fieldmark.errors import DataError
from fieldmark.model.json import JsonValue

__all__ = ["ParsedText", "parse_model_text"]

_OPENER: Final = re.compile(r'\{\s*["}]|\[\s*(?:[\[{"\]0-9-]|true\b|false\b|null\b|NaN|Infinity)')
"""A bracket that begins JSON, and not a remark in brackets."""
_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_FENCE_BEFORE: Final = re.compile(r"```[ \t]*[\w-]*\s*\Z")
_FENCE_TAIL: Final = 64


class ParsedText(NamedTuple):
    """A value and where it was found: in a `fence`, in the `text`, or as the whole of it."""

    value: JsonValue
    parsed_from: str = ""


def parse_model_text(
    text: str, dialect: JsonDialect, parse: Parse | str = Parse.LENIENT
) -> ParsedText:
    """The value of strict JSON, or else of exactly one JSON object or array inside the text."""
    try:
        return ParsedText(parse_text(text, dialect))
    except DataError:
        if parse == Parse.STRICT:
            raise
    spans = _spans(text)
    if not spans:
        raise DataError("the text holds no JSON object or array")
    values = [parse_text(text[start:end], dialect) for start, end in spans]
    if len(values) > 1:
        raise DataError(f"the text holds {len(values)} JSON values; exactly one is taken")
    return ParsedText(values[0], "fence" if _fenced(text, *spans[0]) else "text")


def _spans(text: str) -> list[tuple[int, int]]:
    """Where the outermost objects and arrays of a text stand, in one pass."""
    spans: list[tuple[int, int]] = []
    opener = _OPENER.search(text)
    while opener is not None:
        end = _closing(text, opener.start())
        if end is None:
            raise DataError("the JSON in the text ends too early")
        spans.append((opener.start(), end))
        opener = _OPENER.search(text, end)
    return spans


def _closing(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed; brackets inside texts do not count."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        bracket = token.group()[0]
        if bracket in "[{":
            depth += 1
        elif bracket in "]}":
            depth -= 1
            if not depth:
                return token.end()
    return None


def _fenced(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _FENCE_TAIL) : start]
    return _FENCE_BEFORE.search(before) is not None and text[
        end : end + _FENCE_TAIL
    ].lstrip().startswith("```")
