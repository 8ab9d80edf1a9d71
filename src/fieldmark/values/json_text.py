"""Any value as strict JSON text: what a strict reader would refuse is written as text."""

from __future__ import annotations

import json
import math

import orjson

from fieldmark.model.json import JsonValue
from fieldmark.values.strict_json import parse_strict

__all__ = ["finite_json", "name_non_finite", "pretty_json", "read_json", "strict_json"]


def strict_json(value: object) -> bytes:
    """Compact JSON without broken characters; key order is kept.

    NaN and infinite numbers become null: where they may be, `finite_json` says which they were.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        text = json.dumps(name_non_finite(value), separators=(",", ":"), allow_nan=False)
        return text.encode("ascii")


def read_json(text: bytes) -> JsonValue:
    """What `strict_json` wrote, half characters included; anything else is a `ValueError`."""
    try:
        value: JsonValue = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Half of a pair of surrogates is data, and only the slower parser takes it.
        return parse_strict(text.decode())
    return value


def finite_json(value: object) -> bytes:
    """The same as `strict_json`, with NaN and infinite numbers as text.

    >>> finite_json([float("nan"), float("-inf"), None])
    b'["NaN","-Infinity",null]'
    """
    return strict_json(name_non_finite(value))


def pretty_json(value: object) -> bytes:
    """The same as `strict_json`, over several lines, for people who open the file."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        text = json.dumps(name_non_finite(value), indent=2, allow_nan=False)
        return f"{text}\n".encode("ascii")


def name_non_finite(value: object) -> object:
    """Replace NaN and infinite numbers by their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list | tuple):
        return [name_non_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: name_non_finite(item) for key, item in value.items()}
    return value
