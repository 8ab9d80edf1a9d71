"""Patterns of mistakes: the first matching row of a table determines the pattern."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final, Generic, TypeVar

from rapidfuzz.distance import Levenshtein

from fieldmark.model.json import JsonValue
from fieldmark.values.dates import parse_formats, read_day
from fieldmark.values.numbers import NumberFormat, as_number
from fieldmark.values.text import folded

_MAX_LENGTH: Final = 2_000
"""The number of characters of a value that are examined."""

_DAY_FIRST: Final = parse_formats(["DD/MM/YYYY", "DD-MM-YYYY", "DD.MM.YYYY"])
_WHITESPACE: Final = re.compile(r"\s+")
_WORDY: Final = re.compile(r"[\x00-/:-\x7f]*\Z")
_NOT_DIGITS: Final = re.compile(r"\D+")
_ASCII_NOT_DIGITS: Final = bytes(code for code in range(128) if code not in b"0123456789")
_NOT_WORDS: Final = re.compile(r"[\W_]+")
_MONEY: Final = re.compile(
    r"[$€£¥₹₩₽₺₫₴₦₱฿₪]|\b(?:USD|EUR|GBP|JPY|CHF|CAD|AUD|INR|CNY|SEK|NOK|DKK|PLN)\b", re.IGNORECASE
)
_AMOUNT: Final = re.compile(r"[-+\u2212(]?\s*\d[\d.,'\u00a0\u202f ]*\d|[-+\u2212]?\d")
_DIGITS: Final = re.compile(r"\d(?:[\d.,'\u00a0\u202f ]*\d)?")
_UNIT: Final = re.compile(r"^\s*[-+]?\d[\d.,]*\s*([^\W\d_][\w/.²³%°-]*|%|°\w?)\s*$")


def _decimal(value: JsonValue) -> Decimal | None:
    number = as_number(value, NumberFormat.AUTO)
    return None if number is None else Decimal(str(number))


def _is_wordy(value: JsonValue) -> bool:
    return isinstance(value, str) and _WORDY.match(value[:_MAX_LENGTH]) is not None


_Form = TypeVar("_Form")


class _computed(Generic[_Form]):  # noqa: N801 - used like `cached_property`
    """A `cached_property` without a lock, which takes longer than most forms do."""

    def __init__(self, compute: Callable[[_TextForms], _Form]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, forms: _TextForms, owner: object) -> _Form:
        value = forms.__dict__[self._compute.__name__] = self._compute(forms)
        return value


class _TextForms:
    """The text of a value in the normalized forms that patterns compare."""

    def __init__(self, value: JsonValue) -> None:
        self.value = value

    @_computed
    def text(self) -> str:
        """The value as text, without JSON quotes."""
        if isinstance(self.value, str):
            return self.value[:_MAX_LENGTH]
        return str(self.value)[:_MAX_LENGTH] if isinstance(self.value, int | float) else ""

    @property
    def is_container(self) -> bool:
        """Whether the value is an object or a list."""
        return isinstance(self.value, dict | list)

    @_computed
    def stripped(self) -> str:
        """The text case-folded, without surrounding whitespace."""
        return folded(self.text)

    @_computed
    def bare(self) -> str:
        """The text case-folded, without whitespace."""
        return _WHITESPACE.sub("", self.text).casefold()

    @_computed
    def letters(self) -> str:
        """Only letters and digits, case-folded."""
        return _NOT_WORDS.sub("", self.text).casefold()

    @_computed
    def plain(self) -> str:
        """The text without diacritics: e for é."""
        if self.bare.isascii():
            return self.bare
        decomposed = unicodedata.normalize("NFKD", self.bare)
        return "".join(char for char in decomposed if not unicodedata.combining(char))

    @_computed
    def words(self) -> tuple[str, ...]:
        """The sorted words."""
        return tuple(sorted(word for word in _NOT_WORDS.split(self.text.casefold()) if word))

    @_computed
    def digits(self) -> str:
        """Only the digits."""
        return "".join(char for char in self.text if char.isdigit())

    @_computed
    def is_wordy(self) -> bool:
        """Whether the value is ASCII text without digits, so neither a date nor a number."""
        return _is_wordy(self.value)

    @_computed
    def number(self) -> Decimal | None:
        """The value as a number, in any number format."""
        return None if isinstance(self.value, bool) or self.is_wordy else _decimal(self.value)

    @_computed
    def amount(self) -> Decimal | None:
        """The number of a value that consists of a number and an optional unit or currency."""
        if self.number is not None or self.is_wordy or not (self.money or self.unit):
            return self.number
        amount = _AMOUNT.search(self.text)
        return _decimal(amount[0].strip()) if amount else None

    @_computed
    def separators(self) -> str:
        """The characters between the digits of the number."""
        number = _DIGITS.search(self.text)
        return re.sub(r"\d", "", number[0]) if number else ""

    @_computed
    def money(self) -> str:
        """The currency symbol or code, or an empty string."""
        currency = _MONEY.search(self.text)
        return currency[0].upper() if currency else ""

    @_computed
    def unit(self) -> str:
        """The unit of a text that consists of a number and a unit, or an empty string."""
        number = _UNIT.match(self.text)
        return number[1].casefold() if number and not self.money else ""

    @_computed
    def first_day(self) -> date | None:
        """The date, read month first if it is ambiguous."""
        if not isinstance(self.value, str) or self.is_wordy:
            return None
        reading = read_day(self.text)
        return None if reading is None else reading.day

    @_computed
    def days(self) -> frozenset[date]:
        """All dates that the text can mean."""
        if not isinstance(self.value, str) or self.is_wordy:
            return frozenset()
        reading = read_day(self.text, _DAY_FIRST)
        days = (self.first_day, None if reading is None else reading.day)
        return frozenset(day for day in days if day is not None)

    @_computed
    def has_days(self) -> bool:
        """Whether the text is a date."""
        return bool(self.days)

    @_computed
    def has_number(self) -> bool:
        """Whether the value is a number."""
        return self.number is not None

    @_computed
    def has_amount(self) -> bool:
        """Whether the value is a number with an optional unit or currency."""
        return self.amount is not None


_GROUPS: Final = frozenset(Decimal(1000) ** power for power in range(4))
_POWERS: Final = frozenset(Decimal(10) ** power for power in range(1, 13))
_MAX_DECIMALS: Final = 30
_NUMERIC_DATE: Final = re.compile(r"([0-9]{1,2})[/.\- ]([0-9]{1,2})[/.\- ]([0-9]{2,4})\Z")
_ISO_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})\Z")
_DIGIT_FIRST: Final = re.compile(r"\s*[0-9]")
_NO_YEAR: Final = re.compile(r"([0-9]{1,2})[/.\- ]([0-9]{1,2})\.?\Z")
_PLACEHOLDERS: Final = frozenset(
    {"-", "--", "n/a", "na", "nan", "nil", "none", "null", "tbd", "undefined", "unknown"}
)
_BOOLEANS: Final = {
    "true": True, "yes": True, "y": True, "1": True, "on": True,
    "false": False, "no": False, "n": False, "0": False, "off": False,
}  # fmt: skip
_SHORTEST: Final = 4
"""The minimum length of text that can be truncated, misspelled or part of another text."""
_MIN_SIMILARITY: Final = 0.75
_SIMILAR_CHARACTERS: Final = str.maketrans(
    {"0": "o", "1": "l", "i": "l", "|": "l", "5": "s", "8": "b"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A pattern of mistakes, with a recommendation for fixing the extraction."""

    name: str
    title: str
    hint: str


