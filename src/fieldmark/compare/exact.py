"""Strict equality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fieldmark.compare.kinds import mismatch
from fieldmark.model.comparison import MATCHED, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.values.equality import equal

__all__ = ["Exact"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """The same JSON value: nothing is trimmed, folded or converted."""

    name: ClassVar[str] = "exact"
    reflexive: ClassVar[bool] = True

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match equal values.

        >>> Exact().compare(100, "100").reason
        <Reason.TYPE_MISMATCH: 'type_mismatch'>
        """
        return MATCHED if equal(expected, candidate) else mismatch(expected, candidate)
