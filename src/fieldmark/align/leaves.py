"""The leaves on which list items are compared.

A leaf is either a trimmed and casefolded string, which is compared by edit distance, or another
hashable value, which is compared for equality. Empty leaves are skipped. A nested list is one
leaf; an item that is not an object is its own only leaf.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import Final, TypeAlias, cast

from fieldmark.align import compiled
from fieldmark.align.limits import MAX_TEXT
from fieldmark.model.json import MISSING, JsonValue
from fieldmark.values.canonical import typed_key
from fieldmark.values.paths import resolve
from fieldmark.values.presence import is_blank
from fieldmark.values.text import folded

__all__ = [
    "ItemLeaves",
    "Path",
    "all_leaves",
    "exact_leaves_of",
    "is_iso_date",
    "largest",
    "leaves_of",
]

Path: TypeAlias = str | tuple[str, ...]
ItemLeaves: TypeAlias = dict[Path, Hashable]

_ITSELF: Final = ()
_PLAIN: Final = 1 << 53  # floats represent integers exactly up to this number
_LEAF: Final = 16  # the size of a leaf, in characters
_ISO_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[t ].*)?", re.DOTALL)


def is_iso_date(text: str) -> bool:
    """Whether a casefolded string is an ISO 8601 date or date-time."""
    return text[4:5] == "-" and _ISO_DATE.fullmatch(text) is not None


def all_leaves(items: list[JsonValue], match_fields: tuple[str, ...] | None) -> list[ItemLeaves]:
    """Return the leaves of each item."""
    if compiled.COMPILED:
        return compiled.items.cells(items, match_fields, MAX_TEXT, folded, leaves_of)
    return [leaves_of(item, match_fields) for item in items]


def leaves_of(item: JsonValue, match_fields: tuple[str, ...] | None) -> ItemLeaves:
    """Return the leaves of an item at the match fields, or all leaves.

    >>> leaves_of({"name": " Ann ", "born": None, "home": {"zip": 1}}, None)
    {'name': 'ann', ('home', 'zip'): 1}
    """
    if match_fields is None or type(item) is not dict:
        return _walked(item, folded)
    cells: ItemLeaves = {}
    for field in match_fields:
        value = item[field] if field in item else resolve(item, field)
        if type(value) is str:
            text = folded(value)
            if text:
                cells[field] = text if len(text) <= MAX_TEXT else (text,)
        elif (type(value) is int or type(value) is float) and -_PLAIN <= value <= _PLAIN:
            cells[field] = value
        elif value is not None and value is not MISSING:
            cells[field] = (typed_key(value),)
    return cells


def largest(items: list[ItemLeaves]) -> int:
    """Return the size of the largest item: its characters, and a constant for each leaf.

    >>> largest([{"a": "blue"}, {"a": "red", "n": 1}])
    35
    """
    if compiled.COMPILED:
        return compiled.items.largest(items, _LEAF)
    texts = [[cell for cell in cells.values() if type(cell) is str] for cells in items]
    sizes = (
        _LEAF * len(cells) + len("".join(own)) for cells, own in zip(items, texts, strict=True)
    )
    return max(sizes, default=0)


def exact_leaves_of(item: JsonValue) -> ItemLeaves:
    """Return all leaves of an item for comparison by equality, with strings unchanged."""
    return _walked(item, lambda text: "" if is_blank(text) else text)


def _walked(item: JsonValue, reading: Callable[[str], str]) -> ItemLeaves:
    """Return all leaves of an item with normalized strings; a string normalized to "" is empty."""
    if not isinstance(item, dict):
        item = {} if item is None else {cast("str", _ITSELF): item}
    cells: ItemLeaves = {}
    nested: list[tuple[tuple[str, ...], dict[str, JsonValue]]] = []
    prefix: tuple[str, ...] = ()
    while True:
        for key, value in item.items():
            path = (*prefix, key) if prefix else key
            kind = type(value)
            if kind is str:
                text = reading(value)  # type: ignore[arg-type]
                if text:
                    cells[path] = text if len(text) <= MAX_TEXT else (text,)
            elif (kind is float or kind is int) and -_PLAIN <= value <= _PLAIN:  # type: ignore[operator]
                cells[path] = cast("float", value)
            elif isinstance(value, dict) and value:
                nested.append(((*prefix, key), value))
            elif value is not None:
                cells[path] = (typed_key(value),)
        if not nested:
            return cells
        prefix, item = nested.pop()
