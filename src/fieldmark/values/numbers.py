"""Numbers in values and text, and their comparison within a tolerance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from math import inf, isfinite
from typing import Final, NamedTuple, TypeAlias

from fieldmark.model.json import JsonValue
from fieldmark.values.currencies import named_currencies
from fieldmark.values.text import GRADE, with_plain_marks

Number: TypeAlias = int | float | Decimal
"""JSON numbers, and `Decimal` for numbers that were parsed from text."""

MAX_LENGTH: Final = 1000
"""The maximum length and power of ten of text that is parsed as a number."""


class NumberFormat(StrEnum):
    """The format of numbers in text: 1,240.00, 1.240,00, 1'240.00, 1,24,000.00, or any of them."""

    US = "us"
    EU = "eu"
    CH = "ch"
    IN = "in"
    AUTO = "auto"


_PLAIN: Final = re.compile(
    r"[+-]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?(?P<power>[0-9]{1,4}))?\Z"
)
"""JSON's number syntax with an optional plus."""


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
    if number_format is not None:
        amount = read_amount(value, number_format)
        return None if amount is None else amount.number
    return _plain_number(value.strip())


def _plain_number(text: str) -> Decimal | None:
    plain = _PLAIN.match(text)
    if plain is None or int(plain["power"] or 0) > MAX_LENGTH:
        return None
    return Decimal(text)


# --- amounts as documents print them --------------------------------------------------------------


class Amount(NamedTuple):
    """A number in text, with the text around it.

    `currencies` are the codes that its currency can stand for; none if it has no currency.
    `ambiguous` means that another format reads another number.
    """

    number: Decimal
    currencies: frozenset[str] = frozenset()
    percent: bool = False
    ambiguous: bool = False


def _digits(groups: str, point: str) -> re.Pattern[str]:
    """Return the pattern of digits with these groups and this decimal separator."""
    blanks = r"[1-9][0-9]{0,2}(?: [0-9]{3})+"
    whole = rf"(?P<whole>{groups}|{blanks}|0|[1-9][0-9]*)"
    return re.compile(rf"{whole}(?:{point}(?P<part>[0-9]+))?\Z")


_THOUSANDS: Final = r"[1-9][0-9]{{0,2}}(?:{0}[0-9]{{3}})+"
_DIGITS: Final[Mapping[NumberFormat, re.Pattern[str]]] = {
    NumberFormat.US: _digits(_THOUSANDS.format(","), r"\."),
    NumberFormat.EU: _digits(_THOUSANDS.format(r"\."), ","),
    NumberFormat.CH: _digits(_THOUSANDS.format("'"), "[.,]"),
    NumberFormat.IN: _digits(r"[1-9][0-9]?(?:,[0-9]{2})*,[0-9]{3}", r"\."),
}
"""A blank separates thousands in every format, because it has no other use in numbers."""
_AUTO: Final = (NumberFormat.US, NumberFormat.EU, NumberFormat.CH, NumberFormat.IN)
_UNIFIED: Final = str.maketrans(
    {
        **dict.fromkeys("\u00a0\u2007\u2009\u202f", " "),
        **dict.fromkeys("\u2019\u02bc\uff07", "'"),
        **dict.fromkeys("\u2212\u2013\ufe63\uff0d", "-"),
        **dict.fromkeys("\u200e\u200f", ""),
    }
)
"""Blanks, apostrophes and minus signs in their typographic forms."""
_AROUND: Final = re.compile(r"([^0-9]*)([0-9](?:[0-9., ']*[0-9])?)([^0-9]*)\Z")
"""The text before the digits, the digits, and the text behind them."""
_UNGROUPED: Final = str.maketrans("", "", "., '")
_NO_CENTS: Final = re.compile(r"[.,](?:--?|\u2014)")
"""A dash in place of the decimals, as in 12.- or 12,--."""


def read_amount(text: str, number_format: NumberFormat = NumberFormat.AUTO) -> Amount | None:
    """Return the number in a text with its currency, or `None`.

    The text around the number must be a sign, parentheses for a negative number, a percent
    sign, or the code, symbol or name of a currency.

    >>> read_amount("RM 1,240.50")
    Amount(number=Decimal('1240.50'), currencies=frozenset({'MYR'}), percent=False, ambiguous=False)
    >>> read_amount("INV-100") is None
    True
    """
    if len(text) > MAX_LENGTH:
        return None
    text = text.strip()
    match = _AROUND.match(text if text.isascii() else text.translate(_UNIFIED))
    amount = None if match is None else _printed_amount(match[1], match[2], match[3], number_format)
    if amount is not None:
        return amount
    plain = _plain_number(text)
    return None if plain is None else Amount(plain)


