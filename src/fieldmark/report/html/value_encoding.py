"""The encoding of document values for the page.

Short text, booleans, null and plain numbers stand for themselves. Anything else is an object with
one letter: `m` missing, `h` not kept, `d` a number as it is written, `t` the beginning of a text of
`n` characters, `j` a whole container as JSON text, `o` and `a` an object and a list of so many
members, which follow. `{}` on the candidate's side means "the same as expected".
"""

from __future__ import annotations

import json
from typing import Final

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

__all__ = [
    "HIDDEN",
    "MAX_TEXT_LENGTH",
    "NOT_COMPARED",
    "SAME",
    "encode_container",
    "encode_pair",
    "encode_value",
    "truncate",
]

MAX_TEXT_LENGTH: Final = 4_000
"""Characters of one value that are shown; the rest stays in the results."""

_LONGEST_LINE: Final = 80
_SMALL, _LARGE = 1e-5, 1e15
"""Between these JavaScript writes a fraction without an exponent, as Python does."""

NOT_COMPARED: Final = 8
"""The mark of a place that no rule asked about; other marks are numbers of outcomes."""

HIDDEN: Final[JsonObject] = {"h": 1}
SAME: Final[JsonObject] = {}
_ABSENT: Final[JsonObject] = {"m": 1}
_SAFE: Final = 1 << 53
"""Beyond this JavaScript cannot tell whole numbers apart."""


def encode_value(value: JsonValue | Missing) -> JsonValue:
    """A value that has no members of its own on the page."""
    match value:
        case None | bool():
            return value
        case str() if len(value) > MAX_TEXT_LENGTH:
            return {"t": value[:MAX_TEXT_LENGTH], "n": len(value)}
        case str():
            return value
        case int() if -_SAFE < value < _SAFE:
            return value
        case int():
            # Python refuses to write very long numbers in decimals.
            digits = str(value) if value.bit_length() < 1 << 13 else f"{value:#x}"
            return {"d": truncate(digits)}
        case float():
            # Where JavaScript would write another number than Python, as 1 for 1.0, it is text.
            same_text = _SMALL <= abs(value) < _LARGE and not value.is_integer()
            return value if same_text else {"d": repr(value)}
        case list() | dict():
            text = json.dumps(value, ensure_ascii=False)
            if len(text) > _LONGEST_LINE:
                text = json.dumps(value, ensure_ascii=False, indent=1)
            return {"j": truncate(text)}
        case _:
            return _ABSENT


def encode_container(value: JsonValue | Missing) -> JsonValue:
    """A value whose members follow, or what stands in its place."""
    match value:
        case dict():
            return {"o": len(value)}
        case list():
            return {"a": len(value)}
        case _:
            return encode_value(value)


def encode_pair(
    expected: JsonValue | Missing, candidate: JsonValue | Missing
) -> tuple[JsonValue, JsonValue]:
    """Both sides of a field; a candidate that is written alike is not repeated."""
    ours, theirs = encode_value(expected), encode_value(candidate)
    alike = type(expected) is type(candidate) and ours == theirs and expected is not MISSING
    return ours, SAME if alike else theirs


def truncate(text: str, most: int = MAX_TEXT_LENGTH) -> str:
    """The text, or its beginning and how much is left out.

    >>> truncate("abcdef", 4)
    'abcd … 2 more characters'
    """
    return text if len(text) <= most else f"{text[:most]} … {len(text) - most:,} more characters"
