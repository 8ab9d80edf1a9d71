"""Alignment by index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue
from fieldmark.values.equality import equal


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
            [
                (place, place, 1.0, equal(expected[place], candidate[place]))
                for place in range(common)
            ],
            range(common, len(expected)),
            range(common, len(candidate)),
        )
