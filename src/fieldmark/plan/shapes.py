"""What is known of objects with the same keys."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Final, cast

from fieldmark.align import compiled
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.plan.classify import MATCH_FACT
from fieldmark.plan.flat import flat_of
from fieldmark.plan.forms import NUMBER, TEXT, Form, kind_of_field

if TYPE_CHECKING:
    from fieldmark.plan.attribute_node import Node

__all__ = ["LEARNT", "Shape"]

LEARNT: Final = 8
"""Sights of a shape before a function is written for it."""


class Shape:
    """The keys of an object, and what is below them.

    `form` is there once the shape was seen often enough to know what its fields usually are.
    `every` is what is written where all fields match, if text and numbers are all that such
    objects usually hold.
    """

    __slots__ = ("_keys", "_texts", "children", "every", "form", "seen")

    def __init__(self, keys: tuple[str, ...], children: tuple[Node, ...]) -> None:
        self.children = children
        self.seen = 0
        self.form: Form | None = None
        self.every: list[int] = []
        self._keys = keys
        self._texts = b""

    def see(self, node: Node, document: JsonObject) -> None:
        """Take note of an object, and learn its form once that is worth while."""
        self.seen += 1
        if self.seen < LEARNT or self.form is not None:
            return
        self.form = Form(node, document)
        node.flat = node.flat or flat_of(self._keys, self.children, document)
        kinds = list(map(kind_of_field, self.children, document.values()))
        if all(kind in (TEXT, NUMBER) for kind in kinds):
            self._texts = bytes(kind is TEXT for kind in kinds)
            self.every = [child.base | MATCH_FACT for child in self.children]

    def plain(self, items: list[JsonValue]) -> bool:
        """Whether all items have this shape and hold nothing but text and finite numbers."""
        if not self.every:
            return False
        plain = compiled.items.plain if compiled.COMPILED else _plain
        return plain(items, self._keys, self._texts)


def _plain(items: Sequence[JsonValue], keys: tuple[str, ...], texts: bytes) -> bool:
    """Whether all are objects with exactly these keys in this order, and hold what is said here."""
    if set(map(type, items)) != {dict}:
        return False
    objects = cast("Sequence[JsonObject]", items)
    if list(map(tuple, objects)).count(keys) < len(objects):
        return False
    columns = zip(*map(dict.values, objects), strict=True)
    return all(map(_is_plain, texts, columns))


def _is_plain(text: int, column: Sequence[JsonValue]) -> bool:
    """Whether a column holds only text that is not blank, or only finite numbers."""
    kinds = set(map(type, column))
    if text:
        texts = cast("Sequence[str]", column)
        return kinds == {str} and all(texts) and True not in map(str.isspace, texts)
    if float not in kinds:
        return kinds == {int}
    try:
        return kinds <= {int, float} and all(map(isfinite, cast("Sequence[float]", column)))
    except OverflowError:
        return False  # an integer beyond all floats
