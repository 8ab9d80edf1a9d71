"""Numbers in values and text, and their comparison within a tolerance."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from math import isfinite
from operator import sub
from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.model.json import JsonValue

if TYPE_CHECKING:
    from fieldmark.values.arrays import Flags

__all__ = ["Number", "NumberFormat", "Tolerance", "as_number", "exact_fraction", "is_finite"]

Number: TypeAlias = int | float | Decimal
"""JSON numbers, and `Decimal` for numbers that were parsed from text."""

MAX_LENGTH: Final = 1000
"""The maximum length and power of ten of text that is parsed as a number."""


class NumberFormat(StrEnum):
    """The format of numbers in text: 1,240.00, 1.240,00, or either."""

    US = "us"
    EU = "eu"
    AUTO = "auto"


_PLAIN: Final = re.compile(
    r"[+-]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?(?P<power>[0-9]{1,4}))?\Z"
)
"""JSON's number syntax with an optional plus."""

_MONEY: Final = r"(?:[$€£¥₹₩₽₺₫₴₦₱฿₪₡₲₵₸₼₾]|[A-Z]{2}\$|[A-Z]{3})"
_BLANK: Final = r"[ \u00a0\u202f]?"


def _written(group: str, point: str) -> re.Pattern[str]:
    """Return the pattern of an amount with these thousands and decimal separators."""
    whole = rf"(?P<whole>[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+|0|[1-9][0-9]*)"
    amount = rf"{whole}(?:{point}(?P<part>[0-9]+))?"
    return re.compile(
        rf"(?P<open>\()?{_BLANK}(?P<sign>[+\-\u2212]?){_BLANK}(?:{_MONEY}{_BLANK})?"
        rf"(?P<inner>[+\-\u2212]?){amount}{_BLANK}{_MONEY}?{_BLANK}(?(open)\))\Z"
    )


_US: Final = _written(",", r"\.")
_EU: Final = _written(r"[. \u00a0\u202f]", ",")
_READINGS: Final[Mapping[NumberFormat, tuple[re.Pattern[str], ...]]] = {
    NumberFormat.US: (_US,),
    NumberFormat.EU: (_EU,),
    NumberFormat.AUTO: (_US, _EU),
}


def as_number(value: JsonValue, number_format: NumberFormat | None = None) -> Number | None:
    """Return the finite number that a value is or contains as text, or `None`.

    Plain numeric text is always parsed; 1,240.00 or $5 only with a format. A number that was parsed
    from text is an exact `Decimal`.

    >>> as_number(" +12.50 "), as_number("1.240,00", NumberFormat.EU), as_number(True)
    (Decimal('12.50'), Decimal('1240.00'), None)
    """
    kind = type(value)
    if kind is int:
        return value  # type: ignore[return-value]
    if kind is float:
        return value if isfinite(value) else None  # type: ignore[arg-type,return-value]
    if not isinstance(value, str) or len(value) > MAX_LENGTH:
        return None
    text = value.strip()
    formats = () if number_format is None else _READINGS[number_format]
    for pattern in formats:
        found = pattern.match(text)
        if found is not None and (number := _amount(found)) is not None:
            return number
    plain = _PLAIN.match(text)
    if plain is None or int(plain["power"] or 0) > MAX_LENGTH:
        return None
    return Decimal(text)


def _amount(found: re.Match[str]) -> Decimal | None:
    """Return the number of an amount in text, or `None` if it has two signs."""
    signs = found["sign"] + found["inner"] + ("-" if found["open"] else "")
    if len(signs) > 1:
        return None
    digits = re.sub(r"[^0-9]", "", found["whole"])
    number = Decimal(f"{digits}.{found['part'] or '0'}")
    return -number if signs in {"-", "\u2212"} else number


