"""No alignment: compare a list as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """Compare the list as one value, without aligning its items."""

    name: ClassVar[str] = "whole"

    def align(self, expected: list[JsonValue], candidate: list[JsonValue]) -> Alignment:
        """Return an alignment without pairs."""
        return Alignment((), range(len(expected)), range(len(candidate)))
