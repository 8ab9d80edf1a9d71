"""Patterns of wrong values: the first row of a table that fits names the pattern."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Final

from rapidfuzz.distance import Levenshtein

from fieldmark.model.json import JsonValue
from fieldmark.values.dates import parse_formats, read_day
from fieldmark.values.numbers import NumberFormat, as_number

__all__ = ["BY_NAME", "Pattern", "pattern_of"]

_LONGEST: Final = 2_000
"""Characters of a value that are examined at most."""

_DAY_FIRST: Final = parse_formats(["DD/MM/YYYY", "DD-MM-YYYY", "DD.MM.YYYY"])
_BLANKS: Final = re.compile(r"\s+")
_NOT_WORDS: Final = re.compile(r"[\W_]+")
_MONEY: Final = re.compile(
    r"[$€£¥₹₩₽₺₫₴₦₱฿₪]|\b(?:USD|EUR|GBP|JPY|CHF|CAD|AUD|INR|CNY|SEK|NOK|DKK|PLN)\b", re.IGNORECASE
)
_AMOUNT: Final = re.compile(r"[-+\u2212(]?\s*\d[\d.,'\u00a0\u202f ]*\d|[-+\u2212]?\d")
_UNIT: Final = re.compile(r"^\s*[-+]?\d[\d.,]*\s*([^\W\d_][\w/.²³%°-]*|%|°\w?)\s*$")


@dataclass(frozen=True)
class _TextForms:
    """One value as text, in the normalized forms that patterns compare."""

    value: JsonValue

    @cached_property
    def text(self) -> str:
        """The value as a person would write it."""
        if isinstance(self.value, str):
            return self.value[:_LONGEST]
        if isinstance(self.value, bool):
            return str(self.value).lower()
        return str(self.value)[:_LONGEST] if isinstance(self.value, int | float) else ""

    @property
    def is_container(self) -> bool:
        """Whether the value is an object or a list."""
        return isinstance(self.value, dict | list)

    @cached_property
    def stripped(self) -> str:
        """The text without case and surrounding white space."""
        return self.text.strip().casefold()

    @cached_property
    def bare(self) -> str:
        """The text without case and white space."""
        return _BLANKS.sub("", self.text).casefold()

    @cached_property
    def letters(self) -> str:
        """Letters and digits alone, without case."""
        return _NOT_WORDS.sub("", self.text).casefold()

    @cached_property
    def plain(self) -> str:
        """The text without diacritics: e for é."""
        apart = unicodedata.normalize("NFKD", self.bare)
        return "".join(char for char in apart if not unicodedata.combining(char))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words, sorted."""
        return tuple(sorted(word for word in _NOT_WORDS.split(self.text.casefold()) if word))

    @cached_property
    def digits(self) -> str:
        """The digits alone."""
        return "".join(char for char in self.text if char.isdigit())

    @cached_property
    def number(self) -> Decimal | None:
        """The value as a number, in any number format."""
        if isinstance(self.value, bool):
            return None
        found = as_number(self.value, NumberFormat.AUTO)
        return None if found is None else Decimal(str(found))

    @cached_property
    def amount(self) -> Decimal | None:
        """The first number in the text."""
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
        """The unit after a number, if the text is just that."""
        found = _UNIT.match(self.text)
        return found[1].casefold() if found and not self.money else ""

    @cached_property
    def first_day(self) -> date | None:
        """The date, read month first where it is ambiguous."""
        reading = read_day(self.text) if isinstance(self.value, str) else None
        return None if reading is None else reading.day

    @cached_property
    def days(self) -> frozenset[date]:
        """Every date that the text may mean."""
        if not isinstance(self.value, str):
            return frozenset()
        reading = read_day(self.text, _DAY_FIRST)
        found = (self.first_day, None if reading is None else reading.day)
        return frozenset(day for day in found if day is not None)


