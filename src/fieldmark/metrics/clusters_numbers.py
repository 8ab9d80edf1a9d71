"""How numbers and dates go wrong: what two of them have in common although they differ."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Final

from rapidfuzz.distance import Levenshtein

from fieldmark.metrics.clusters_text import Contrast

__all__ = [
    "date_part",
    "date_swapped",
    "date_without_year",
    "date_written_otherwise",
    "is_currency",
    "is_leading_zeros",
    "is_one_digit",
    "is_rounded",
    "is_scale",
    "is_separators",
    "is_sign",
    "is_unit",
]

_MARKS: Final = (",", ".", "'", "\u00a0", "\u202f", " ")
_GROUPS: Final = frozenset(Decimal(1000) ** power for power in range(4))
_POWERS: Final = frozenset(Decimal(10) ** power for power in range(1, 13))
_FINE: Final = 30
_NO_YEAR: Final = re.compile(r"([0-9]{1,2})[/.\- ]([0-9]{1,2})\.?\Z")


def date_swapped(pair: Contrast) -> bool:
    """Day and month stand in each other's place."""
    expected, candidate = pair.expected.days, pair.candidate.days
    if _is_iso(pair.expected.text) and _is_iso(pair.candidate.text):
        return any(_swapped(day) in candidate for day in expected) and expected != candidate
    return bool(expected & candidate) and _reordered(pair)


def date_written_otherwise(pair: Contrast) -> bool:
    """The same day in another way of writing."""
    return bool(pair.expected.days & pair.candidate.days)


def date_without_year(pair: Contrast) -> bool:
    """Day and month of the expected date alone."""
    found = _NO_YEAR.match(pair.candidate.text.strip())
    if found is None:
        return False
    parts = {int(found[1]), int(found[2])}
    return any({day.month, day.day} == parts for day in pair.expected.days)


def date_part(pair: Contrast) -> bool:
    """One of day, month and year is another."""
    return any(
        sum((a.year != b.year, a.month != b.month, a.day != b.day)) == 1
        for a in pair.expected.days
        for b in pair.candidate.days
    )


def is_sign(pair: Contrast) -> bool:
    """The same number with the other sign."""
    amounts = _amounts(pair)
    return amounts is not None and amounts[0] == -amounts[1] != 0


def is_currency(pair: Contrast) -> bool:
    """The same amount with another sign of a currency, with one too many, or without it."""
    return _same_amount(pair) and pair.expected.money != pair.candidate.money


def is_unit(pair: Contrast) -> bool:
    """The same number with another unit, with one too many, or without it."""
    return _same_amount(pair) and pair.expected.unit != pair.candidate.unit


def is_separators(pair: Contrast) -> bool:
    """The same digits with other marks between them, or these marks misread."""
    amounts = _amounts(pair)
    marked = any(mark in text for text in pair.texts for mark in _MARKS)
    if amounts is None or not marked or not pair.expected.digits:
        return False
    if amounts[0] == amounts[1]:
        return True
    one, other = (side.rstrip("0") for side in (pair.expected.digits, pair.candidate.digits))
    return one == other and _ratio(amounts) in _GROUPS


def is_scale(pair: Contrast) -> bool:
    """Off by a power of ten: a point lost, cents for units, a share for a percentage."""
    amounts = _amounts(pair)
    return amounts is not None and _ratio(amounts) in _POWERS


def is_rounded(pair: Contrast) -> bool:
    """The expected number with fewer places."""
    if pair.expected.number is None or pair.candidate.number is None:
        return False
    places = -int(pair.candidate.number.normalize().as_tuple().exponent)
    if not 0 <= places < _FINE:
        return False
    return abs(pair.expected.number - pair.candidate.number) < Decimal(10) ** -places


def is_leading_zeros(pair: Contrast) -> bool:
    """The same digits but for zeros in front."""
    expected, candidate = (text.strip() for text in pair.texts)
    return expected != candidate and expected.lstrip("0") == candidate.lstrip("0") != ""


def is_one_digit(pair: Contrast) -> bool:
    """A single digit is another, missing or too many."""
    if pair.expected.number is None or pair.candidate.number is None:
        return False
    digits = pair.expected.digits, pair.candidate.digits
    return len(digits[0]) > 1 and Levenshtein.distance(*digits) == 1


def _amounts(pair: Contrast) -> tuple[Decimal, Decimal] | None:
    """Both numbers, if both values are hardly more than that."""
    sides = pair.expected, pair.candidate
    if not all(side.number is not None or side.money or side.unit for side in sides):
        return None
    return pair.amounts


def _same_amount(pair: Contrast) -> bool:
    amounts = _amounts(pair)
    return amounts is not None and amounts[0] == amounts[1]


def _ratio(amounts: tuple[Decimal, Decimal]) -> Decimal:
    smaller, larger = sorted(map(abs, amounts))
    return larger / smaller if smaller else Decimal(0)


def _swapped(day: date) -> date | None:
    try:
        return day.replace(month=day.day, day=day.month)
    except ValueError:
        return None


def _is_iso(text: str) -> bool:
    return text[:4].isdigit()


def _reordered(pair: Contrast) -> bool:
    """Whether two dates are equal only if one is read day first and the other month first."""
    expected, candidate = pair.expected.first_day, pair.candidate.first_day
    return expected is not None and candidate is not None and expected != candidate
