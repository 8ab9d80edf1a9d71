"""Numbers inside of a text, by their value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final, NamedTuple

__all__ = ["Figure", "numbers_in", "spelled_in"]


class Figure(NamedTuple):
    """A number as it is written, and the values that it can mean."""

    text: str
    values: frozenset[Decimal]


_LONGEST: Final = 100
"""Longer rows of digits are compared as they are written."""
_THOUSAND: Final = 3
"""Digits between two marks of thousands."""
_NUMBER: Final = re.compile(
    r"(?:(?<![\w.,)])[-\u2212](?=[0-9]))?(?<![0-9])"
    r"(?P<digits>[0-9]+(?:[.,'\u00a0\u202f\u2019][0-9]+)*)"
    r"(?:[ ]?(?P<unit>thousand|million|billion|bn|mn|[kKmMbB])\b)?",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[a-z]+")
_SURE: Final[Mapping[str, int]] = {"thousand": 3, "million": 6, "mn": 6, "billion": 9, "bn": 9}
"""Powers of ten that a word stands for."""
_PERHAPS: Final[Mapping[str, int]] = {"k": 3, "m": 6, "b": 9}
"""The same for letters, which may as well be units."""
_SPELLED: Final[Mapping[str, Decimal]] = {
    word: Decimal(number)
    for number, word in (
        *enumerate(
            [
                "zero",
                "one",
                "two",
                "three",
                "four",
                "five",
                "six",
                "seven",
                "eight",
                "nine",
                "ten",
                "eleven",
                "twelve",
                "thirteen",
                "fourteen",
                "fifteen",
                "sixteen",
                "seventeen",
                "eighteen",
                "nineteen",
                "twenty",
            ]
        ),
        *zip(
            range(30, 101, 10),
            ["thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred"],
            strict=True,
        ),
    )
}


def numbers_in(text: str) -> list[Figure]:
    """Every number that a text writes with digits, in its order.

    >>> [sorted(map(str, number.values)) for number in numbers_in("1,200 of 1.2 million")]
    [['1200'], ['1.2E+6']]
    """
    return [
        Figure(match.group().strip(), frozenset(_values(match))) for match in _NUMBER.finditer(text)
    ]


def spelled_in(text: str) -> list[Figure]:
    """Every number that a text spells with a word."""
    words = _WORD.findall(text.lower())
    return [Figure(word, frozenset({_SPELLED[word]})) for word in words if word in _SPELLED]


def _values(match: re.Match[str]) -> set[Decimal]:
    digits, unit = match["digits"], (match["unit"] or "").lower()
    negative = match.group()[0] in "-\u2212"
    if len(digits) > _LONGEST:
        digits = digits[:_LONGEST]
    plain = {Decimal(text) for text in _readings(digits)}
    if negative:
        plain = {-value for value in plain}
    if unit in _SURE:
        return {value.scaleb(_SURE[unit]) for value in plain}
    if unit in _PERHAPS:
        return plain | {value.scaleb(_PERHAPS[unit]) for value in plain}
    return plain


def _readings(digits: str) -> set[str]:
    """The plain decimal texts that digits with marks between them can stand for."""
    marks = re.sub(r"[0-9]", "", digits)
    bare = re.sub(r"[^0-9]", "", digits)
    if not marks:
        return {bare}
    last = marks[-1]
    whole, _, part = digits.rpartition(last)
    decimal = re.sub(r"[^0-9]", "", whole) + "." + part
    if len(set(marks)) > 1:
        return {decimal}
    if len(marks) > 1 or last not in ".,":
        return {bare}
    if len(part) != _THOUSAND or whole.startswith("0") or len(whole) > _THOUSAND:
        return {decimal}
    return {bare} if last == "," else {bare, decimal}
