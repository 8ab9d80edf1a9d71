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


@dataclass(frozen=True)
class _Pair:
    """An expected value and the wrong candidate."""

    expected: _TextForms
    candidate: _TextForms

    @property
    def texts(self) -> tuple[str, str]:
        """Both as text."""
        return self.expected.text, self.candidate.text

    @property
    def amounts(self) -> tuple[Decimal, Decimal] | None:
        """The numbers inside both, if there are."""
        expected, candidate = self.expected.amount, self.candidate.amount
        return None if expected is None or candidate is None else (expected, candidate)


_MARKS: Final = (",", ".", "'", "\u00a0", "\u202f", " ")
_GROUPS: Final = frozenset(Decimal(1000) ** power for power in range(4))
_POWERS: Final = frozenset(Decimal(10) ** power for power in range(1, 13))
_FINE: Final = 30
_NO_YEAR: Final = re.compile(r"([0-9]{1,2})[/.\- ]([0-9]{1,2})\.?\Z")


def _date_swapped(pair: _Pair) -> bool:
    """Day and month are swapped."""
    expected, candidate = pair.expected.days, pair.candidate.days
    if _is_iso(pair.expected.text) and _is_iso(pair.candidate.text):
        return any(_swapped(day) in candidate for day in expected) and expected != candidate
    return bool(expected & candidate) and _reordered(pair)


def _same_date(pair: _Pair) -> bool:
    """The same date in another format."""
    return bool(pair.expected.days & pair.candidate.days)


def _date_without_year(pair: _Pair) -> bool:
    """Day and month of the expected date alone."""
    found = _NO_YEAR.match(pair.candidate.text.strip())
    if found is None:
        return False
    parts = {int(found[1]), int(found[2])}
    return any({day.month, day.day} == parts for day in pair.expected.days)


def _date_part(pair: _Pair) -> bool:
    """One of day, month and year differs."""
    return any(
        sum((a.year != b.year, a.month != b.month, a.day != b.day)) == 1
        for a in pair.expected.days
        for b in pair.candidate.days
    )


def _is_sign(pair: _Pair) -> bool:
    """The same number with the other sign."""
    amounts = _amounts(pair)
    return amounts is not None and amounts[0] == -amounts[1] != 0


def _is_currency(pair: _Pair) -> bool:
    """The same amount with another currency sign, or without it."""
    return _same_amount(pair) and pair.expected.money != pair.candidate.money


def _is_unit(pair: _Pair) -> bool:
    """The same number with another unit, or without it."""
    return _same_amount(pair) and pair.expected.unit != pair.candidate.unit


def _is_separator_misread(pair: _Pair) -> bool:
    """The same digits with other separators, or separators that were misread."""
    amounts = _amounts(pair)
    marked = any(mark in text for text in pair.texts for mark in _MARKS)
    if amounts is None or not marked or not pair.expected.digits:
        return False
    if amounts[0] == amounts[1]:
        return True
    one, other = (side.rstrip("0") for side in (pair.expected.digits, pair.candidate.digits))
    return one == other and _ratio(amounts) in _GROUPS


def _is_scale(pair: _Pair) -> bool:
    """Off by a power of ten: a lost decimal point, cents for units, a share for a percentage."""
    amounts = _amounts(pair)
    return amounts is not None and _ratio(amounts) in _POWERS


def _is_rounded(pair: _Pair) -> bool:
    """The expected number with fewer decimals."""
    if pair.expected.number is None or pair.candidate.number is None:
        return False
    places = -int(pair.candidate.number.normalize().as_tuple().exponent)
    if not 0 <= places < _FINE:
        return False
    return abs(pair.expected.number - pair.candidate.number) < Decimal(10) ** -places


def _is_leading_zeros(pair: _Pair) -> bool:
    """The same digits but for zeros in front."""
    expected, candidate = (text.strip() for text in pair.texts)
    return expected != candidate and expected.lstrip("0") == candidate.lstrip("0") != ""


def _is_one_digit(pair: _Pair) -> bool:
    """A single digit is wrong, missing or extra."""
    if pair.expected.number is None or pair.candidate.number is None:
        return False
    digits = pair.expected.digits, pair.candidate.digits
    return len(digits[0]) > 1 and Levenshtein.distance(*digits) == 1


def _amounts(pair: _Pair) -> tuple[Decimal, Decimal] | None:
    """Both numbers, if both values are a number with at most a unit or a currency sign."""
    sides = pair.expected, pair.candidate
    if not all(side.number is not None or side.money or side.unit for side in sides):
        return None
    return pair.amounts


def _same_amount(pair: _Pair) -> bool:
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


def _reordered(pair: _Pair) -> bool:
    """Whether two dates are equal only if one is read day first and the other month first."""
    expected, candidate = pair.expected.first_day, pair.candidate.first_day
    return expected is not None and candidate is not None and expected != candidate


