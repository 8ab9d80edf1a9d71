"""Values as a reason names them: short, whatever they hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Final

from fieldmark.evaluators.expressions.findings import Value
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.values.canonical import integer_text

__all__ = ["ABSENCES", "as_json", "described", "shown"]

ABSENCES: Final[Mapping[Presence, str]] = {
    Presence.ABSENT: "missing",
    Presence.NULL: "null",
    Presence.BLANK: "blank",
}

_LONGEST: Final = 60
_MOST_DIGITS: Final = 30


def shown(value: Value | Missing) -> str:
    """A value in a few words: texts in quotes, numbers as written, containers by their size.

    >>> shown("ab"), shown(Decimal("118.00")), shown([1, 2]), shown(True)
    ('"ab"', '118.00', 'a list of 2', 'true')
    """
    if isinstance(value, str):
        return json.dumps(_cut(value), ensure_ascii=False)
    if isinstance(value, Decimal):
        return _number_text(value)
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return _cut(integer_text(value)) if type(value) is int else str(value)


def described(value: Value | Missing) -> str:
    """What a value is, for the sentence that it is something else.

    >>> described("abc"), described(None), described({})
    ('the text "abc"', 'null', 'an object')
    """
    if isinstance(value, str):
        return f"the text {shown(value)}"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, date):
        return f"the date {shown(value)}"
    return "missing" if value is MISSING else shown(value)


def as_json(value: Value | Missing) -> JsonValue:
    """A value as a stored detail holds it; a number that no float can hold is text."""
    if isinstance(value, Decimal):
        number = float(value)
        exact = Decimal(repr(number)) == value
        return number if exact else _number_text(value)
    if isinstance(value, str):
        return _cut(value)
    if value is None or isinstance(value, (bool, float)):
        return value
    return None if value is MISSING else shown(value)


def _number_text(number: Decimal) -> str:
    plain = abs(number.adjusted()) <= _MOST_DIGITS
    return _cut(f"{number:f}" if plain else str(number))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
