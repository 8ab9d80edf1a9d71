"""Alignments that need no similarity: by index, by key fields, of equal items, or none."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from fieldmark.align.alignment_options import FieldPaths
from fieldmark.align.equal_items import build_alignment, canonical_order, pair_equal, pair_keys
from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Presence
from fieldmark.values.equality import typed_key
from fieldmark.values.paths import resolve
from fieldmark.values.presence import presence
from fieldmark.values.strategy_options import check_options


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Align items with the same index; the rest of the longer list stays unaligned.

    >>> Index().align(["a", "b"], ["a"]).unmatched_expected
    range(1, 2)
    """

    name: ClassVar[str] = "index"

    def align(self, expected: list[JsonValue], candidate: list[JsonValue]) -> Alignment:
        """Align items with the same index."""
        common = min(len(expected), len(candidate))
        return Alignment(
            [(index, index, 1.0) for index in range(common)],
            range(common, len(expected)),
            range(common, len(candidate)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Align items whose key fields are all equal.

    Deeply equal items are aligned first, then items with the same key in canonical order. Empty
    key fields are equal to each other, but an item without any key field stays unaligned. An item
    that is not an object is its own key.

    >>> Key(key=("sku",)).align([{"sku": 1, "n": 2}], [{"sku": 1.0, "n": 3}]).pairs
    [(0, 0, 1.0)]
    """

    name: ClassVar[str] = "key"
    key: FieldPaths

    def __post_init__(self) -> None:
        check_options(self)

    def align(self, expected: list[JsonValue], candidate: list[JsonValue]) -> Alignment:
        """Align equal items, then items with the same key."""
        unpaired = pair_equal(expected, candidate)
        indexes, other_indexes = unpaired.expected_indexes, unpaired.candidate_indexes
        keys, other_keys = self._keys(expected, indexes), self._keys(candidate, other_indexes)
        if len(set(keys)) < len(keys) or len(set(other_keys)) < len(other_keys):
            indexes, other_indexes = (
                canonical_order(expected, indexes),
                canonical_order(candidate, other_indexes),
            )
            keys, other_keys = self._keys(expected, indexes), self._keys(candidate, other_indexes)
        return build_alignment(
            unpaired,
            [
                (index, other_indexes[position], 1.0)
                for index, position in zip(indexes, pair_keys(keys, other_keys), strict=True)
                if position is not None
            ],
        )

    def _keys(self, items: list[JsonValue], indexes: Sequence[int]) -> list[Hashable]:
        return [self._key_of(items[index]) for index in indexes]

    def _key_of(self, item: JsonValue) -> Hashable:
        """Return the key of an item, or a unique one if it has none."""
        if not isinstance(item, dict):
            return typed_key(item)
        parts = tuple(
            typed_key(value) if presence(value) is Presence.VALUE else None  # type: ignore[arg-type]
            for value in (resolve(item, path) for path in self.key)
        )
        return parts if any(part is not None for part in parts) else object()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAlign:
    """Align only deeply equal items; each duplicate needs its own partner.

    >>> [pair[:2] for pair in SetAlign().align([1, 2], [2.0, True]).pairs]
    [(1, 0)]
    """

    name: ClassVar[str] = "set"

    def align(self, expected: list[JsonValue], candidate: list[JsonValue]) -> Alignment:
        """Align equal items."""
        return build_alignment(pair_equal(expected, candidate))


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """Compare the list as one value, without aligning its items."""

    name: ClassVar[str] = "whole"

    def align(self, expected: list[JsonValue], candidate: list[JsonValue]) -> Alignment:
        """Return an alignment without pairs."""
        return Alignment((), range(len(expected)), range(len(candidate)))
