"""Classify values and the differences between them, to infer rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from fieldmark.compare.auto import Detected, detect
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.model.json import JsonValue
from fieldmark.values.dates import DEFAULT_FORMATS, read_day
from fieldmark.values.equality import equal
from fieldmark.values.numbers import NumberFormat, as_number
from fieldmark.values.text import folded, normalized

__all__ = [
    "Difference",
    "ValueKind",
    "date_formats",
    "decimals",
    "difference_of",
    "kind_of_value",
]

_LONG_TEXT: Final = 120
_MANY_WORDS: Final = 15
_MAX_CODE: Final = 40


class ValueKind(StrEnum):
    """The kind of a scalar, as relevant for the choice of a comparator."""

    BOOLEAN = "boolean"
    WHOLE_NUMBER = "integer"
    DECIMAL_NUMBER = "decimal number"
    NUMBER_TEXT = "number in a string"
    AMOUNT_US = "amount such as 1,240.00"
    AMOUNT_EU = "amount such as 1.240,00"
    DATE = "date"
    EMAIL = "e-mail address"
    YES_OR_NO = "yes or no"
    WEB_ADDRESS = "web address"
    DIGITS = "many digits"
    CODE = "code"
    TEXT = "text"
    LONG_TEXT = "long text"


class Difference(StrEnum):
    """How a candidate value differs from the expected one."""

    NONE = "equal"
    CASE = "different case"
    WHITESPACE = "different whitespace"
    NUMBER_FORMAT = "different number format"
    DATE_FORMAT = "different date format"
    CLOSE = "similar text"
    LISTED = "one of the acceptable values"
    OTHER = "different value"


_YES_OR_NO: Final = frozenset({"yes", "no", "true", "false", "y", "n"})
_WEB_ADDRESS: Final = re.compile(r"(?:https?://|www\.)\S+\Z", re.IGNORECASE)
_DIGITS: Final = re.compile(r"[0-9]{5,}\Z")


def _is_code(text: str) -> bool:
    """Whether a text has a digit and no space, or at least half of it is digits."""
    trimmed = text.strip()
    characters = trimmed.replace(" ", "")
    digits = sum(map(str.isdecimal, characters))
    return (
        len(trimmed) <= _MAX_CODE
        and digits > 0
        and (len(characters) == len(trimmed) or digits * 2 >= len(characters))
    )


_TEXT_KINDS: Final[tuple[tuple[ValueKind, Callable[[str], bool]], ...]] = (
    (ValueKind.EMAIL, lambda text: detect(text) is Detected.EMAIL),
    (ValueKind.YES_OR_NO, lambda text: folded(text) in _YES_OR_NO),
    (ValueKind.DATE, lambda text: read_day(text) is not None),
    (ValueKind.WEB_ADDRESS, lambda text: _WEB_ADDRESS.match(text.strip()) is not None),
    (ValueKind.DIGITS, lambda text: _DIGITS.match(text.strip()) is not None),
    (ValueKind.NUMBER_TEXT, lambda text: as_number(text) is not None),
    (ValueKind.AMOUNT_US, lambda text: as_number(text, NumberFormat.US) is not None),
    (ValueKind.AMOUNT_EU, lambda text: as_number(text, NumberFormat.EU) is not None),
    (ValueKind.CODE, _is_code),
    (ValueKind.LONG_TEXT, lambda text: len(text) > _LONG_TEXT or len(text.split()) > _MANY_WORDS),
)
"""The first matching predicate decides; other values are text."""


def kind_of_value(value: JsonValue) -> ValueKind:
    """Return the kind of a scalar.

    >>> kind_of_value("INV-001").value, kind_of_value("1,240.00").value
    ('code', 'amount such as 1,240.00')
    """
    if isinstance(value, bool):
        return ValueKind.BOOLEAN
    if isinstance(value, int):
        return ValueKind.WHOLE_NUMBER
    if isinstance(value, float):
        return ValueKind.WHOLE_NUMBER if value.is_integer() else ValueKind.DECIMAL_NUMBER
    text = str(value)
    return next((kind for kind, predicate in _TEXT_KINDS if predicate(text)), ValueKind.TEXT)


def difference_of(expected: JsonValue, candidate: JsonValue) -> Difference:
    """Return the smallest difference that explains two non-empty values."""
    if equal(expected, candidate):
        return Difference.NONE
    if isinstance(expected, list) and not isinstance(candidate, list | dict):
        listed = any(equal(value, candidate) for value in expected)
        return Difference.LISTED if listed else Difference.OTHER
    numbers = as_number(expected, NumberFormat.AUTO), as_number(candidate, NumberFormat.AUTO)
    if None not in numbers:
        return Difference.NUMBER_FORMAT if numbers[0] == numbers[1] else Difference.OTHER
    if not (isinstance(expected, str) and isinstance(candidate, str)):
        return Difference.OTHER
    if expected.casefold() == candidate.casefold():
        return Difference.CASE
    if normalized(expected) == normalized(candidate):
        return Difference.WHITESPACE
    days = read_day(expected), read_day(candidate)
    if days[0] is not None and days[1] is not None:
        return Difference.DATE_FORMAT if days[0].day == days[1].day else Difference.OTHER
    return Difference.CLOSE if Fuzzy().compare(expected, candidate).matched else Difference.OTHER


def date_formats(text: str) -> list[str]:
    """Return the names of the date formats that match a text, month first before day first.

    >>> date_formats("05 MAR 2018"), date_formats("05/03/2018")
    (['DD MMM YYYY'], ['MM/DD/YYYY', 'DD/MM/YYYY'])
    """
    trimmed = text.strip()
    return [form.text for form in DEFAULT_FORMATS if form.read(trimmed) is not None]


def decimals(number: float) -> int:
    """Return the number of decimals of a number in its shortest form.

    >>> decimals(12.5), decimals(3.0), decimals(1e-7)
    (1, 0, 7)
    """
    digits, _, power = repr(number).partition("e")
    fraction = digits.partition(".")[2].rstrip("0")
    return max(0, len(fraction) - int(power or 0))
