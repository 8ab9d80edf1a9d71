"""Patterns of mistakes: the first matching row of a table determines the pattern.

A row is the whole declaration of a pattern: its name and title, how it is recognized, what to
change in the extraction, and the rules that accept such values if only their notation differs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import permutations
from typing import Final, Generic, TypeAlias, TypeVar, cast

from rapidfuzz.distance import Levenshtein

from fieldmark.compare.currency import Currency
from fieldmark.compare.date import DateMatch
from fieldmark.compare.exact import NormalizedText
from fieldmark.compare.iou import Iou
from fieldmark.compare.numeric import Money, NumericTolerance
from fieldmark.compare.partial_date import PartialDate
from fieldmark.compare.time import TimeMatch
from fieldmark.compare.timestamp import Timestamp
from fieldmark.metrics.date_orders import NUMERIC_DATE, UNKNOWN, SidesOrder
from fieldmark.model.comparison import Comparator, Comparison
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.currencies import UNCLEAR_SYMBOL
from fieldmark.values.dates import DateOrder, DateReader, read_day
from fieldmark.values.numbers import NumberFormat, as_number
from fieldmark.values.strategy_options import create
from fieldmark.values.text import folded, with_plain_marks
from fieldmark.values.times import read_time

_MAX_LENGTH: Final = 2_000
"""The number of characters of a value that are examined."""

_READER: Final = DateReader()
_READERS: Final = {order: DateReader(order=order) for order in (DateOrder.MDY, DateOrder.DMY)}
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

    def __init__(self, value: JsonValue, order: DateOrder | None = None) -> None:
        self.value = value
        self.order = order

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
        """The date as the comparator `date` reads it without options."""
        if not isinstance(self.value, str) or self.is_wordy:
            return None
        reading = read_day(self.text)
        return None if reading is None else reading.day

    @_computed
    def days(self) -> frozenset[date]:
        """All dates that the text can mean; only one if the order of day and month is known."""
        if self.first_day is None:
            return frozenset()
        if self.numeric_date is None or "." in self.text:
            return frozenset((self.first_day,))
        orders = _READERS if self.order is None else (self.order,)
        readings = [_READERS[order].read(self.text) for order in orders]
        days = frozenset(reading.day for reading in readings if reading is not None)
        return days or frozenset((self.first_day,))

    @_computed
    def day_first(self) -> date | None:
        """The date, with the day first if it is a date of numbers."""
        if self.numeric_date is None:
            return self.first_day
        reading = _READERS[DateOrder.DMY].read(self.text)
        return None if reading is None else reading.day

    @_computed
    def numeric_date(self) -> re.Match[str] | None:
        """The match of a date of numbers whose year is last."""
        return NUMERIC_DATE.match(self.text.strip())

    @_computed
    def has_days(self) -> bool:
        """Whether the text is a date."""
        return bool(self.days)

    @_computed
    def is_clock(self) -> bool:
        """Whether the text is a time of day, and no number such as 14.30."""
        return self.number is None and read_time(self.text) is not None

    @_computed
    def is_month(self) -> bool:
        """Whether the text is a month or a year without a day."""
        return not self.has_days and _READER.read_partial(self.text) is not None

    @_computed
    def has_time(self) -> bool:
        """Whether the text is a date with a time."""
        moment = _READER.read_moment(self.text) if self.has_days else None
        return moment is not None and moment.time is not None

    @_computed
    def has_number(self) -> bool:
        """Whether the value is a number."""
        return self.number is not None

    @_computed
    def has_amount(self) -> bool:
        """Whether the value is a number with an optional unit or currency."""
        return self.amount is not None


_THOUSAND: Final = 1_000
_GROUPS: Final = frozenset(Decimal(_THOUSAND) ** power for power in range(1, 4))
_HAS_THREE_DECIMALS: Final = re.compile(r"[.,][0-9]{3}(?![0-9])")
_POWERS: Final = frozenset(Decimal(10) ** power for power in range(1, 13))
_MAX_DECIMALS: Final = 30
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


@dataclass(frozen=True, kw_only=True)
class AcceptingRule:
    """A comparator with options, as in a rules file, that accepts values in another notation.

    It can be proposed for an attribute with the comparator that it `replaces`.
    """

    kind: type[Comparator]
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    replaces: str = ""

    @cached_property
    def _comparator(self) -> Comparator:
        return cast("Comparator", create(self.kind, self.options))

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Compare two values by the rule."""
        return self._comparator.compare(expected, candidate)

    def accepts(self, expected: JsonValue, candidate: JsonValue) -> bool:
        """Whether the rule accepts these values."""
        return self.compare(expected, candidate).matched

    def to_dict(self) -> JsonObject:
        """Return the keys of the rule, without a path."""
        return {"match": self.kind.name, **self.options}


