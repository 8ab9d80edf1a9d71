"""Ignore fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fieldmark.model.comparison import MATCHED, ComparatorGroup, Comparison
from fieldmark.model.json import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """Ignore the field: it is recorded as ignored and never counted."""

    name: ClassVar[str] = "ignore"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.ANY
    normalization: ClassVar[str] = "the field is not compared"
    reflexive: ClassVar[bool] = True

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:  # noqa: ARG002
        """Match any two values."""
        return MATCHED