_SLACK: Final = 2.0**-48
"""Much larger than the relative rounding errors of the operations below."""
_TINY: Final = 1e-300
_MARGIN: Final = 1 + 2.0**-20
"""So that rounding never hides two numbers that are within a tolerance of each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """The limits for the distance from the expected number; one of them suffices, both inclusive.

    `relative` is a fraction of the expected number. If the expected number is zero, the relative
    limit is used as absolute unless there is an absolute limit. With a `period`, distance is
    measured around a circle. Exact fractions are used if floats are too close to the limit.
    """

    absolute: Fraction | None = None
    relative: Fraction | None = None
    period: Fraction | None = None
    _absolute: float = field(init=False, repr=False, compare=False)
    _relative: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_absolute", _as_float(self.absolute))
        object.__setattr__(self, "_relative", _as_float(self.relative))

    def admits(self, expected: Number, candidate: Number) -> bool:
        """Return whether the candidate is within the tolerance.

        >>> Tolerance(absolute=Fraction("0.1")).admits(1.0, 1.1)
        True
        """
        if self.period is not None:
            return self._admits_exactly(expected, candidate)
        try:
            want, got = float(expected), float(candidate)
        except OverflowError:
            return self._admits_exactly(expected, candidate)
        size = abs(want)
        gap = abs(want - got)
        if size:
            limit = max(self._absolute, self._relative * size)
        else:
            limit = self._relative if self.absolute is None else self._absolute
        slack = (size + abs(got) + limit) * _SLACK + _TINY
        # Written so that infinity and NaN are left to exact arithmetic.
        if gap + slack < limit:
            return True
        if gap > limit + slack:
            return False
        return self._admits_exactly(expected, candidate)

    def separates(self, numbers: Sequence[float]) -> bool:
        """Return whether no two different numbers are within the tolerance of each other.

        The numbers must be finite. False may also mean that they are too close to tell.

        >>> Tolerance(absolute=Fraction("0.1")).separates([1.0, 3.0, 2.0, 1.0])
        True
        """
        if self.period is not None:
            return False
        ordered = sorted(set(numbers))
        if len(ordered) < 2:  # noqa: PLR2004 - no two numbers
            return True
        gap = min(map(sub, ordered[1:], ordered))
        largest = max(-ordered[0], ordered[-1], 1.0)  # an expected zero has the limit of 1
        return bool(gap > max(self._absolute, self._relative * largest, _TINY) * _MARGIN)

    def admitted(self, expected: Sequence[Number], candidate: Sequence[Number]) -> Flags:
        """Return which candidates are within the tolerance of which expected numbers."""
        import numpy as np

        possible: Flags = np.ones((len(expected), len(candidate)), dtype=np.bool_)
        if self.period is None:
            want, got = (np.array([_near_float(n) for n in side]) for side in (expected, candidate))
            size = np.abs(want)
            at_zero = self._relative if self.absolute is None else self._absolute
            with np.errstate(invalid="ignore", over="ignore"):
                limit = np.where(
                    size > 0, np.maximum(self._absolute, self._relative * size), at_zero
                )
                slack = (size[:, None] + np.abs(got) + limit[:, None]) * _SLACK + _TINY
                possible = ~(np.abs(want[:, None] - got) > limit[:, None] + slack)
        for place, other in zip(*(found.tolist() for found in np.nonzero(possible)), strict=True):
            one, two = expected[place], candidate[other]
            possible[place, other] = one == two or self.admits(one, two)
        return possible

    def _admits_exactly(self, expected: Number, candidate: Number) -> bool:
        want = exact_fraction(expected)
        gap = abs(want - exact_fraction(candidate))
        if self.period is not None:
            gap %= self.period
            gap = min(gap, self.period - gap)
        if self.absolute is not None and gap <= self.absolute:
            return True
        if self.relative is None or (not want and self.absolute is not None):
            return False
        return gap <= self.relative * (abs(want) or 1)


def is_finite(number: float) -> bool:
    """Whether a number is finite as a float; an integer can be too large.

    >>> is_finite(10**308), is_finite(10**309)
    (True, False)
    """
    try:
        return isfinite(number)
    except OverflowError:
        return False


def exact_fraction(number: Number) -> Fraction:
    """Return the number as a fraction; a float is its shortest decimal text."""
    return Fraction(Decimal(repr(number)) if isinstance(number, float) else number)


def _near_float(number: Number) -> float:
    """Return the nearest float, or infinity, which leaves the decision to exact arithmetic."""
    try:
        return float(number)
    except OverflowError:
        return float("inf")


def _as_float(limit: Fraction | None) -> float:
    """Return the nearest float; infinity leaves the decision to exact arithmetic."""
    if limit is None:
        return 0.0
    try:
        return float(limit)
    except OverflowError:
        return float("inf")
