"""How values that do not match are reported: a wrong value or a wrong type."""

from __future__ import annotations

from typing import Final

from fieldmark.model.comparison import Comparison
from fieldmark.model.json import JsonValue, kind_of

__all__ = ["DIFFERENT", "WRONG_KIND", "mismatch"]

DIFFERENT: Final = Comparison.differs()
WRONG_KIND: Final = Comparison.wrong_type()


def mismatch(
    expected: JsonValue, candidate: JsonValue, otherwise: Comparison = DIFFERENT
) -> Comparison:
    """The result for values that do not match: a wrong type, or `otherwise` if the types agree."""
    return otherwise if kind_of(expected) is kind_of(candidate) else WRONG_KIND