_MARKS: Final = (",", ".", "'", "\u00a0", "\u202f", " ")
_GROUPS: Final = frozenset(Decimal(1000) ** power for power in range(4))
_POWERS: Final = frozenset(Decimal(10) ** power for power in range(1, 13))
_MAX_DECIMALS: Final = 30
_NO_YEAR: Final = re.compile(r"([0-9]{1,2})[/.\- ]([0-9]{1,2})\.?\Z")
_PLACEHOLDERS: Final = frozenset(
    {"-", "--", "n/a", "na", "nan", "nil", "none", "null", "tbd", "undefined", "unknown"}
)
_TRUTHS: Final = {
    "true": True, "yes": True, "y": True, "1": True, "on": True,
    "false": False, "no": False, "n": False, "0": False, "off": False,
}  # fmt: skip
_SHORTEST: Final = 4
"""The shortest text that counts as truncated, misspelt or part of another."""
_SIMILAR: Final = 0.75
_LOOK_ALIKE: Final = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "5": "s", "8": "b"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A kind of mistake, and a hint for fixing the extraction."""

    name: str
    title: str
    hint: str


def _is_date_swapped(expected: _TextForms, candidate: _TextForms) -> bool:
    if expected.text[:4].isdigit() and candidate.text[:4].isdigit():  # the year comes first
        return expected.days != candidate.days and any(
            (day.year, day.day, day.month) == (other.year, other.month, other.day)
            for day in expected.days
            for other in candidate.days
        )
    # Otherwise the dates are equal only if one is read day first and the other month first.
    first, other = expected.first_day, candidate.first_day
    return bool(expected.days & candidate.days) and None not in {first, other} and first != other


def _is_date_without_year(expected: _TextForms, candidate: _TextForms) -> bool:
    found = _NO_YEAR.match(candidate.text.strip())
    if found is None:
        return False
    parts = {int(found[1]), int(found[2])}
    return any({day.month, day.day} == parts for day in expected.days)


def _is_date_part(expected: _TextForms, candidate: _TextForms) -> bool:
    return any(
        sum((a.year != b.year, a.month != b.month, a.day != b.day)) == 1
        for a in expected.days
        for b in candidate.days
    )


def _amounts(expected: _TextForms, candidate: _TextForms) -> tuple[Decimal, Decimal] | None:
    """Both numbers, if both values are a number with at most a unit or a currency sign."""
    sides = expected, candidate
    if not all(side.number is not None or side.money or side.unit for side in sides):
        return None
    if expected.amount is None or candidate.amount is None:
        return None
    return expected.amount, candidate.amount


def _is_same_amount(expected: _TextForms, candidate: _TextForms) -> bool:
    amounts = _amounts(expected, candidate)
    return amounts is not None and amounts[0] == amounts[1]


def _ratio(amounts: tuple[Decimal, Decimal]) -> Decimal:
    """The larger amount divided by the smaller; 0 if one of them is 0."""
    smaller, larger = sorted(map(abs, amounts))
    return larger / smaller if smaller else Decimal(0)


def _is_sign(expected: _TextForms, candidate: _TextForms) -> bool:
    amounts = _amounts(expected, candidate)
    return amounts is not None and amounts[0] == -amounts[1] != 0


def _is_separator_misread(expected: _TextForms, candidate: _TextForms) -> bool:
    amounts = _amounts(expected, candidate)
    marked = any(mark in side.text for side in (expected, candidate) for mark in _MARKS)
    if amounts is None or not marked or not expected.digits:
        return False
    if amounts[0] == amounts[1]:
        return True
    same_digits = expected.digits.rstrip("0") == candidate.digits.rstrip("0")
    return same_digits and _ratio(amounts) in _GROUPS


def _is_scale(expected: _TextForms, candidate: _TextForms) -> bool:
    amounts = _amounts(expected, candidate)
    return amounts is not None and _ratio(amounts) in _POWERS


def _is_rounded(expected: _TextForms, candidate: _TextForms) -> bool:
    if expected.number is None or candidate.number is None:
        return False
    decimals = -int(candidate.number.normalize().as_tuple().exponent)
    if not 0 <= decimals < _MAX_DECIMALS:
        return False
    return abs(expected.number - candidate.number) < Decimal(10) ** -decimals


def _is_leading_zeros(expected: _TextForms, candidate: _TextForms) -> bool:
    one, other = expected.text.strip(), candidate.text.strip()
    return one != other and one.lstrip("0") == other.lstrip("0") != ""


def _is_one_digit(expected: _TextForms, candidate: _TextForms) -> bool:
    if expected.number is None or candidate.number is None or len(expected.digits) <= 1:
        return False
    return Levenshtein.distance(expected.digits, candidate.digits) == 1


def _is_truth_word(expected: _TextForms, candidate: _TextForms) -> bool:
    if not (isinstance(expected.value, bool) or isinstance(candidate.value, bool)):
        return False
    truth = _TRUTHS.get(expected.bare)
    return truth is not None and truth == _TRUTHS.get(candidate.bare)


def _is_type(expected: _TextForms, candidate: _TextForms) -> bool:
    if isinstance(expected.value, str) == isinstance(candidate.value, str):
        return False
    return bool(expected.text) and expected.text.strip() == candidate.text.strip()


def _is_part(part: str, whole: str) -> bool:
    return _SHORTEST <= len(part) < len(whole) and part in whole


def _is_truncated(expected: _TextForms, candidate: _TextForms) -> bool:
    start = candidate.stripped.rstrip(". …")
    return _SHORTEST <= len(start) < len(expected.stripped) and expected.stripped.startswith(start)


def _is_look_alike(expected: _TextForms, candidate: _TextForms) -> bool:
    if expected.number is not None and candidate.number is not None:
        return False
    read = expected.bare.translate(_LOOK_ALIKE)
    return bool(read) and read == candidate.bare.translate(_LOOK_ALIKE)


def _is_misspelt(expected: _TextForms, candidate: _TextForms) -> bool:
    if expected.number is not None or min(len(expected.bare), len(candidate.bare)) < _SHORTEST:
        return False
    return Levenshtein.normalized_similarity(expected.bare, candidate.bare) >= _SIMILAR


_Fits = Callable[[_TextForms, _TextForms], bool]
_TABLE: Final[tuple[tuple[_Fits, str, str, str], ...]] = (
    (lambda expected, candidate: candidate.value == [expected.value]
     or expected.value == [candidate.value],
     "wrapped", "one value in a list, or a list of one without it",
     "Ask for the plain value where one is wanted and for a list where several may stand."),
    (lambda expected, candidate: expected.is_container != candidate.is_container,
     "other_structure", "an object or list where a value belongs, or the reverse",
     "Give the exact shape of this field in the schema or prompt, with an example."),
    (lambda _, candidate: isinstance(candidate.value, str) and candidate.bare in _PLACEHOLDERS,
     "placeholder", "a word for nothing (N/A, none, unknown) in place of a value",
     "The document has a value here. Ask for null if nothing is found, and point to the value."),
    (_is_truth_word, "truth_as_word", "yes or no as text in place of true or false",
     "Ask for a JSON boolean, or turn these words into one after extraction."),
    (_is_type, "number_as_text", "the right characters as the wrong kind: text for a number",
     "Ask for a JSON number (or for text), or convert after extraction."),
    (lambda expected, candidate: expected.bare == candidate.bare != "",
     "case_or_blanks", "the same but for case or blanks",
     "Ask for the text exactly as printed, or trim and re-case after extraction."),
    (_is_date_swapped, "date_swapped", "day and month exchanged",
     "State the document's date order in the prompt, and ask for ISO dates (YYYY-MM-DD)."),
    (lambda expected, candidate: bool(expected.days & candidate.days),
     "date_format", "the same day written otherwise",
     "Ask for ISO dates (YYYY-MM-DD), or convert after extraction."),
    (_is_date_without_year, "date_without_year", "day and month without the year",
     "Ask for whole dates (YYYY-MM-DD), and say where the year stands if not beside the day."),
    (_is_date_part, "date_part", "one of day, month and year is wrong",
     "Check the reading of the page here; with two dates nearby, say which one is meant."),
    (lambda expected, candidate: _is_same_amount(expected, candidate)
     and expected.money != candidate.money,
     "currency_sign", "the amount is right, its currency sign is not",
     "Ask for the currency in a field of its own and for amounts without a sign."),
    (lambda expected, candidate: _is_same_amount(expected, candidate)
     and expected.unit != candidate.unit,
     "unit", "the number is right, its unit is not",
     "Ask for the unit in a field of its own and for the number alone."),
    (_is_sign, "sign", "plus for minus",
     "Say how credits and negative amounts are printed (brackets, trailing minus, CR)."),
    (_is_separator_misread, "thousands_separator", "marks for thousands or decimals misread",
     "Name the document's number format, and ask for plain numbers such as 1240.50."),
    (_is_scale, "scale", "off by a power of ten",
     "Say whether cents, thousands or percentages are meant; look for a lost decimal point."),
    (_is_leading_zeros, "leading_zeros", "zeros in front are missing or added",
     "Ask for identifiers as text, with every digit as printed."),
    (_is_rounded, "rounded", "rounded or cut to fewer places",
     "Ask for every decimal as printed."),
    (lambda expected, candidate: expected.plain == candidate.plain != "",
     "accents", "accents are lost or added, or characters are of another width",
     "Keep Unicode through the reading of the page; ask for names exactly as printed."),
    (lambda expected, candidate: expected.letters == candidate.letters != "",
     "punctuation", "the same but for punctuation",
     "Ask for the text exactly as printed, or strip punctuation after extraction."),
    (lambda expected, candidate: expected.words == candidate.words and len(expected.words) > 1,
     "word_order", "the same words in another order",
     "Say in which order parts are wanted, for example given name first."),
    (_is_truncated, "truncated", "the end is cut off",
     "Ask for the whole text over all lines; check limits on length and on output tokens."),
    (lambda expected, candidate: _is_part(candidate.stripped, expected.stripped),
     "part_of_text", "only a part of the text",
     "Say where the value begins and ends; values over several lines belong together."),
    (lambda expected, candidate: _is_part(expected.stripped, candidate.stripped),
     "too_much_text", "the value with text around it",
     "Ask for the value alone, without labels, titles or neighbouring text."),
    (_is_look_alike, "look_alikes", "characters that look alike: 0 and O, 1 and l, 5 and S",
     "Raise the resolution of the page, or correct such characters by the field's format."),
    (_is_one_digit, "one_digit", "a single digit is wrong",
     "Raise the resolution of the page; check digits and totals can find these."),
    (_is_misspelt, "misspelt", "nearly the same: a few characters differ",
     "Raise the resolution of the page, or look values up in a list of known ones."),
)  # fmt: skip

_OTHERS: Final = (
    ("shifted_rows", "values of the row above or below",
     "Rows are out of step: ask for one item a printed row, and for empty cells as null."),
    ("other_field", "the value of another field",
     "Tell these two fields apart in the prompt: their labels, where they stand, an example."),
    ("no_candidate", "no answer for the document",
     "Find out why nothing was produced: a refusal, a time limit, a skipped page."),
    ("unreadable", "an answer that is not JSON",
     "Ask for JSON alone, use a structured-output mode, and check limits on output tokens."),
    ("item_missing", "an item of a list is missing",
     "Ask for every row of every page; long tables may need to be extracted in parts."),
    ("item_invented", "an item of a list that is not in the document",
     "Ask for printed rows only: no totals, headings or repeated lines."),
    ("null_given", "null although the document has a value",
     "Say where the value stands and which labels it has; give an example."),
    ("blank_given", "blank although the document has a value",
     "Say where the value stands and which labels it has; give an example."),
    ("left_out", "the key is left out",
     "List the key as required in the schema, with a sentence about where it stands."),
    ("for_nothing", "a value where the document has none",
     "Ask for null where nothing is printed, and forbid guesses and defaults."),
    ("unknown_key", "a key that the truth does not have",
     "Give the list of keys, and forbid others."),
    ("different", "a different value",
     "Look at the examples; describe in the prompt how the right value is found."),
)  # fmt: skip

BY_NAME: Final = {
    name: Pattern(name=name, title=title, hint=hint)
    for name, title, hint in (*(row[1:] for row in _TABLE), *_OTHERS)
}
"""Every pattern by its name."""


def pattern_of(expected: JsonValue, candidate: JsonValue) -> str:
    """The name of the first pattern that a wrong value fits.

    >>> pattern_of("2024-03-02", "2024-02-03"), pattern_of("1,240.00", "1.24")
    ('date_swapped', 'thousands_separator')
    """
    forms = _TextForms(expected), _TextForms(candidate)
    return next((name for fits, name, _, _ in _TABLE if fits(*forms)), "different")