def _is_date_swapped(expected: _TextForms, candidate: _TextForms) -> bool:
    if not (expected.has_days and candidate.has_days):
        return False
    if expected.text[:4].isdigit() and candidate.text[:4].isdigit():  # the year comes first
        return expected.days != candidate.days and any(
            (day.year, day.day, day.month) == (other.year, other.month, other.day)
            for day in expected.days
            for other in candidate.days
        )
    expected_parts, candidate_parts = (
        _NUMERIC_DATE.match(forms.text.strip()) for forms in (expected, candidate)
    )
    if (
        expected_parts
        and candidate_parts
        and expected_parts[1] != expected_parts[2]
        and expected_parts.group(2, 1, 3) == candidate_parts.group(1, 2, 3)
    ):
        return True
    # Otherwise, the dates are equal only if one is read day first and the other month first.
    first, other = expected.first_day, candidate.first_day
    return bool(expected.days & candidate.days) and None not in {first, other} and first != other


def _is_date_without_year(expected: _TextForms, candidate: _TextForms) -> bool:
    match = _NO_YEAR.match(candidate.text.strip())
    if match is None:
        return False
    parts = {int(match[1]), int(match[2])}
    return any({day.month, day.day} == parts for day in expected.days)


def _differs_in_one_date_part(expected: _TextForms, candidate: _TextForms) -> bool:
    return any(
        sum((a.year != b.year, a.month != b.month, a.day != b.day)) == 1
        for a in expected.days
        for b in candidate.days
    )