_CURRENCY: Final = Currency()
_CURRENCY_NAME: Final = AcceptingRule(kind=Currency)
_TIME: Final = AcceptingRule(kind=TimeMatch)
_MONTH: Final = AcceptingRule(kind=PartialDate)
_INSTANT: Final = AcceptingRule(kind=Timestamp)
_MONEY_RULE: Final = AcceptingRule(kind=Money)


def _is_same_currency(expected: _TextForms, candidate: _TextForms) -> bool:
    return _CURRENCY.reads(expected.text) and _CURRENCY_NAME.accepts(expected.text, candidate.text)


def _is_same_money(expected: _TextForms, candidate: _TextForms) -> bool:
    """Whether both texts are the same amount in the same currency, written differently."""
    if not (isinstance(expected.value, str) and isinstance(candidate.value, str)):
        return False
    if expected.money == candidate.money or not _has_same_amount(expected, candidate):
        return False
    result = _MONEY_RULE.compare(expected.value, candidate.value)
    return result.matched and result.note in ("", UNCLEAR_SYMBOL)


def _is_same_time(expected: _TextForms, candidate: _TextForms) -> bool:
    return _TIME.accepts(expected.value, candidate.value)


def _is_same_month(expected: _TextForms, candidate: _TextForms) -> bool:
    return _MONTH.accepts(expected.value, candidate.value)


def _is_same_instant(expected: _TextForms, candidate: _TextForms) -> bool:
    return expected.has_time and _INSTANT.accepts(expected.value, candidate.value)


def _has_other_time(expected: _TextForms, candidate: _TextForms) -> bool:
    """Whether both texts are the same day, of which at least one has another time or none."""
    if not (expected.has_time or candidate.has_time) or not expected.days & candidate.days:
        return False
    return not _INSTANT.accepts(expected.value, candidate.value)


def _is_date_swapped(expected: _TextForms, candidate: _TextForms) -> bool:
    if not (expected.has_days and candidate.has_days):
        return False
    first, second = expected.numeric_date, candidate.numeric_date
    if expected.days & candidate.days:
        # The same date in some reading. If both sides use one notation, day and month are swapped.
        orders = {expected.order, candidate.order} - {None}
        return (
            first is not None
            and second is not None
            and len(orders) <= 1
            and len(expected.days | candidate.days) > 1
            and first.group(2, 1, 3) == second.group(1, 2, 3)
        )
    return any(
        (day.year, day.day, day.month) == (other.year, other.month, other.day)
        for day in expected.days
        for other in candidate.days
    )


def _is_day_first(expected: _TextForms, candidate: _TextForms) -> bool:
    """Whether both texts are the same date, if and because they are read day first."""
    same = expected.days & candidate.days
    if not same or expected.day_first != candidate.day_first:
        return False
    return any(
        forms.numeric_date is not None
        and "." not in forms.text
        and (forms.order is DateOrder.DMY or forms.first_day not in same)
        for forms in (expected, candidate)
    )


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


