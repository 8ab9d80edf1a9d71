"""Serialization of any value as strict JSON."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Final, cast

import orjson

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.strict_json import may_exceed_64_bits, parse_strict

_MAX_DEPTH: Final = 100
"""No file of a run is nested as deeply, and deeper ones could not be processed recursively."""
_NAMES: Final = frozenset({"NaN", "Infinity", "-Infinity"})


def strict_json(value: object) -> bytes:
    """Return compact JSON without invalid characters; the order of keys is preserved.

    NaN and infinite numbers become null: where they may be, `finite_json` says which they were.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        text = json.dumps(name_non_finite(value), separators=(",", ":"), allow_nan=False)
        return text.encode("ascii")


def read_json(text: bytes) -> JsonValue:
    """Parse the output of `strict_json`, or raise `ValueError`.

    >>> read_json(b'{"invoice": 123456789012345678901234567890}')
    {'invoice': 123456789012345678901234567890}
    """
    # The fast parser rounds integers beyond 64 bits and rejects lone surrogates.
    if not may_exceed_64_bits(text):
        with suppress(orjson.JSONDecodeError):
            return cast("JsonValue", orjson.loads(text))
    return parse_strict(text.decode())


def finite_json(value: object) -> bytes:
    """Return the same as `strict_json`, with NaN and infinite numbers as strings.

    >>> finite_json([float("nan"), float("-inf"), None])
    b'["NaN","-Infinity",null]'
    """
    return strict_json(name_non_finite(value))


def read_document(content: bytes) -> JsonObject:
    """Parse the content of a file of a run; raise `ValueError` if it is not a JSON object."""
    try:
        document = read_json(content)
    except ValueError as error:
        raise ValueError(f"invalid JSON: {error}") from error
    if not isinstance(document, dict):
        raise ValueError("expected a JSON object")  # noqa: TRY004 - data
    level: list[JsonValue] = [document]
    for _ in range(_MAX_DEPTH):
        items = (each.values() if isinstance(each, dict) else each for each in level)
        level = [item for each in items for item in each if isinstance(item, dict | list)]  # type: ignore[union-attr]
        if not level:
            return document
    raise ValueError(f"nested more than {_MAX_DEPTH} levels deep")


def pretty_json(value: object) -> bytes:
    """Return the same as `strict_json`, indented for human readers."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        text = json.dumps(name_non_finite(value), indent=2, allow_nan=False)
        return f"{text}\n".encode("ascii")


def without_non_finite(value: JsonValue, *, named: bool = False) -> JsonValue:
    """Replace NaN and infinite numbers with null; with `named`, also their names.

    >>> without_non_finite([float("nan"), 1.5])
    [None, 1.5]
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if named and isinstance(value, str) and value in _NAMES:
        return None
    if isinstance(value, list):
        return [without_non_finite(item, named=named) for item in value]
    if isinstance(value, dict):
        return {key: without_non_finite(item, named=named) for key, item in value.items()}
    return value


def unname_non_finite(value: JsonValue) -> JsonValue:
    """Replace the names of NaN and infinite numbers with the numbers.

    >>> unname_non_finite(["Infinity", "NaN and more"])
    [inf, 'NaN and more']
    """
    if isinstance(value, str) and value in _NAMES:
        return float(value)
    if isinstance(value, list):
        return [unname_non_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: unname_non_finite(item) for key, item in value.items()}
    return value


def name_non_finite(value: object) -> object:
    """Replace NaN and infinite numbers with their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list | tuple):
        return [name_non_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: name_non_finite(item) for key, item in value.items()}
    return value
