"""stickler-eval: a model with per-field comparators, items matched optimally."""

from __future__ import annotations

from typing import Any

from documents import HEADER, ITEM, drive
from stickler import StructuredModel

COMPARATORS = {
    "text": ("string", "ExactComparator", {}, 1.0),
    "fuzzy": ("string", "LevenshteinComparator", {}, 0.85),
    "date": ("string", "DateComparator", {}, 1.0),
    "number": ("number", "NumericComparator", {}, 1.0),
    "amount": ("number", "NumericComparator", {"absolute_tolerance": 0.01}, 1.0),
}
PREFIX = "x-aws-stickler-"


def schema(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema with the comparison extensions of this peer."""
    properties = {
        key: schema(f"{name}{key.title()}", kind) if isinstance(kind, dict) else leaf(kind)
        for key, kind in fields.items()
    }
    return {
        "type": "object",
        f"{PREFIX}model-name": name,
        f"{PREFIX}match-threshold": 0.5,
        "properties": properties,
    }


def leaf(kind: str) -> dict[str, Any]:
    """Return the schema of one field."""
    type_name, comparator, options, threshold = COMPARATORS[kind]
    described = {"type": [type_name, "null"], f"{PREFIX}comparator": comparator}
    if options:
        described[f"{PREFIX}comparator-config"] = options
    return {**described, f"{PREFIX}threshold": threshold}


invoice = schema("Invoice", HEADER)
invoice["properties"]["line_items"] = {"type": "array", "items": schema("Item", ITEM)}
Invoice = StructuredModel.from_json_schema(invoice)


def compare(expected: dict[str, Any], candidate: dict[str, Any]) -> object:
    """Score one pair with the confusion counts of this peer."""
    return Invoice(**expected).compare_with(Invoice(**candidate), include_confusion_matrix=True)


if __name__ == "__main__":
    drive(compare)