def _is_other_number_format(expected: _TextForms, candidate: _TextForms) -> bool:
    """Whether one side is text, and both are the same number."""
    if not (isinstance(expected.value, str) or isinstance(candidate.value, str)):
        return False
    return expected.number is not None and expected.number == candidate.number


def _has_opposite_sign(expected: _TextForms, candidate: _TextForms) -> bool:
    if not (expected.amount and candidate.amount):
        return False
    return expected.amount == -candidate.amount


def _ratio(expected: _TextForms, candidate: _TextForms) -> Decimal | None:
    """Divide the larger amount by the smaller; return `None` if either is 0 or not an amount."""
    if not (expected.amount and candidate.amount):
        return None
    smaller, larger = sorted((abs(expected.amount), abs(candidate.amount)))
    return larger / smaller


def _is_separator_misread(expected: _TextForms, candidate: _TextForms) -> bool:
    """Whether a separator of thousands was read as a decimal point, or the reverse.

    As a decimal point, it has at most three digits before it, and always three behind it.
    """
    if _ratio(expected, candidate) not in _GROUPS or not (expected.amount and candidate.amount):
        return False
    smaller, larger = sorted((abs(expected.amount), abs(candidate.amount)))
    if smaller >= _THOUSAND or larger != int(larger):
        return False
    return larger == abs(expected.amount) or _HAS_THREE_DECIMALS.search(expected.text) is not None


def _is_rounded(expected: _TextForms, candidate: _TextForms) -> bool:
    if expected.number is None or candidate.number is None or expected.digits == candidate.digits:
        return False
    decimals = max(0, -int(candidate.number.normalize().as_tuple().exponent))
    if decimals >= _MAX_DECIMALS:
        return False
    return abs(expected.number - candidate.number) < Decimal(10) ** -decimals


def _differs_in_leading_zeros(expected: _TextForms, candidate: _TextForms) -> bool:
    first, second = (forms.text.strip().lstrip("0") for forms in (expected, candidate))
    has_other_zeros = first == second and expected.text.strip() != candidate.text.strip()
    return has_other_zeros and not first.startswith((".", ",")) and first != ""


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


def _has_other_dashes(expected: _TextForms, candidate: _TextForms) -> bool:
    if expected.bare.isascii() and candidate.bare.isascii():
        return False
    return with_plain_marks(expected.bare) == with_plain_marks(candidate.bare) != ""


def _is_part(part: str, whole: str) -> bool:
    return _SHORTEST <= len(part) < len(whole) and part in whole


def _is_truncated(expected: _TextForms, candidate: _TextForms) -> bool:
    start = candidate.stripped.rstrip(". …")
    return _SHORTEST <= len(start) < len(expected.stripped) and expected.stripped.startswith(start)


def _has_same_words(expected: _TextForms, candidate: _TextForms) -> bool:
    if len(expected.letters) != len(candidate.letters):
        return False
    return expected.words == candidate.words != ()


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
    if expected.days and candidate.days:
        return False
    return Levenshtein.normalized_similarity(expected.bare, candidate.bare) >= _MIN_SIMILARITY