_NOTHING: Final = frozenset(
    {"-", "--", "n/a", "na", "nan", "nil", "none", "null", "tbd", "undefined", "unknown"}
)
_TRUTHS: Final = {
    "true": True, "yes": True, "y": True, "1": True, "on": True,
    "false": False, "no": False, "n": False, "0": False, "off": False,
}  # fmt: skip
_CUT: Final = 4
"""The shortest text that counts as truncated or as part of another."""
_NEAR: Final = 0.75
_LOOK_ALIKE: Final = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "5": "s", "8": "b"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A kind of mistake, and a hint for fixing the extraction."""

    name: str
    title: str
    hint: str


def _wrapped(pair: _Pair) -> bool:
    expected, candidate = pair.expected.value, pair.candidate.value
    return candidate == [expected] or expected == [candidate]


def _container(pair: _Pair) -> bool:
    kinds = (isinstance(side.value, dict | list) for side in (pair.expected, pair.candidate))
    return len(set(kinds)) > 1


def _placeholder(pair: _Pair) -> bool:
    return isinstance(pair.candidate.value, str) and pair.candidate.bare in _NOTHING


def _truth_word(pair: _Pair) -> bool:
    sides = pair.expected, pair.candidate
    if not any(isinstance(side.value, bool) for side in sides):
        return False
    expected, candidate = (_TRUTHS.get(side.bare) for side in sides)
    return expected is not None and expected == candidate


def _kind(pair: _Pair) -> bool:
    kinds = {isinstance(side.value, str) for side in (pair.expected, pair.candidate)}
    return len(kinds) > 1 and bool(pair.texts[0]) and pair.texts[0].strip() == pair.texts[1].strip()


def _case_or_blanks(pair: _Pair) -> bool:
    return bool(pair.expected.bare) and pair.expected.bare == pair.candidate.bare


def _punctuation(pair: _Pair) -> bool:
    return bool(pair.expected.letters) and pair.expected.letters == pair.candidate.letters


def _accents(pair: _Pair) -> bool:
    return bool(pair.expected.plain) and pair.expected.plain == pair.candidate.plain


def _word_order(pair: _Pair) -> bool:
    return len(pair.expected.words) > 1 and pair.expected.words == pair.candidate.words


def _truncated(pair: _Pair) -> bool:
    whole, part = (text.strip().casefold() for text in pair.texts)
    part = part.rstrip(". …")
    return _CUT <= len(part) < len(whole) and whole.startswith(part)


def _partial(pair: _Pair) -> bool:
    whole, part = (text.strip().casefold() for text in pair.texts)
    return _CUT <= len(part) < len(whole) and part in whole


def _overgrown(pair: _Pair) -> bool:
    part, whole = (text.strip().casefold() for text in pair.texts)
    return _CUT <= len(part) < len(whole) and part in whole


def _look_alike(pair: _Pair) -> bool:
    expected, candidate = (
        side.bare.translate(_LOOK_ALIKE) for side in (pair.expected, pair.candidate)
    )
    numeric = pair.expected.number is not None and pair.candidate.number is not None
    return bool(expected) and expected == candidate and not numeric


def _misspelt(pair: _Pair) -> bool:
    expected, candidate = pair.expected.bare, pair.candidate.bare
    if pair.expected.number is not None or min(len(expected), len(candidate)) < _CUT:
        return False
    return Levenshtein.normalized_similarity(expected, candidate) >= _NEAR


_Fits = Callable[[_Pair], bool]
_TABLE: Final[tuple[tuple[_Fits, str, str, str], ...]] = (
    (_wrapped, "wrapped", "one value in a list, or a list of one without it",
     "Ask for the plain value where one is wanted and for a list where several may stand."),
    (_container, "other_structure", "an object or list where a value belongs, or the reverse",
     "Give the exact shape of this field in the schema or prompt, with an example."),
    (_placeholder, "placeholder", "a word for nothing (N/A, none, unknown) in place of a value",
     "The document has a value here. Ask for null if nothing is found, and point to the value."),
    (_truth_word, "truth_as_word", "yes or no as text in place of true or false",
     "Ask for a JSON boolean, or turn these words into one after extraction."),
    (_kind, "number_as_text", "the right characters as the wrong kind: text for a number",
     "Ask for a JSON number (or for text), or convert after extraction."),
    (_case_or_blanks, "case_or_blanks", "the same but for case or blanks",
     "Ask for the text exactly as printed, or trim and re-case after extraction."),
    (_date_swapped, "date_swapped", "day and month exchanged",
     "State the document's date order in the prompt, and ask for ISO dates (YYYY-MM-DD)."),
    (_same_date, "date_format", "the same day written otherwise",
     "Ask for ISO dates (YYYY-MM-DD), or convert after extraction."),
    (_date_without_year, "date_without_year", "day and month without the year",
     "Ask for whole dates (YYYY-MM-DD), and say where the year stands if not beside the day."),
    (_date_part, "date_part", "one of day, month and year is wrong",
     "Check the reading of the page here; with two dates nearby, say which one is meant."),
    (_is_currency, "currency_sign", "the amount is right, its currency sign is not",
     "Ask for the currency in a field of its own and for amounts without a sign."),
    (_is_unit, "unit", "the number is right, its unit is not",
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
    (_accents, "accents", "accents are lost or added, or characters are of another width",
     "Keep Unicode through the reading of the page; ask for names exactly as printed."),
    (_punctuation, "punctuation", "the same but for punctuation",
     "Ask for the text exactly as printed, or strip punctuation after extraction."),
    (_word_order, "word_order", "the same words in another order",
     "Say in which order parts are wanted, for example given name first."),
    (_truncated, "truncated", "the end is cut off",
     "Ask for the whole text over all lines; check limits on length and on output tokens."),
    (_partial, "part_of_text", "only a part of the text",
     "Say where the value begins and ends; values over several lines belong together."),
    (_overgrown, "too_much_text", "the value with text around it",
     "Ask for the value alone, without labels, titles or neighbouring text."),
    (_look_alike, "look_alikes", "characters that look alike: 0 and O, 1 and l, 5 and S",
     "Raise the resolution of the page, or correct such characters by the field's format."),
    (_is_one_digit, "one_digit", "a single digit is wrong",
     "Raise the resolution of the page; check digits and totals can find these."),
    (_misspelt, "misspelt", "nearly the same: a few characters differ",
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
    pair = _Pair(_TextForms(expected), _TextForms(candidate))
    return next((name for fits, name, _, _ in _TABLE if fits(pair)), "different")
