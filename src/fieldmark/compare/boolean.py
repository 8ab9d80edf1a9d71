"""Compare boolean values in their various spellings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from fieldmark.compare.mismatch import mismatch
from fieldmark.model.comparison import MATCHED, ComparatorGroup, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.equality import equal
from fieldmark.values.text import folded

_WORDS: Final[Mapping[str, bool]] = {"true": True, "yes": True, "false": False, "no": False}
_NUMBERS: Final[Mapping[float, bool]] = {0: False, 1: True}
_COERCED: Final = MATCHED._replace(coerced=True)
_NOT_BOOLEAN: Final = Comparison.wrong_type(Reason.NOT_A_BOOLEAN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boolean:
    """Match equal truth values: true, "true", "yes" and 1, or false, "false", "no" and 0."""

    name: ClassVar[str] = "boolean"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.NUMBERS
    normalization: ClassVar[str] = "values are read as true or false"
    reflexive: ClassVar[bool] = True

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match values with the same truth value.

        >>> Boolean().compare(True, "Yes").matched
        True
        """
        if equal(expected, candidate):
            return MATCHED
        got = _as_boolean(candidate)
        if got is None:
            return _NOT_BOOLEAN
        return _COERCED if _as_boolean(expected) is got else mismatch(expected, candidate)


def _as_boolean(value: JsonValue) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _WORDS.get(folded(value))
    if isinstance(value, (int, float)):
        return _NUMBERS.get(value)
    return None
