"""JSON for script elements, in which no text can end the element."""

from __future__ import annotations

from typing import Final

import orjson

from fieldmark.values.text import replace_surrogates

__all__ = ["embedded"]

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
    except TypeError:
        text = orjson.dumps(_well_formed(value))
    for sign, escape in _ESCAPES:
        text = text.replace(sign, escape)
    return text


def _well_formed(value: object) -> object:
    """Replace lone surrogates, and turn integers of more than 64 bits into strings."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list | tuple):
        return [_well_formed(item) for item in value]
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(item) for key, item in value.items()}
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return str(value)
    return value
