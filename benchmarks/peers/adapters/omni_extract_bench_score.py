"""omni-extract-bench: its scorer, which needs a JSON Schema and has no per-field rules."""

from __future__ import annotations

from typing import Any

from documents import HEADER, ITEM, drive
from omni_extract_bench import score

TYPES = {"text": "string", "fuzzy": "string", "date": "string", "amount": "number"}


def schema(fields: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema for an object with these fields."""
    properties = {
        name: schema(kind) if isinstance(kind, dict) else {"type": TYPES.get(kind, "number")}
        for name, kind in fields.items()
    }
    return {"type": "object", "properties": properties}


invoice = schema(HEADER)
invoice["properties"]["line_items"] = {"type": "array", "items": schema(ITEM)}


def compare(expected: dict[str, Any], candidate: dict[str, Any]) -> object:
    """Score one pair."""
    return score(candidate, expected, invoice)


if __name__ == "__main__":
    drive(compare)
