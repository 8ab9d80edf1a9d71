"""Classify a mismatch as a wrong value or a wrong type."""

from __future__ import annotations

from typing import Final

from fieldmark.model.comparison import Comparison
from fieldmark.model.json import JsonValue, kind_of

DIFFERENT: Final = Comparison.differs()
WRONG_TYPE: Final = Comparison.wrong_type()


def mismatch(
    expected: JsonValue, candidate: JsonValue, otherwise: Comparison = DIFFERENT
) -> Comparison:
    """Return a wrong type if the JSON types of two values differ, and `otherwise` if not."""
    return otherwise if kind_of(expected) is kind_of(candidate) else WRONG_TYPE
