"""The leaves of a document with their concrete paths."""

from __future__ import annotations

from collections.abc import Iterator

from fieldmark.model.json import JsonValue
from fieldmark.values.paths import ROOT, join

__all__ = ["leaves"]


def leaves(value: JsonValue, prefix: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Every scalar and every empty container below a value, in document order.

    >>> list(leaves({"a": [1, {"b": {}}]}))
    [('a[0]', 1), ('a[1].b', {})]
    >>> list(leaves(5))
    [('$', 5)]
    """
    pending = [(prefix, value)]
    while pending:
        path, item = pending.pop()
        if item and isinstance(item, dict):
            pending.extend((join(path, key), item[key]) for key in reversed(item))
        elif item and isinstance(item, list):
            pending.extend((f"{path}[{place}]", item[place]) for place in _backwards(item))
        else:
            yield path or ROOT, item


def _backwards(items: list[JsonValue]) -> range:
    return range(len(items) - 1, -1, -1)