def _has_same_amount(expected: _TextForms, candidate: _TextForms) -> bool:
    return expected.amount is not None and expected.amount == candidate.amount


def _has_opposite_sign(expected: _TextForms, candidate: _TextForms) -> bool:
    if not (expected.amount and candidate.amount):
        return False
    return expected.amount == -candidate.amount


def _ratio(expected: _TextForms, candidate: _TextForms) -> Decimal:
    """Divide the larger amount by the smaller; return 0 if either is 0 or not an amount."""
    if not (expected.amount and candidate.amount):
        return Decimal(0)
    smaller, larger = sorted((abs(expected.amount), abs(candidate.amount)))
    return larger / smaller


def _is_separator_misread(expected: _TextForms, candidate: _TextForms) -> bool:
    if expected.separators == candidate.separators:
        return False  # such as $8.20 and RM$8.20
    if _has_same_amount(expected, candidate):
        return True
    same_digits = expected.digits.rstrip("0") == candidate.digits.rstrip("0")
    return same_digits and _ratio(expected, candidate) in _GROUPS


def _is_rounded(expected: _TextForms, candidate: _TextForms) -> bool:
    if expected.number is None or candidate.number is None or expected.digits == candidate.digits:
        return False
    decimals = -int(candidate.number.normalize().as_tuple().exponent)
    if not 0 <= decimals < _MAX_DECIMALS:
        return False
    return abs(expected.number - candidate.number) < Decimal(10) ** -decimals


def _differs_in_leading_zeros(expected: _TextForms, candidate: _TextForms) -> bool:
    first, second = expected.text.strip(), candidate.text.strip()
    return first != second and first.lstrip("0") == second.lstrip("0") != ""


def _differs_in_one_digit(expected: _TextForms, candidate: _TextForms) -> bool:
    if expected.number is None or candidate.number is None or len(expected.digits) <= 1:
        return False
    return Levenshtein.distance(expected.digits, candidate.digits) == 1


def _is_boolean_word(expected: _TextForms, candidate: _TextForms) -> bool:
    if not (isinstance(expected.value, bool) or isinstance(candidate.value, bool)):
        return False
    value = _BOOLEANS.get(expected.bare)
    return value is not None and value == _BOOLEANS.get(candidate.bare)


def _is_other_type(expected: _TextForms, candidate: _TextForms) -> bool:
    if isinstance(expected.value, str) == isinstance(candidate.value, str):
        return False
    return bool(expected.text) and expected.text.strip() == candidate.text.strip()


def _is_part(part: str, whole: str) -> bool:
    return _SHORTEST <= len(part) < len(whole) and part in whole


def _is_truncated(expected: _TextForms, candidate: _TextForms) -> bool:
    start = candidate.stripped.rstrip(". …")
    return _SHORTEST <= len(start) < len(expected.stripped) and expected.stripped.startswith(start)


def _has_same_words(expected: _TextForms, candidate: _TextForms) -> bool:
    if len(expected.letters) != len(candidate.letters):
        return False
    return expected.words == candidate.words and len(expected.words) > 1


def _has_similar_characters(expected: _TextForms, candidate: _TextForms) -> bool:
    if len(expected.bare) != len(candidate.bare):
        return False
    if expected.number is not None and candidate.number is not None:
        return False
    read = expected.bare.translate(_SIMILAR_CHARACTERS)
    return bool(read) and read == candidate.bare.translate(_SIMILAR_CHARACTERS)


def _is_misspelled(expected: _TextForms, candidate: _TextForms) -> bool:
    if expected.number is not None or min(len(expected.bare), len(candidate.bare)) < _SHORTEST:
        return False
    return Levenshtein.normalized_similarity(expected.bare, candidate.bare) >= _MIN_SIMILARITY


