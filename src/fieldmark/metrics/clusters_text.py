"""Two values side by side, in the forms in which like mistakes show."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Final

from fieldmark.model.json import JsonValue
from fieldmark.values.dates import parse_formats, read_day
from fieldmark.values.numbers import NumberFormat, as_number

__all__ = ["Contrast", "Looks"]

_LONGEST: Final = 2_000
"""Characters of a value that are looked at: a pattern shows early or not at all."""

_DAY_FIRST: Final = parse_formats(["DD/MM/YYYY", "DD-MM-YYYY", "DD.MM.YYYY"])
_BLANKS: Final = re.compile(r"\s+")
_NOT_WORDS: Final = re.compile(r"[\W_]+")
_MONEY: Final = re.compile(
    r"[$€£¥₹₩₽₺₫₴₦₱฿₪]|\b(?:USD|EUR|GBP|JPY|CHF|CAD|AUD|INR|CNY|SEK|NOK|DKK|PLN)\b", re.IGNORECASE
)
_AMOUNT: Final = re.compile(r"[-+\u2212(]?\s*\d[\d.,'\u00a0\u202f ]*\d|[-+\u2212]?\d")
_UNIT: Final = re.compile(r"^\s*[-+]?\d[\d.,]*\s*([^\W\d_][\w/.²³%°-]*|%|°\w?)\s*$")


@dataclass(frozen=True)
class Looks:
    """One value as text, and what it may mean."""

    value: JsonValue

    @cached_property
    def text(self) -> str:
        """The value as a person would write it."""
        if isinstance(self.value, str):
            return self.value[:_LONGEST]
        if isinstance(self.value, bool):
            return str(self.value).lower()
        return str(self.value)[:_LONGEST] if isinstance(self.value, int | float) else ""

    @cached_property
    def bare(self) -> str:
        """Without case and blanks."""
        return _BLANKS.sub("", self.text).casefold()

    @cached_property
    def letters(self) -> str:
        """Letters and digits alone, without case."""
        return _NOT_WORDS.sub("", self.text).casefold()

    @cached_property
    def plain(self) -> str:
        """Letters without their marks: e for é."""
        apart = unicodedata.normalize("NFKD", self.bare)
        return "".join(char for char in apart if not unicodedata.combining(char))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words in order of the alphabet."""
        return tuple(sorted(word for word in _NOT_WORDS.split(self.text.casefold()) if word))

    @cached_property
    def digits(self) -> str:
        """The digits alone."""
        return "".join(char for char in self.text if char.isdigit())

    @cached_property
    def number(self) -> Decimal | None:
        """The number that it is or spells, in any way of writing."""
        if isinstance(self.value, bool):
            return None
        found = as_number(self.value, NumberFormat.AUTO)
        return None if found is None else Decimal(str(found))

    @cached_property
    def amount(self) -> Decimal | None:
        """The number inside a text with something around it."""
        if self.number is not None:
            return self.number
        found = _AMOUNT.search(self.text)
        inside = as_number(found[0].strip(), NumberFormat.AUTO) if found else None
        return None if inside is None else Decimal(str(inside))

    @cached_property
    def money(self) -> str:
        """The sign of a currency, if there is one."""
        found = _MONEY.search(self.text)
        return found[0].upper() if found else ""

    @cached_property
    def unit(self) -> str:
        """What follows a number, if that is all there is."""
        found = _UNIT.match(self.text)
        return found[1].casefold() if found and not self.money else ""

    @cached_property
    def first_day(self) -> date | None:
        """The day that it means if the month comes first."""
        reading = read_day(self.text) if isinstance(self.value, str) else None
        return None if reading is None else reading.day

    @cached_property
    def days(self) -> frozenset[date]:
        """Every day that it may mean."""
        if not isinstance(self.value, str):
            return frozenset()
        reading = read_day(self.text, _DAY_FIRST)
        found = (self.first_day, None if reading is None else reading.day)
        return frozenset(day for day in found if day is not None)


@dataclass(frozen=True)
class Contrast:
    """What was expected and what was found instead."""

    expected: Looks
    candidate: Looks

    @classmethod
    def of(cls, expected: JsonValue, candidate: JsonValue) -> Contrast:
        """Two values to be looked at."""
        return cls(Looks(expected), Looks(candidate))

    @property
    def texts(self) -> tuple[str, str]:
        """Both as text."""
        return self.expected.text, self.candidate.text

    @property
    def amounts(self) -> tuple[Decimal, Decimal] | None:
        """The numbers inside both, if there are."""
        expected, candidate = self.expected.amount, self.candidate.amount
        return None if expected is None or candidate is None else (expected, candidate)
