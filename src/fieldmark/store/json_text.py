"""Any value as strict JSON text: what a strict reader would refuse is written as text."""

from __future__ import annotations

import json
import math
from typing import cast

import orjson

from fieldmark.model.json import JsonValue

__all__ = ["strict_json"]


def strict_json(value: JsonValue) -> bytes:
    """Compact JSON without NaN, infinities or broken characters; key order is kept."""
    try:
        return orjson.dumps(value)
    except TypeError:
        text = json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)
        return text.encode("ascii")


def _finite(value: JsonValue) -> JsonValue:
    if isinstance(value, float) and not math.isfinite(value):
        return cast("dict[float, JsonValue]", {math.inf: "Infinity", -math.inf: "-Infinity"}).get(
            value, "NaN"
        )
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value