def _printed_amount(
    before: str, digits: str, after: str, number_format: NumberFormat
) -> Amount | None:
    before, after, signs = before.strip(), after.strip(), ""
    if before.startswith("(") and after.endswith(")"):
        before, after, signs = before[1:], after[:-1], "-"
    whole = _NO_CENTS.match(after) if after else None
    after = after if whole is None else after[whole.end() :]
    around = before + after
    if "-" in around or "+" in around:
        signs += "".join(char for char in around if char in "+-")
        if len(signs) > 1:
            return None
        before, after = before.strip("+- "), after.strip("+- ")
    percent = "%" in (before, after) and not (before and after)
    currencies = frozenset[str]() if percent else _currencies(before.strip(), after.strip())
    if currencies is None:
        return None
    formats = _AUTO if number_format is NumberFormat.AUTO else (number_format,)
    readings = (_DIGITS[name].match(digits) for name in formats)
    numbers: list[Decimal] = []
    for match in readings:
        if match is None or (whole is not None and match["part"]):
            continue
        integer, part = match["whole"].translate(_UNGROUPED), match["part"]
        numbers.append(Decimal(f"{integer}.{part}" if part else integer))
    if not numbers:
        return None
    number = -numbers[0] if signs == "-" else numbers[0]
    return Amount(number, currencies, percent, len(set(numbers)) > 1)


@lru_cache(maxsize=512)
def _currencies(before: str, after: str) -> frozenset[str] | None:
    """Return the codes that the words around a number stand for; `None` if they are no currency."""
    if not (before or after):
        return frozenset()
    meant = [named_currencies(word) for word in (before, after) if word]
    return frozenset.intersection(*meant) or None


# --- numbers inside text --------------------------------------------------------------------------

_GROUPED: Final = re.compile(r"(?<![0-9.,'])[1-9][0-9]{0,2}(?:[,'][0-9]{3})+(?![0-9])")
_THREE_PARTS: Final = re.compile(r"(?<![0-9])[0-9]+(?:([./-])[0-9]+)(?:\1[0-9]+)+")
"""A date, a version or the like, whose separators may differ."""
_ONE_NUMBER: Final = r"[0-9]+(?:[.,][0-9]+(?![.,]?[0-9]))?"
_NUMBER: Final = re.compile(
    rf"(?P<minus>(?<![\w)\]])-[^\w\s-]?)?"
    rf"(?P<digits>(?:(?<![\w.])\.)?{_ONE_NUMBER}(?:(?:\s*-\s*|[:/]){_ONE_NUMBER})*)"
    rf"(?P<behind>-\Z)?"
    rf"(?:\s?\((?P<part>[^\W\d_]|[ivxlc]+)\)|\s?(?P<letter>[^\W\d_])(?![\w']|\s*[0-9]|\.\w))?"
    rf"|{GRADE}"
)
_ZEROS: Final = re.compile(r"(?<![0-9.])0+(?=[0-9])")
_SPACED: Final = re.compile(r"\s*-\s*")


def numbers_in(text: str) -> list[str]:
    """Return all numbers inside a text, with what makes them different numbers.

    That is their sign, their decimals, the numbers joined to them, and the letter behind them. A
    grade such as A+ counts as a number. Leading zeros do not count, thousands that are grouped by
    commas or apostrophes are one number, and the parts of a date are several.

    >>> numbers_in("Unit 05, 12 Main Street, 1,240 units at -1,5 to 10 - 20")
    ['5', '12', '1240', '-1.5', '10-20']
    >>> numbers_in("Paragraph 5(a) of 31.01.2024, grade A-")
    ['5a', '31', '1', '2024', 'a-']
    """
    text = with_plain_marks(text).strip().lower()
    text = _GROUPED.sub(lambda match: re.sub("[^0-9]", "", match[0]), text)
    text = _THREE_PARTS.sub(lambda match: re.sub("[^0-9]", " ", match[0]), text)
    return [_canonical(match) for match in _NUMBER.finditer(text)]


