"""stickler-eval: a model with per-field comparators, items matched optimally."""

from __future__ import annotations

from typing import Any

from documents import Kinds, drive, fields
from stickler import StructuredModel

COMPARATORS = {
    "text": ("string", "ExactComparator", {}, 1.0),
    "fuzzy": ("string", "LevenshteinComparator", {}, 0.85),
    "date": ("string", "DateComparator", {}, 1.0),
    "number": ("number", "NumericComparator", {}, 1.0),
    "amount": ("number", "NumericComparator", {"absolute_tolerance": 0.01}, 1.0),
}
PREFIX = "x-aws-stickler-"


def schema(name: str, kinds: Kinds) -> dict[str, Any]:
    """Return a JSON Schema with the comparison extensions of this peer."""
    return {
        "type": "object",
        f"{PREFIX}model-name": name,
        f"{PREFIX}match-threshold": 0.5,
        "properties": {key: described(f"{name}{key.title()}", kind) for key, kind in kinds.items()},
    }


def described(name: str, kind: object) -> dict[str, Any]:
    """Return the schema of a field, an object or a list of objects."""
    if isinstance(kind, list):
        return {"type": "array", "items": schema(name, kind[0])}
    return schema(name, kind) if isinstance(kind, dict) else leaf(str(kind))


def leaf(kind: str) -> dict[str, Any]:
    """Return the schema of one field."""
    type_name, comparator, options, threshold = COMPARATORS[kind]
    config = {f"{PREFIX}comparator-config": options} if options else {}
    return {
        "type": [type_name, "null"],
        f"{PREFIX}comparator": comparator,
        **config,
        f"{PREFIX}threshold": threshold,
    }


Model = StructuredModel.from_json_schema(schema("Document", fields()))


def compare(expected: dict[str, Any], candidate: dict[str, Any]) -> object:
    """Score one pair with the confusion counts of this peer."""
    return Model(**expected).compare_with(Model(**candidate), include_confusion_matrix=True)


if __name__ == "__main__":
    drive(compare)
