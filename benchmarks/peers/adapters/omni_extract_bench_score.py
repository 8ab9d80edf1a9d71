"""omni-extract-bench: its scorer, which needs a JSON Schema and has no per-field rules."""

from __future__ import annotations

from typing import Any

from documents import drive, fields
from omni_extract_bench import score

TYPES = {"text": "string", "fuzzy": "string", "date": "string", "amount": "number"}


def schema(kind: object) -> dict[str, Any]:
    """Return a JSON Schema for a field, an object or a list of objects."""
    if isinstance(kind, dict):
        properties = {name: schema(inner) for name, inner in kind.items()}
        return {"type": "object", "properties": properties}
    if isinstance(kind, list):
        return {"type": "array", "items": schema(kind[0])}
    return {"type": TYPES.get(str(kind), "number")}


SCHEMA = schema(fields())


def compare(expected: dict[str, Any], candidate: dict[str, Any]) -> object:
    """Score one pair."""
    return score(candidate, expected, SCHEMA)


if __name__ == "__main__":
    drive(compare)
