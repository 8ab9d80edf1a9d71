"""Values of documents as text in a file: JSON that every strict reader takes."""

from __future__ import annotations

import json

import orjson

from fieldmark.model.json import JsonValue, Missing

__all__ = ["json_bytes", "json_text", "well_formed"]


def json_bytes(value: object) -> bytes:
    r"""Compact JSON; what the fast writer refuses is written by the exact one.

    >>> json_bytes(["\ud800", 10**20])
    b'["\\ud800",100000000000000000000]'
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def json_text(value: JsonValue | Missing) -> str | None:
    """The value as JSON text; what is not there is none."""
    return None if isinstance(value, Missing) else json_bytes(value).decode()


def well_formed(text: str) -> str:
    r"""Text that UTF-8 can hold: broken characters are shown as escapes.

    >>> well_formed("a\ud800")
    'a\\ud800'
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
