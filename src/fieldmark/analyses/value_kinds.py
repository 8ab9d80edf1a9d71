"""Classify values and the differences between them, to propose rules and to find faults."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final

from fieldmark.compare.currency import Currency
from fieldmark.compare.email import Email
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.phone import Phone
from fieldmark.compare.timestamp import Timestamp
from fieldmark.compare.url import Url
from fieldmark.errors import MissingExtra
from fieldmark.model.json import JsonValue
from fieldmark.values.dates import DateOrder, DateReader, date_words, read_day
from fieldmark.values.equality import equal
from fieldmark.values.numbers import NumberFormat, as_number, exact_fraction, read_amount
from fieldmark.values.text import Ignored, folded, ignoring, normalized, with_plain_marks
from fieldmark.values.times import read_time, same_time

_LONG_TEXT: Final = 120
_MANY_WORDS: Final = 15
_MAX_CODE: Final = 40
_MAX_CACHED: Final = 64
_PHONE_DIGITS: Final = range(7, 16)


class ValueKind(StrEnum):
    """The kind of a scalar, as relevant for the choice of a comparator."""

    BOOLEAN = "boolean"
    WHOLE_NUMBER = "integer"
    DECIMAL_NUMBER = "decimal number"
    NUMBER_TEXT = "number in a string"
    AMOUNT = "amount such as 1,240.00"
    DATE = "date"
    IMPOSSIBLE_DATE = "impossible date"
    FOREIGN_DATE = "date in another language"
    EMAIL = "e-mail address"
    YES_OR_NO = "yes or no"
    WEB_ADDRESS = "web address"
    DIGITS = "many digits"
    CODE = "code"
    TEXT = "text"
    LONG_TEXT = "long text"


class Reader(StrEnum):
    """A way to read a scalar; the values name what a proposal sets."""

    DATE = "date"
    DATE_MDY = "mdy"
    DATE_DMY = "dmy"
    DATE_YMD = "ymd"
    MOMENT = "date with a time"
    MONTH = "month"
    YEAR = "year"
    TIME = "time"
    CURRENCY = "currency"
    AMBIGUOUS_DATE = "ambiguous date"
    SHORT_YEAR = "two-digit year"
    GERMAN_DATE = "de"
    FRENCH_DATE = "fr"
    SPANISH_DATE = "es"
    ITALIAN_DATE = "it"
    DUTCH_DATE = "nl"
    PORTUGUESE_DATE = "pt"
    PLAIN_NUMBER = "number"
    NUMBER_US = "us"
    NUMBER_EU = "eu"
    NUMBER_CH = "ch"
    NUMBER_IN = "in"
    AMBIGUOUS_NUMBER = "ambiguous number"
    PERCENT = "percent"
    PHONE = "phone"


class Difference(StrEnum):
    """How a candidate value differs from the expected one."""

    NONE = "equal"
    CASE = "different case"
    WHITESPACE = "different whitespace"
    DASH = "different dash"
    FORM = "different form of characters"
    SPACING = "with and without spaces"
    NUMBER_FORMAT = "different number format"
    DATE_FORMAT = "different date format"
    TIME_FORMAT = "different time format"
    CURRENCY_NAME = "different name of the currency"
    CLOSE = "similar text"
    LISTED = "one of the acceptable values"
    OTHER = "different value"


_YES_OR_NO: Final = frozenset({"yes", "no", "true", "false", "y", "n"})
_WEB_ADDRESS: Final = re.compile(r"(?:https?://|www\.)\S+\Z", re.IGNORECASE)
_DIGITS: Final = re.compile(r"[0-9]{5,}\Z")
_DATE_SHAPE: Final = re.compile(
    r"(?:[0-9]{4}([./-])[0-9]{1,2}\1[0-9]{1,4}|[0-9]{1,2}([./-])[0-9]{1,2}\2[0-9]{4}"
    r"|[0-9]{1,2}([/-])[0-9]{1,2}\3[0-9]{2}"
    r"|[0-9]{1,2}[ ./-]?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[ ./,-]*[0-9]{4})"
    r"(?:[T ][0-9:.]+Z?)?\Z",
    re.IGNORECASE,
)
"""Text in the form of a date; if it cannot be read, its day, month or year is impossible."""
_FOREIGN_SHAPE: Final = re.compile(
    r"(?=.*[^\W\d_]{3})(?=.*\b[0-9]{1,2}\b).{4,40}\b[0-9]{4}\Z", re.DOTALL
)
"""Text with a word of at least three letters, a day and a year at its end."""
_PHONE_SHAPE: Final = re.compile(r"[+(]?[0-9][0-9 ()./\u2011-]*[0-9](?: ?(?:x|ext\.?) ?[0-9]+)?\Z")
_EMAIL: Final = Email()
_URL: Final = Url()


def _is_code(text: str) -> bool:
    """Whether a text has a digit and no space, or at least half of it is digits.

    Text in a script without capital letters, such as Japanese, may have no spaces between words.
    """
    trimmed = text.strip()
    if any(
        character > "ÿ" and unicodedata.category(character) == "Lo"
        for character in trimmed[:_MAX_CODE]
    ):
        return False
    characters = trimmed.replace(" ", "")
    digits = sum(map(str.isdecimal, characters))
    return (
        len(trimmed) <= _MAX_CODE
        and digits > 0
        and (len(characters) == len(trimmed) or digits * 2 >= len(characters))
    )


LOCALES: Final = (
    Reader.GERMAN_DATE,
    Reader.FRENCH_DATE,
    Reader.SPANISH_DATE,
    Reader.ITALIAN_DATE,
    Reader.DUTCH_DATE,
    Reader.PORTUGUESE_DATE,
)
"""The languages whose month names are tried, the most likely first."""


@lru_cache(maxsize=1)
def _locale_readers() -> Mapping[Reader, DateReader]:
    """Return the readers of dates in other languages; none if their data is not installed."""
    try:
        return {locale: DateReader(words=date_words((locale.value,))) for locale in LOCALES}
    except MissingExtra:
        return {}


def _locales_of(text: str) -> frozenset[Reader]:
    """Return the languages that read a text as a date."""
    text = text.strip()
    if _FOREIGN_SHAPE.match(text) is None:
        return frozenset()
    readers = _locale_readers().items()
    return frozenset(locale for locale, reader in readers if reader.read(text) is not None)


_TEXT_KINDS: Final[tuple[tuple[ValueKind, Callable[[str], bool]], ...]] = (
    (ValueKind.EMAIL, lambda text: "@" in text and _EMAIL.compare(text, text).matched),
    (ValueKind.YES_OR_NO, lambda text: folded(text) in _YES_OR_NO),
    (ValueKind.DATE, lambda text: read_day(text) is not None),
    (ValueKind.IMPOSSIBLE_DATE, lambda text: _DATE_SHAPE.match(text.strip()) is not None),
    (ValueKind.FOREIGN_DATE, lambda text: bool(_locales_of(text))),
    (
        ValueKind.WEB_ADDRESS,
        lambda text: (
            _WEB_ADDRESS.match(text.strip()) is not None and _URL.compare(text, text).matched
        ),
    ),
    (ValueKind.DIGITS, lambda text: _DIGITS.match(text.strip()) is not None),
    (ValueKind.NUMBER_TEXT, lambda text: as_number(text) is not None),
    (ValueKind.AMOUNT, lambda text: as_number(text, NumberFormat.AUTO) is not None),
    (ValueKind.CODE, _is_code),
    (ValueKind.LONG_TEXT, lambda text: len(text) > _LONG_TEXT or len(text.split()) > _MANY_WORDS),
)
"""The first matching predicate decides; other values are text."""


def kind_of_value(value: JsonValue) -> ValueKind:
    """Return the kind of a scalar.

    >>> kind_of_value("INV-001").value, kind_of_value("1,240.00").value
    ('code', 'amount such as 1,240.00')
    >>> kind_of_value("2025-01-2025").value
    'impossible date'
    """
    if isinstance(value, bool):
        return ValueKind.BOOLEAN
    if isinstance(value, int):
        return ValueKind.WHOLE_NUMBER
    if isinstance(value, float):
        return ValueKind.WHOLE_NUMBER if value.is_integer() else ValueKind.DECIMAL_NUMBER
    text = str(value)
    return _kind_of_text(text) if len(text) <= _MAX_CACHED else _kind_of_text.__wrapped__(text)


@lru_cache(maxsize=8192)
def _kind_of_text(text: str) -> ValueKind:
    return next((kind for kind, predicate in _TEXT_KINDS if predicate(text)), ValueKind.TEXT)


def difference_of(expected: JsonValue, candidate: JsonValue) -> Difference:
    """Return the smallest difference that explains two non-empty values."""
    if equal(expected, candidate):
        return Difference.NONE
    if isinstance(expected, list) and not isinstance(candidate, list | dict):
        _, smallest = nearest_value(expected, candidate)
        return Difference.LISTED if smallest is Difference.NONE else smallest
    numbers = as_number(expected, NumberFormat.AUTO), as_number(candidate, NumberFormat.AUTO)
    if numbers[0] is not None and numbers[1] is not None:
        same = exact_fraction(numbers[0]) == exact_fraction(numbers[1])
        return Difference.NUMBER_FORMAT if same else Difference.OTHER
    if not (isinstance(expected, str) and isinstance(candidate, str)):
        return Difference.OTHER
    if expected.casefold() == candidate.casefold():
        return Difference.CASE
    sides = [" ".join(side.split()).casefold() for side in (expected, candidate)]
    if sides[0] == sides[1]:
        return Difference.WHITESPACE
    texts = normalized(expected), normalized(candidate)
    if texts[0] == texts[1]:
        dashes = {with_plain_marks(side) for side in sides}
        return Difference.DASH if len(dashes) == 1 else Difference.FORM
    if _unspaced(texts[0]) == _unspaced(texts[1]):
        return Difference.SPACING
    for difference, same_reading in _SAME_READING:
        is_same = same_reading(expected, candidate)
        if is_same is not None:
            return difference if is_same else Difference.OTHER
    return Difference.CLOSE if Fuzzy().compare(expected, candidate).matched else Difference.OTHER


_BETWEEN_DIGITS: Final = re.compile(r"(?<=[0-9])\s+(?=[0-9])")


def _unspaced(text: str) -> str:
    """Return a text without white space, which separates numbers: 1 2 is not 12."""
    return ignoring(_BETWEEN_DIGITS.sub("\0", text), [Ignored.WHITE_SPACE])


def _same_day(expected: str, candidate: str) -> bool | None:
    """Whether two days, months or years are the same; `None` if one of them is neither.

    If both have a time, they must be the same instant.
    """
    moments = [_DATE_READER.read_moment(text) for text in (expected, candidate)]
    if all(moment is not None and moment.time is not None for moment in moments):
        return _TIMESTAMP.compare(expected, candidate).matched
    first, second = (_DATE_READER.read_partial(text) for text in (expected, candidate))
    return None if first is None or second is None else first[:3] == second[:3]


def _same_time(expected: str, candidate: str) -> bool | None:
    first, second = read_time(expected), read_time(candidate)
    return None if first is None or second is None else same_time(first, second)


def _same_currency(expected: str, candidate: str) -> bool | None:
    if not (is_currency(expected) and is_currency(candidate)):
        return None
    return _CURRENCY.compare(expected, candidate).matched


_DATE_READER: Final = DateReader()
_CURRENCY: Final = Currency()
_TIMESTAMP: Final = Timestamp()
_SAME_READING: Final = (
    (Difference.DATE_FORMAT, _same_day),
    (Difference.TIME_FORMAT, _same_time),
    (Difference.CURRENCY_NAME, _same_currency),
)
"""Whether two texts that can be read in one way mean the same."""


def is_currency(value: JsonValue) -> bool:
    """Whether a value is the code, symbol or name of a currency, and nothing else."""
    return isinstance(value, str) and _CURRENCY.reads(value)


_ORDER: Final = tuple(Difference)


def nearest_value(expected: list[JsonValue], candidate: JsonValue) -> tuple[int, Difference]:
    """Return the index of the value that differs least from the candidate, and how.

    >>> nearest_value(["7", "5"], "5.0")
    (1, <Difference.NUMBER_FORMAT: 'different number format'>)
    """
    differences = [difference_of(value, candidate) for value in expected]
    smallest = min(differences, key=_ORDER.index, default=Difference.OTHER)
    return (differences.index(smallest) if differences else 0), smallest


_DATE_READERS: Final = {Reader(order.value): DateReader(order=order) for order in DateOrder}
_NUMBER_READERS: Final = {
    Reader(number_format.value): number_format
    for number_format in NumberFormat
    if number_format is not NumberFormat.AUTO
}
_NUMERIC_DATE: Final = re.compile(r"[0-9]\s?[./-]\s?[0-9]|[0-9]{8}")
_READ_NUMBERS: Final = frozenset((Reader.PLAIN_NUMBER, *_NUMBER_READERS))


def readers_of(value: JsonValue) -> frozenset[Reader]:
    """Return the readings of a scalar, and its special properties.

    >>> ", ".join(sorted(readers_of("31/12/18")))
    'ambiguous date, date, dmy, two-digit year, ymd'
    """
    if isinstance(value, str):
        return _readers(value) if len(value) <= _MAX_CACHED else _readers.__wrapped__(value)
    return frozenset() if as_number(value) is None else _READ_NUMBERS


@lru_cache(maxsize=8192)
def _readers(text: str) -> frozenset[Reader]:
    readers: set[Reader] = set()
    if is_currency(text):
        readers.add(Reader.CURRENCY)
    if not any(map(str.isdecimal, text)):
        return frozenset(readers)
    reading = read_day(text)
    # Some dates, such as 25032018, can only be read with an order.
    if reading is not None or _NUMERIC_DATE.search(text):
        readers.update(order for order, reader in _DATE_READERS.items() if reader.read(text))
    if as_number(text) is None and read_time(text) is not None:
        readers.add(Reader.TIME)
    if reading is not None:
        readers.add(Reader.DATE)
        moment = _DATE_READER.read_moment(text)
        if moment is not None and moment.time is not None:
            readers.add(Reader.MOMENT)
        if reading.ambiguous:
            readers.add(Reader.AMBIGUOUS_DATE)
        if reading.coerced:
            readers.add(Reader.SHORT_YEAR)
    else:
        readers.update(_locales_of(text))
        partial = _DATE_READER.read_partial(text)
        if partial is not None and not partial.coerced and as_number(text) is None:
            readers.add(Reader.MONTH)
        elif partial is not None and partial.month is None:
            readers.add(Reader.YEAR)
    if as_number(text) is not None:
        readers.add(Reader.PLAIN_NUMBER)
    formats = {} if read_amount(text) is None else _NUMBER_READERS
    amounts = {reader: read_amount(text, form) for reader, form in formats.items()}
    read = {reader: amount for reader, amount in amounts.items() if amount is not None}
    readers.update(read)
    if any(amount.percent for amount in read.values()):
        readers.add(Reader.PERCENT)
    if len({amount.number for amount in read.values()}) > 1:
        readers.add(Reader.AMBIGUOUS_NUMBER)
    if _is_phone(text.strip()):
        readers.add(Reader.PHONE)
    return frozenset(readers)


@lru_cache(maxsize=1)
def _phone() -> Phone | None:
    try:
        return Phone()
    except MissingExtra:
        return None


def phone_is_available() -> bool:
    """Whether telephone numbers can be compared."""
    return _phone() is not None


def _is_phone(text: str) -> bool:
    """Whether a text has the form and the digits of a telephone number."""
    if _PHONE_SHAPE.match(text) is None or sum(map(str.isdecimal, text)) not in _PHONE_DIGITS:
        return False
    phone = _phone()
    return phone is None or phone.compare(text, text).matched


_KEY_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@lru_cache(maxsize=8192)
def key_words(path: str) -> tuple[str, ...]:
    """Return the words in the name of an attribute, in lower case.

    >>> key_words("lines[*].unitPrice"), key_words("vendor_name"), key_words("orders[*]")
    (('unit', 'price'), ('vendor', 'name'), ('orders',))
    """
    key = path.removesuffix("[*]").rpartition(".")[2]
    return tuple(word.lower() for word in _KEY_WORDS.findall(key))


def decimals(number: float) -> int:
    """Return the number of decimals of a number in its shortest form.

    >>> decimals(12.5), decimals(3.0), decimals(1e-7)
    (1, 0, 7)
    """
    digits, _, power = repr(number).partition("e")
    fraction = digits.partition(".")[2].rstrip("0")
    return max(0, len(fraction) - int(power or 0))
