"""Reckoning in decimals, as people do with money: no float, no overflow, no exception."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

from fieldmark.evaluators.expressions.findings import Finding, Value, fault
from fieldmark.values.numbers import as_number

__all__ = ["CONTEXT", "as_amount", "bounded", "divided", "rounded"]

CONTEXT: Final = Context(
    prec=100, rounding=ROUND_HALF_UP, Emin=-9_999, Emax=9_999, flags=[], traps=[]
)
"""A hundred digits, far more than any amount has; what is beyond is infinite and caught below."""

_MOST_BITS: Final = 3_400
"""About a thousand digits: longer integers are names, not amounts."""
_MOST_PLACES: Final = 30


def as_amount(value: Value) -> Decimal | None:
    """The number that a value is or plainly spells, exactly as it was written.

    >>> as_amount(0.1), as_amount("12.50"), as_amount("12,50")
    (Decimal('0.1'), Decimal('12.50'), None)
    """
    if isinstance(value, Decimal):
        return value
    if not isinstance(value, (int, float, str)):
        return None
    number = as_number(value)
    if isinstance(number, float):
        return Decimal(repr(number))
    if isinstance(number, int):
        return Decimal(number) if number.bit_length() <= _MOST_BITS else None
    return number


def bounded(number: Decimal, text: str) -> Decimal | Finding:
    """The result of a calculation, unless it left the range of numbers."""
    return number if number.is_finite() else fault(f"{text} is too large")


def divided(number: Decimal, divisor: Decimal, text: str) -> Decimal | Finding:
    """A quotient; nothing can be divided by zero."""
    if not divisor:
        return fault(f"{text} divides by zero")
    return bounded(CONTEXT.divide(number, divisor), text)


def rounded(number: Decimal, places: Decimal, text: str) -> Decimal | Finding:
    """A number with so many decimal places, halves away from zero as on an invoice.

    >>> rounded(Decimal("2.345"), Decimal(2), "x")
    Decimal('2.35')
    """
    if places != places.to_integral_value() or not 0 <= places <= _MOST_PLACES:
        return fault(f"{text} rounds to {places} places; 0 to {_MOST_PLACES} are possible")
    step = Decimal(1).scaleb(-int(places))
    result = CONTEXT.quantize(number, step)
    # A number that has no room for so many places within the digits of the context has none left.
    return result if result.is_finite() else number
