"""The encoding of document values for the page.

Short strings, booleans, null and plain numbers are encoded as themselves. Other values are objects
with one letter: `m` missing, `h` not available, `d` a number as written, `t` the start of a string
of `n` characters, `j` a container as JSON, and `o` and `a` an object and a list with the number of
their members, which follow. `{}` as the candidate means "equal to the expected value".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Final

import orjson

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.values.text import plural, replace_surrogates, shorten

MAX_TEXT_LENGTH: Final = 4_000
"""The number of characters of a value that are shown."""

_MAX_LINE_LENGTH: Final = 80
_SMALL, _LARGE = 1e-5, 1e15
"""Between these, JavaScript writes fractions without an exponent, like Python."""

NOT_COMPARED: Final = 8
"""The mark of a field that no rule selects; other marks are numbers of outcomes."""

HIDDEN: Final[JsonObject] = {"h": 1}
SAME: Final[JsonObject] = {}
_ABSENT: Final[JsonObject] = {"m": 1}
_SAFE: Final = 1 << 53
"""JavaScript rounds integers from here on."""


def encode_value(value: JsonValue | Missing) -> JsonValue:
    """Encode a value that is shown without members."""
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
            # Python does not convert very long integers to decimal.
            digits = str(value) if value.bit_length() < 1 << 13 else f"{value:#x}"
            return {"d": truncate(digits)}
        case float():
            # Numbers that JavaScript writes differently, such as 1 for 1.0, are sent as text.
            same_text = _SMALL <= abs(value) < _LARGE and not value.is_integer()
            return value if same_text else {"d": repr(value)}
        case list() | dict():
            text = json.dumps(value, ensure_ascii=False)
            if len(text) > _MAX_LINE_LENGTH:
                text = json.dumps(value, ensure_ascii=False, indent=1)
            return {"j": truncate(text)}
        case _:
            return _ABSENT


def encode_shortened(value: JsonValue | Missing, max_length: int) -> JsonValue:
    """Encode a value for a list: long text is cut, and a container is one line of JSON."""
    match value:
        case str() if len(value) > max_length:
            return {"t": value[:max_length], "n": len(value)}
        case list() | dict():
            return {"j": shorten(json.dumps(value, ensure_ascii=False), max_length)}
        case _:
            return encode_value(value)


def encode_container(value: JsonValue | Missing) -> JsonValue:
    """Encode a value whose members are encoded separately."""
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
    """Encode both values of a field; an equal candidate is not repeated."""
    encoded_expected, encoded_candidate = encode_value(expected), encode_value(candidate)
    same = (
        type(expected) is type(candidate)
        and encoded_expected == encoded_candidate
        and expected is not MISSING
    )
    return encoded_expected, SAME if same else encoded_candidate


def truncate(text: str, max_length: int = MAX_TEXT_LENGTH) -> str:
    """Return the text, or its start and the number of omitted characters.

    >>> truncate("abcdef", 4)
    'abcd … 2 more characters'
    """
    more = len(text) - max_length
    return text if more <= 0 else f"{text[:max_length]} … {plural(more, 'more character')}"


MEMBERS: Final = "members"
"""The column whose values are rows of the same table."""


def columnar(columns: Sequence[JsonValue], rows: Iterable[Sequence[JsonValue]]) -> JsonObject:
    """Return a table; values that are missing at the end of a row are undefined.

    >>> columnar(["path", "mark"], [("total", 1)])
    {'columns': ['path', 'mark'], 'rows': [['total', 1]]}
    """
    return {"columns": list(columns), "rows": [list(row) for row in rows]}


def nested(name: str, columns: Sequence[str]) -> JsonObject:
    """Return a column whose values are lists with columns of their own."""
    return {"name": name, "columns": list[JsonValue](columns)}


_ESCAPES: Final = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)
"""These occur only inside JSON strings, so each can be replaced everywhere."""


def embedded(value: object) -> bytes:
    r"""Return the value as JSON for a script element; lone surrogates are replaced.

    >>> embedded({"a": "</script>"})
    b'{"a":"\\u003c/script\\u003e"}'
    """
    try:
        text = orjson.dumps(value)
    except TypeError:  # also for views of deep documents, which have more levels than orjson allows
        shown = _well_formed(value)
        text = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()
    for sign, escape in _ESCAPES:
        text = text.replace(sign, escape)
    return text


def _well_formed(value: object) -> object:
    """Replace values that are not JSON: lone surrogates, integers of more than 64 bits, and NaN."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list | tuple):
        return [_well_formed(item) for item in value]
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(item) for key, item in value.items()}
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return str(value)
    return None if isinstance(value, float) and not isfinite(value) else value