_Matches = Callable[[_TextForms, _TextForms], bool]
_TABLE: Final[tuple[tuple[_Matches, str, str, str], ...]] = (
    (lambda expected, candidate: candidate.value == [expected.value]
     or expected.value == [candidate.value],
     "wrapped", "single value as a list, or the reverse",
     "Define in the schema whether the field holds one value or a list."),
    (lambda expected, candidate: expected.is_container != candidate.is_container,
     "wrong_structure", "value instead of an object or list, or the reverse",
     "Define the exact structure of the field in the schema or prompt, with an example."),
    (lambda _, candidate: isinstance(candidate.value, str) and candidate.bare in _PLACEHOLDERS,
     "placeholder", "placeholder instead of a value",
     "Describe where to find the value, and ask for null only if the document has none."),
    (_is_boolean_word, "boolean_as_word", "boolean written as a word",
     "Ask for a JSON boolean, or convert these words after extraction."),
    (_is_other_type, "number_as_string", "number as a string, or the reverse",
     "Define the JSON type in the schema, or convert the value after extraction."),
    (lambda expected, candidate: expected.bare == candidate.bare != "",
     "case_or_whitespace", "different case or whitespace",
     "Ask for the text exactly as printed, or normalize case and whitespace after extraction."),
    (_is_date_swapped, "date_swapped", "day and month swapped",
     "State the date order of the document in the prompt, and ask for ISO dates (YYYY-MM-DD)."),
    (lambda expected, candidate: bool(expected.days & candidate.days),
     "date_format", "same date in a different format",
     "Ask for ISO dates (YYYY-MM-DD), or convert dates after extraction."),
    (_is_date_without_year, "date_without_year", "date without a year",
     "Ask for complete dates (YYYY-MM-DD), and say where the year is printed."),
    (_differs_in_one_date_part, "date_part", "wrong day, month or year",
     "Check the OCR result. If several dates are close together, say which one to extract."),
    (lambda expected, candidate: _has_same_amount(expected, candidate)
     and expected.money != candidate.money,
     "currency_symbol", "wrong or missing currency symbol",
     "Ask for the currency in a separate field and for amounts without a symbol."),
    (lambda expected, candidate: _has_same_amount(expected, candidate)
     and expected.unit != candidate.unit,
     "unit", "wrong or missing unit",
     "Ask for the unit in a separate field and for numbers without a unit."),
    (_has_opposite_sign, "sign", "wrong sign",
     "Say how negative amounts and credits are printed (parentheses, trailing minus, CR)."),
    (_is_separator_misread, "thousands_separator", "thousands or decimal separator misread",
     "State the number format of the document, and ask for plain numbers such as 1240.50."),
    (lambda expected, candidate: _ratio(expected, candidate) in _POWERS,
     "scale", "off by a power of ten",
     "State whether amounts are in cents, thousands or percent, and check decimal points."),
    (_differs_in_leading_zeros, "leading_zeros", "leading zeros added or removed",
     "Ask for identifiers as strings, with all digits as printed."),
    (_is_rounded, "rounded", "rounded or truncated number",
     "Ask for all decimals as printed."),
    (lambda expected, candidate: expected.plain == candidate.plain != "",
     "accents", "different accents or character widths",
     "Preserve Unicode in OCR, and ask for names exactly as printed."),
    (lambda expected, candidate: expected.letters == candidate.letters != "",
     "punctuation", "different punctuation",
     "Ask for the text exactly as printed, or remove punctuation after extraction."),
    (_has_same_words,
     "word_order", "same words in a different order",
     "Specify the order of the parts, such as given name first."),
    (_is_truncated, "truncated", "truncated text",
     "Ask for the complete text across lines, and check the limits on length and output tokens."),
    (lambda expected, candidate: _is_part(candidate.stripped, expected.stripped),
     "partial_text", "only part of the text",
     "Say where the value starts and ends, and that it may span several lines."),
    (lambda expected, candidate: _is_part(expected.stripped, candidate.stripped),
     "extra_text", "value with surrounding text",
     "Ask for the value only, without labels, titles or neighboring text."),
    (_has_similar_characters, "similar_characters", "similar-looking characters such as 0 and O",
     "Increase the image resolution, or correct these characters using the format of the field."),
    (_differs_in_one_digit, "one_digit", "one wrong digit",
     "Increase the image resolution, and verify check digits and totals."),
    (_is_misspelled, "misspelled", "spelling differs by a few characters",
     "Increase the image resolution, or look up values in a list of known values."),
)  # fmt: skip

