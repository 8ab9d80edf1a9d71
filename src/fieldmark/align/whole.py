"""No alignment: the list is one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue

__all__ = ["Whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """Marks a list that is compared as one value, so that no item has a partner."""

    name: ClassVar[str] = "whole"

    def align(self, expected: list[JsonValue], candidate: list[JsonValue]) -> Alignment:
        """Pair nothing."""
        return Alignment((), range(len(expected)), range(len(candidate)))
