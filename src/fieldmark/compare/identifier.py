"""Compare identifiers, such as invoice numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from fieldmark.compare.mismatch import DIFFERENT, WRONG_TYPE
from fieldmark.model.comparison import MATCHED, ComparatorGroup, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.values.equality import equal, integer_text
from fieldmark.values.text import unified

_COERCED: Final = MATCHED._replace(coerced=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier:
    """Match identifiers with the same letters and digits, ignoring case and separators.

    All digits count, leading zeros too, and similar characters such as 0 and O differ. An integer
    matches a string with the same digits.
    """

    name: ClassVar[str] = "identifier"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.TEXT
    normalization: ClassVar[str] = "case and separators are ignored"
    reflexive: ClassVar[bool] = True

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match identifiers with the same letters and digits.

        >>> Identifier().compare("INV-2024/007", "inv 2024 007").matched
        True
        """
        if equal(expected, candidate):
            return MATCHED
        want, got = letters_and_digits(expected), letters_and_digits(candidate)
        if want is None or got is None:
            return WRONG_TYPE
        coerced = isinstance(expected, str) != isinstance(candidate, str)
        if want == got:
            return _COERCED if coerced else MATCHED
        return WRONG_TYPE if coerced else DIFFERENT


def letters_and_digits(value: JsonValue) -> str | None:
    """Return what counts in an identifier, or `None` if the value is not an identifier."""
    if type(value) is int:
        return integer_text(value)
    if not isinstance(value, str):
        return None
    text = unified(value)
    return "".join(filter(str.isalnum, text)) or text