def _canonical(match: re.Match[str]) -> str:
    if match["digits"] is None:
        return match[0]
    digits = _ZEROS.sub("", _SPACED.sub("-", match["digits"].replace(",", ".")))
    digits = f"0{digits}" if digits.startswith(".") else digits
    sign = "-" if match["minus"] or match["behind"] else ""
    return f"{sign}{digits}{match['part'] or match['letter'] or ''}"


# --- tolerance ------------------------------------------------------------------------------------

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
    _nearby: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_absolute", _as_float(self.absolute))
        object.__setattr__(self, "_relative", _as_float(self.relative))
        object.__setattr__(self, "_nearby", max(self._absolute, _TINY) * _MARGIN)

    @property
    def as_floats(self) -> tuple[float, float, float]:
        """The absolute limit, relative limit and limit for zero; negative if there is a period."""
        if self.period is not None:
            return -1.0, -1.0, -1.0
        return self._absolute, self._relative, self._at_zero

    @property
    def _at_zero(self) -> float:
        return self._relative if self.absolute is None else self._absolute

    def admits(self, expected: Number, candidate: Number) -> bool:
        """Return whether the candidate is within the tolerance.

        >>> Tolerance(absolute=Fraction("0.1")).admits(1.0, 1.1)
        True
        """
        if self.period is not None:
            return self._admits_exactly(expected, candidate)
        try:
            expected_float, candidate_float = float(expected), float(candidate)
        except OverflowError:
            return self._admits_exactly(expected, candidate)
        size = abs(expected_float)
        gap = abs(expected_float - candidate_float)
        limit = max(self._absolute, self._relative * size) if size else self._at_zero
        slack = (size + abs(candidate_float) + limit) * _SLACK + _TINY
        # Written so that infinity and NaN are left to exact arithmetic.
        if gap + slack < limit:
            return True
        if gap > limit + slack:
            return False
        return self._admits_exactly(expected, candidate)

    def groups(self, numbers: Iterable[float]) -> Mapping[float, float] | None:
        """Return replacements that make numbers equal which are within the tolerance.

        Return `None` if that is not possible, because a number is within the tolerance of two
        others that are not within the tolerance of each other.

        >>> Tolerance(absolute=Fraction("0.1")).groups([1.0, 3.0, 1.1])
        {1.1: 1.0}
        """
        if self.period is not None:
            return None
        ordered = sorted(numbers)
        limit = self._nearby
        if self._relative:
            # An expected zero has the limit of 1.
            largest = max((1.0, *map(abs, ordered[:1] + ordered[-1:])))
            limit = max(limit, self._relative * largest * _MARGIN)
        smaller = reach = -inf
        for number in ordered:
            if number <= reach and number != smaller:
                break
            smaller, reach = number, number + limit
        else:
            return {}
        groups: dict[float, float] = {}
        group: list[float] = []
        for number in dict.fromkeys(ordered):
            near = [self.admits(member, number) or self.admits(number, member) for member in group]
            both = [self.admits(member, number) and self.admits(number, member) for member in group]
            if any(near) and not all(both):
                return None
            group = [*group, number] if group and all(both) else [number]
            if len(group) > 1:
                groups[number] = group[0]
        return groups

    def _admits_exactly(self, expected: Number, candidate: Number) -> bool:
        expected_fraction = exact_fraction(expected)
        gap = abs(expected_fraction - exact_fraction(candidate))
        if self.period is not None:
            gap %= self.period
            gap = min(gap, self.period - gap)
        if self.absolute is not None and gap <= self.absolute:
            return True
        if self.relative is None or (not expected_fraction and self.absolute is not None):
            return False
        return gap <= self.relative * (abs(expected_fraction) or 1)


def exact_fraction(number: Number) -> Fraction:
    """Return the number as a fraction; a float is its shortest decimal text."""
    return Fraction(Decimal(repr(number)) if isinstance(number, float) else number)


def _as_float(limit: Fraction | None) -> float:
    """Return the nearest float; infinity leaves the decision to exact arithmetic."""
    if limit is None:
        return 0.0
    try:
        return float(limit)
    except OverflowError:
        return float("inf")