_Matches: TypeAlias = Callable[[_TextForms, _TextForms], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A pattern of mistakes, with a recommendation for the extraction.

    `matches` recognizes it in the expected value and the candidate, if the expected value `needs`
    that property; other patterns follow from the place of a mistake. On the `condition`, one of the
    `rules` can accept such values, or `list_rule` can align their list.
    """

    name: str
    title: str
    hint: str
    matches: _Matches | None = None
    needs: str = ""
    condition: str = ""
    rules: tuple[AcceptingRule, ...] = ()
    list_rule: Mapping[str, JsonValue] | None = None


_TEXT: Final = AcceptingRule(kind=NormalizedText)
_TEXT_WITHOUT_BLANKS: Final = AcceptingRule(
    kind=NormalizedText, options={"ignore": ["white_space"]}
)
_NUMBER: Final = AcceptingRule(kind=NumericTolerance)
_NUMBERS: Final = (
    _NUMBER,
    *(
        AcceptingRule(kind=NumericTolerance, options={"number_format": name.value})
        for name in NumberFormat
        if name is not NumberFormat.AUTO
    ),
)
_DATE: Final = AcceptingRule(kind=DateMatch)
_DAY_FIRST: Final = AcceptingRule(kind=DateMatch, options={"order": "dmy"}, replaces="date")
_DATES_BY_SIDE: Final = tuple(
    AcceptingRule(
        kind=DateMatch,
        options={"formats": {"expected": [first], "candidate": [second]}},
        replaces="date",
    )
    for first, second in permutations(("DD/MM/YYYY", "MM/DD/YYYY"))
)
_BOXES: Final = (
    AcceptingRule(kind=Iou),
    AcceptingRule(kind=Iou, options={"format": "xywh"}),
)
_BOXES_BY_FORMAT: Final = tuple(
    AcceptingRule(kind=Iou, options={"expected_format": first, "candidate_format": second})
    for first, second in permutations(("xyxy", "xywh"))
)

_IN_VALUES: Final = (
    Pattern(
        name="wrapped",
        title="single value as a list, or the reverse",
        hint="Define in the schema whether the field holds one value or a list.",
        matches=lambda expected, candidate: (
            candidate.value == [expected.value] or expected.value == [candidate.value]
        ),
    ),
    Pattern(
        name="wrong_structure",
        title="value instead of an object or list, or the reverse",
        hint="Define the exact structure of the field in the schema or prompt, with an example.",
        matches=lambda expected, candidate: expected.is_container != candidate.is_container,
    ),
    Pattern(
        name="placeholder",
        title="placeholder instead of a value",
        hint="Describe where to find the value, and ask for null only if the document has none.",
        matches=lambda _, candidate: (
            isinstance(candidate.value, str) and candidate.bare in _PLACEHOLDERS
        ),
    ),
    Pattern(
        name="boolean_as_word",
        title="boolean written as a word",
        hint="Ask for a JSON boolean, or convert these words after extraction.",
        matches=_is_boolean_word,
    ),
    Pattern(
        name="number_as_string",
        title="number as a string, or the reverse",
        hint="Define the JSON type in the schema, or convert the value after extraction.",
        matches=_is_other_type,
        condition="If the JSON type does not matter",
        rules=(_NUMBER,),
    ),
    Pattern(
        name="case_or_whitespace",
        title="different case or whitespace",
        hint=(
            "Ask for the text exactly as printed, or normalize case and whitespace after "
            "extraction."
        ),
        matches=lambda expected, candidate: expected.bare == candidate.bare != "",
        condition="If case and whitespace do not matter",
        rules=(_TEXT, _TEXT_WITHOUT_BLANKS),
    ),
    Pattern(
        name="dash",
        title="different dash or apostrophe",
        hint=(
            "Ask for the text exactly as printed, or replace typographic dashes and "
            "apostrophes after extraction."
        ),
        matches=_has_other_dashes,
        condition="If the kind of dash does not matter",
        rules=(_TEXT,),
    ),
    Pattern(
        name="currency_name",
        title="same currency, written differently",
        hint="Ask for codes of currencies such as EUR, or convert symbols after extraction.",
        matches=_is_same_currency,
        condition="If only the currency matters",
        rules=(_CURRENCY_NAME,),
    ),
    Pattern(
        name="time_format",
        title="same time in a different format",
        hint="Ask for times such as 14:30, or convert times after extraction.",
        matches=_is_same_time,
        needs="is_clock",
        condition="If only the time of day matters",
        rules=(_TIME,),
    ),
    Pattern(
        name="month_format",
        title="same month or year in a different format",
        hint="Ask for months such as 2024-05, or convert them after extraction.",
        matches=_is_same_month,
        needs="is_month",
        condition="If only the month or year matters",
        rules=(_MONTH,),
    ),
    Pattern(
        name="timestamp_format",
        title="same instant in a different format or time zone",
        hint="Ask for ISO timestamps with a time zone, or convert timestamps after extraction.",
        matches=_is_same_instant,
        needs="has_days",
        condition="If only the instant matters",
        rules=(_INSTANT,),
    ),
    Pattern(
        name="date_swapped",
        title="day and month swapped",
        hint=(
            "State the date order of the document in the prompt, and ask for ISO dates "
            "(YYYY-MM-DD)."
        ),
        matches=_is_date_swapped,
        needs="has_days",
    ),
    Pattern(
        name="time_of_day",
        title="same date with another time, or without one",
        hint="Say whether the time of day is part of the value, and in which time zone.",
        matches=_has_other_time,
        needs="has_days",
        condition="If only the date matters",
        rules=(_DATE,),
    ),
    Pattern(
        name="date_order",
        title="same date, written day first",
        hint=(
            "Ask for ISO dates (YYYY-MM-DD), or convert dates after extraction, reading the"
            " day first."
        ),
        matches=_is_day_first,
        needs="has_days",
        condition="If only the date matters",
        rules=(_DAY_FIRST,),
    ),
    Pattern(
        name="date_format",
        title="same date in a different format",
        hint="Ask for ISO dates (YYYY-MM-DD), or convert dates after extraction.",
        matches=lambda expected, candidate: bool(expected.days & candidate.days),
        needs="has_days",
        condition="If only the date matters",
        rules=(_DATE, *_DATES_BY_SIDE),
    ),
    Pattern(
        name="date_without_year",
        title="date without a year",
        hint="Ask for complete dates (YYYY-MM-DD), and say where the year is printed.",
        matches=_is_date_without_year,
        needs="has_days",
    ),
    Pattern(
        name="date_part",
        title="wrong day, month or year",
        hint="Check the OCR result. If several dates are close together, say which one to extract.",
        matches=_differs_in_one_date_part,
        needs="has_days",
    ),
    Pattern(
        name="money_format",
        title="same amount of money, written differently",
        hint="Ask for amounts and codes of currencies in separate fields.",
        matches=_is_same_money,
        needs="has_amount",
        condition="If only the amount and the currency matter",
        rules=(_MONEY_RULE,),
    ),
    Pattern(
        name="currency_symbol",
        title="wrong or missing currency symbol",
        hint="Ask for the currency in a separate field and for amounts without a symbol.",
        matches=lambda expected, candidate: (
            _has_same_amount(expected, candidate) and expected.money != candidate.money
        ),
        needs="has_amount",
    ),
    Pattern(
        name="unit",
        title="wrong or missing unit",
        hint="Ask for the unit in a separate field and for numbers without a unit.",
        matches=lambda expected, candidate: (
            _has_same_amount(expected, candidate) and expected.unit != candidate.unit
        ),
        needs="has_amount",
    ),
    Pattern(
        name="leading_zeros",
        title="leading zeros added or removed",
        hint="Ask for identifiers as strings, with all digits as printed.",
        matches=_differs_in_leading_zeros,
    ),
    Pattern(
        name="number_format",
        title="same number in a different format",
        hint="Ask for plain numbers such as 1240.50, or convert numbers after extraction.",
        matches=_is_other_number_format,
        needs="has_number",
        condition="If only the number matters",
        rules=_NUMBERS,
    ),
    Pattern(
        name="sign",
        title="wrong sign",
        hint="Say how negative amounts and credits are printed (parentheses, trailing minus, CR).",
        matches=_has_opposite_sign,
        needs="has_amount",
    ),
    Pattern(
        name="thousands_separator",
        title="thousands or decimal separator misread",
        hint="State the number format of the document, and ask for plain numbers such as 1240.50.",
        matches=_is_separator_misread,
        needs="has_amount",
    ),
    Pattern(
        name="scale",
        title="off by a power of ten",
        hint="State whether amounts are in cents, thousands or percent, and check decimal points.",
        matches=lambda expected, candidate: _ratio(expected, candidate) in _POWERS,
        needs="has_amount",
    ),
    Pattern(
        name="rounded",
        title="rounded or truncated number",
        hint="Ask for all decimals as printed.",
        matches=_is_rounded,
        needs="has_number",
    ),
    Pattern(
        name="accents",
        title="different accents or character widths",
        hint="Preserve Unicode in OCR, and ask for names exactly as printed.",
        matches=lambda expected, candidate: expected.plain == candidate.plain != "",
    ),
    Pattern(
        name="punctuation",
        title="different punctuation",
        hint="Ask for the text exactly as printed, or remove punctuation after extraction.",
        matches=lambda expected, candidate: expected.letters == candidate.letters != "",
    ),
    Pattern(
        name="word_order",
        title="same words in a different order",
        hint="Specify the order of the parts, such as given name first.",
        matches=_has_same_words,
    ),
    Pattern(
        name="truncated",
        title="truncated text",
        hint=(
            "Ask for the complete text across lines, and check the limits on length and "
            "output tokens."
        ),
        matches=_is_truncated,
    ),
    Pattern(
        name="partial_text",
        title="only part of the text",
        hint="Say where the value starts and ends, and that it may span several lines.",
        matches=lambda expected, candidate: _is_part(candidate.stripped, expected.stripped),
    ),
    Pattern(
        name="extra_text",
        title="value with surrounding text",
        hint="Ask for the value only, without labels, titles or neighboring text.",
        matches=lambda expected, candidate: _is_part(expected.stripped, candidate.stripped),
    ),
    Pattern(
        name="similar_characters",
        title="similar-looking characters such as 0 and O",
        hint=(
            "Increase the image resolution, or correct these characters using the format of"
            " the field."
        ),
        matches=_has_similar_characters,
    ),
    Pattern(
        name="one_digit",
        title="one wrong digit",
        hint="Increase the image resolution, and verify check digits and totals.",
        matches=_differs_in_one_digit,
        needs="has_number",
    ),
    Pattern(
        name="misspelled",
        title="spelling differs by a few characters",
        hint="Increase the image resolution, or look up values in a list of known values.",
        matches=_is_misspelled,
    ),
)
"""The patterns of wrong values, the most specific first."""

_IN_PLACES: Final = (
    Pattern(
        name="item_order",
        title="items in a different order",
        hint=(
            "Ask for the items in the order of the document, or sort both lists by a key "
            "after extraction."
        ),
        condition="If the order does not matter",
        list_rule={"align": "greedy"},
    ),
    Pattern(
        name="item_offset",
        title="items shifted by a missing or extra item",
        hint="Ask for every item once: one missing or extra item moves all items behind it.",
        condition="If only the missing or extra item should count",
        list_rule={"align": "sequence"},
    ),
    Pattern(
        name="shifted_rows",
        title="values from the row above or below",
        hint="Rows are misaligned. Ask for one item per printed row and for null in empty cells.",
    ),
    Pattern(
        name="box_format",
        title="box with other coordinates: corners, or a corner and the size",
        hint=(
            "State the meaning of the four numbers in the prompt, such as [left, top, "
            "right, bottom]."
        ),
        condition="If boxes match at an overlap (IoU) of 0.5",
        rules=_BOXES_BY_FORMAT,
    ),
    Pattern(
        name="box_axes",
        title="box with x and y exchanged",
        hint=(
            "State the order of the four numbers in the prompt, such as [left, top, right, bottom]."
        ),
    ),
    Pattern(
        name="box_unit",
        title="box in another unit",
        hint=(
            "State the unit of coordinates, such as pixels or shares of the page, or "
            "convert it with the size of the page."
        ),
    ),
    Pattern(
        name="box_shifted",
        title="box of the same size at a different position",
        hint=(
            "Check the origin and the crop or margin of the page image, if the shift is "
            "always the same."
        ),
        condition="If boxes match at an overlap (IoU) of 0.5",
        rules=_BOXES,
    ),
    Pattern(
        name="box_inexact",
        title="box that overlaps with inexact coordinates",
        hint="Use the boxes of the OCR result, if coordinates have to be exact.",
        condition="If boxes match at an overlap (IoU) of 0.5",
        rules=_BOXES,
    ),
    Pattern(
        name="other_row",
        title="value of the same field in another item",
        hint=(
            "Ask for one item per printed row, and check that the columns of each row stay "
            "together."
        ),
    ),
    Pattern(
        name="other_field",
        title="value of another field",
        hint="Distinguish the two fields in the prompt: labels, position, an example.",
    ),
    Pattern(
        name="no_candidate",
        title="no prediction for the document",
        hint="Find out why no prediction was produced: a refusal, a timeout or a skipped page.",
    ),
    Pattern(
        name="parse_error",
        title="prediction is not valid JSON",
        hint="Ask for JSON only, use structured output, and check the limit on output tokens.",
    ),
    Pattern(
        name="missing_item",
        title="missing list item",
        hint="Ask for every item. Long lists may need to be extracted in parts.",
    ),
    Pattern(
        name="extra_item",
        title="extra list item",
        hint=(
            "Ask for each item once, and rule out what is none, such as totals and headings"
            " of a table."
        ),
    ),
    Pattern(
        name="null_value",
        title="null instead of a value",
        hint="Describe where the value is printed and with which labels, and give an example.",
    ),
    Pattern(
        name="blank_value",
        title="blank instead of a value",
        hint="Describe where the value is printed and with which labels, and give an example.",
    ),
    Pattern(
        name="missing_key",
        title="missing key",
        hint="Mark the key as required in the schema, and describe where the value is printed.",
    ),
    Pattern(
        name="extra_value",
        title="value where the ground truth is empty",
        hint="Ask for null if nothing is printed, and rule out guesses and defaults.",
    ),
    Pattern(
        name="extra_key",
        title="key that is not in the ground truth",
        hint="List the allowed keys, and forbid additional ones.",
    ),
    Pattern(
        name="different",
        title="different value",
        hint="Look at the examples, and describe in the prompt how to find the correct value.",
    ),
)
"""The patterns that follow from the place of a mistake, or from the type of its outcome."""

_ROWS: Final = [
    (pattern.needs, pattern.matches, pattern.name)
    for pattern in _IN_VALUES
    if pattern.matches is not None
]
_WORDY_ROWS: Final = [row for row in _ROWS if not row[0]]
"""The rows for a text without digits, which is neither a date nor a number."""

BY_NAME: Final = {pattern.name: pattern for pattern in (*_IN_VALUES, *_IN_PLACES)}
"""All patterns by name."""


def pattern_of(expected: JsonValue, candidate: JsonValue, orders: SidesOrder = UNKNOWN) -> str:
    """Return the name of the first pattern that matches a wrong value.

    `orders` are the known orders of the dates of both sides.

    >>> pattern_of("2024-03-02", "2024-02-03"), pattern_of("1,240.00", "1.24")
    ('date_swapped', 'thousands_separator')
    """
    first, second = _TextForms(expected, orders[0]), _TextForms(candidate, orders[1])
    for needed, matches, name in _WORDY_ROWS if first.is_wordy else _ROWS:
        if (not needed or getattr(first, needed)) and matches(first, second):
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


def is_date_swapped(
    expected: JsonValue, candidate: JsonValue, orders: SidesOrder = UNKNOWN
) -> bool:
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
    return _is_date_swapped(_TextForms(expected, orders[0]), _TextForms(candidate, orders[1]))