_OTHERS: Final = (
    ("shifted_rows", "values from the row above or below",
     "Rows are misaligned. Ask for one item per printed row and for null in empty cells."),
    ("other_field", "value of another field",
     "Distinguish the two fields in the prompt: labels, position, an example."),
    ("no_candidate", "no prediction for the document",
     "Find out why no prediction was produced: a refusal, a timeout or a skipped page."),
    ("parse_error", "prediction is not valid JSON",
     "Ask for JSON only, use structured output, and check the limit on output tokens."),
    ("missing_item", "missing list item",
     "Ask for every item. Long lists may need to be extracted in parts."),
    ("extra_item", "extra list item",
     "Ask for each item once, and rule out what is none, such as totals and headings of a table."),
    ("null_value", "null instead of a value",
     "Describe where the value is printed and with which labels, and give an example."),
    ("blank_value", "blank instead of a value",
     "Describe where the value is printed and with which labels, and give an example."),
    ("missing_key", "missing key",
     "Mark the key as required in the schema, and describe where the value is printed."),
    ("extra_value", "value where the ground truth is empty",
     "Ask for null if nothing is printed, and rule out guesses and defaults."),
    ("extra_key", "key that is not in the ground truth",
     "List the allowed keys, and forbid additional ones."),
    ("different", "different value",
     "Look at the examples, and describe in the prompt how to find the correct value."),
)  # fmt: skip

_NEEDED: Final = {
    **dict.fromkeys(("date_swapped", "date_format", "date_without_year", "date_part"), "has_days"),
    **dict.fromkeys(("rounded", "one_digit"), "has_number"),
    **dict.fromkeys(
        ("currency_symbol", "unit", "sign", "thousands_separator", "scale"), "has_amount"
    ),
}
"""A property of the expected value, without which a pattern is not tried."""
_ROWS: Final = [(_NEEDED.get(name), matches, name) for matches, name, _, _ in _TABLE]
_WORDY_ROWS: Final = [row for row in _ROWS if row[0] is None]
"""The rows for a text without digits, which is neither a date nor a number."""

BY_NAME: Final = {
    name: Pattern(name=name, title=title, hint=hint)
    for name, title, hint in (*(row[1:] for row in _TABLE), *_OTHERS)
}
"""All patterns by name."""


def pattern_of(expected: JsonValue, candidate: JsonValue) -> str:
    """Return the name of the first pattern that matches a wrong value.

    >>> pattern_of("2024-03-02", "2024-02-03"), pattern_of("1,240.00", "1.24")
    ('date_swapped', 'thousands_separator')
    """
    first, second = _TextForms(expected), _TextForms(candidate)
    for needed, matches, name in _WORDY_ROWS if first.is_wordy else _ROWS:
        if (needed is None or getattr(first, needed)) and matches(first, second):
            return name
    return "different"


def scale_factor(expected: JsonValue, candidate: JsonValue) -> Decimal | None:
    """Return the power of ten of the factor between two numbers, or `None`.

    >>> scale_factor("12.50", 1250), scale_factor(1250, "12.5"), scale_factor(12, 13)
    (Decimal('1E+2'), Decimal('0.01'), None)
    """
    if _is_wordy(expected):
        return None
    digits = _significant_digits(expected)
    if not digits or digits != _significant_digits(candidate):
        return None  # much faster than reading most wrong numbers
    if not (expected_amount := _TextForms(expected).amount):
        return None
    if not (candidate_amount := _TextForms(candidate).amount):
        return None
    ratio = candidate_amount / expected_amount
    return ratio.normalize() if ratio in _POWERS or (ratio and 1 / ratio in _POWERS) else None


def _significant_digits(value: JsonValue) -> bytes:
    """Return the digits of a number as it is written, without zeros at both ends."""
    text = f"{value:f}" if isinstance(value, float) else str(value)[:_MAX_LENGTH]
    if text.isascii():
        return text.encode().translate(None, _ASCII_NOT_DIGITS).strip(b"0")
    return _NOT_DIGITS.sub("", text).strip("0").encode()


def is_date_swapped(expected: JsonValue, candidate: JsonValue) -> bool:
    """Return whether two texts are the same date with day and month swapped.

    >>> is_date_swapped("2024-03-02", "2024-02-03"), is_date_swapped("2024-03-02", "2024-03-03")
    (True, False)
    """
    if not (isinstance(expected, str) and isinstance(candidate, str)):
        return False
    # Much faster than reading most wrong values. At least one date must start with a digit: with
    # its year, or because it has two meanings.
    if not (_DIGIT_FIRST.match(expected) or _DIGIT_FIRST.match(candidate)):
        return False
    expected_parts, candidate_parts = _ISO_DATE.match(expected), _ISO_DATE.match(candidate)
    if (
        expected_parts
        and candidate_parts
        and expected_parts.group(1, 3, 2) != candidate_parts.group(1, 2, 3)
    ):
        return False
    return _is_date_swapped(_TextForms(expected), _TextForms(candidate))
