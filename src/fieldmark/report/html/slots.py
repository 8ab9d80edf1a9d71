"""How one value of a document travels to the page: as itself, or as a short account of it.

Text, booleans, null and plain numbers travel as they are. What would be lost on the way is an
object with one letter: `m` missing, `h` not kept, `d` a number as it is written, `t` the beginning
of a text of `n` characters, `j` a whole container as JSON text, `o` and `a` an object and a list of
so many members, which follow. `{}` on the candidate's side is "the same as expected".
"""

from __future__ import annotations

import json
from typing import Final

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

__all__ = ["HIDDEN", "MAX_TEXT_LENGTH", "SAME", "both_slots", "cut_text", "shell", "slot"]

MAX_TEXT_LENGTH: Final = 4_000
"""Characters of one value that are shown; the rest stays in the results."""

_LONGEST_LINE: Final = 80
_SMALL, _LARGE = 1e-5, 1e15
"""Between these a page writes a fraction without an exponent, as Python does."""

HIDDEN: Final[JsonObject] = {"h": 1}
SAME: Final[JsonObject] = {}
_ABSENT: Final[JsonObject] = {"m": 1}
_SAFE: Final = 1 << 53
"""Beyond this a page cannot tell whole numbers apart."""


def slot(value: JsonValue | Missing) -> JsonValue:
    """A value that has no members of its own on the page."""
    match value:
        case None | bool():
            return value
        case str():
            return _text(value)
        case int():
            return value if -_SAFE < value < _SAFE else {"d": cut_text(_digits(value))}
        case float():
            return value if _written_alike(value) else {"d": repr(value)}
        case list() | dict():
            return {"j": cut_text(_json(value))}
        case _:
            return _ABSENT


def shell(value: JsonValue | Missing) -> JsonValue:
    """A value whose members follow, or what stands in its place."""
    match value:
        case dict():
            return {"o": len(value)}
        case list():
            return {"a": len(value)}
        case _:
            return slot(value)


def both_slots(
    expected: JsonValue | Missing, candidate: JsonValue | Missing
) -> tuple[JsonValue, JsonValue]:
    """Both sides of a field; a candidate that is written alike is not repeated."""
    ours, theirs = slot(expected), slot(candidate)
    alike = type(expected) is type(candidate) and ours == theirs and expected is not MISSING
    return ours, SAME if alike else theirs


def cut_text(text: str, most: int = MAX_TEXT_LENGTH) -> str:
    """The text, or its beginning and how much is left out.

    >>> cut_text("abcdef", 4)
    'abcd … 2 more characters'
    """
    return text if len(text) <= most else f"{text[:most]} … {len(text) - most:,} more characters"


def _json(value: JsonValue) -> str:
    """A container on one line if it is short, else one member a line."""
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= _LONGEST_LINE else json.dumps(value, ensure_ascii=False, indent=1)


def _text(text: str) -> JsonValue:
    return text if len(text) <= MAX_TEXT_LENGTH else {"t": text[:MAX_TEXT_LENGTH], "n": len(text)}


def _digits(number: int) -> str:
    # Python refuses to write very long numbers in decimals.
    return str(number) if number.bit_length() < 1 << 13 else f"{number:#x}"


def _written_alike(number: float) -> bool:
    """Whether a page writes a number as Python does: 1.0 would become 1."""
    return _SMALL <= abs(number) < _LARGE and not number.is_integer()
