"""Alignment of equal items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fieldmark.align.equal_items import build_alignment, pair_equal
from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue


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
