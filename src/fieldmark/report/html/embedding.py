"""JSON for script elements, in which no text can end the element."""

from __future__ import annotations

import json
from math import isfinite
from typing import Final

import orjson

from fieldmark.values.text import replace_surrogates

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
    """Replace what is not JSON: lone surrogates, integers of more than 64 bits, and NaN."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list | tuple):
        return [_well_formed(item) for item in value]
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(item) for key, item in value.items()}
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return str(value)
    return None if isinstance(value, float) and not isfinite(value) else value
