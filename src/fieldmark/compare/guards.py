"""Guards: heuristics that reject a semantic match.

Embedding models give "terminated" and "not terminated", 1,200 and 12,000, or "A sued B" and
"B sued A" a similarity near 1. A guard looks for one such difference and reports it. Guards do
not understand meaning and can be wrong in both directions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from rapidfuzz import fuzz

from fieldmark.compare.fuzzy import levenshtein_similarity
from fieldmark.compare.options import check_flag
from fieldmark.errors import OptionError
from fieldmark.model.json import JsonObject
from fieldmark.values.date_words import ENGLISH
from fieldmark.values.text import normalized

__all__ = [
    "GUARDS_VERSION",
    "Guards",
    "equal_ignoring_punctuation",
    "is_name_or_code",
    "name_similarity",
]

GUARDS_VERSION: Final = 1
"""Incremented whenever the guards reject other pairs than before."""

GuardsOption: TypeAlias = "Mapping[str, bool] | bool | None"
"""All guards, none, some by name, or the default of the provider."""

_MAX_NAMED: Final = 3
_MAX_DATES: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Which guards are on; each requires that two strings agree in one respect.

    With `strings`, names, identifiers and short codes are compared by their letters and not sent
    to a provider.
    """

    numbers: bool = True
    dates: bool = True
    negation: bool = True
    codes: bool = True
    order: bool = True
    strings: bool = True

    @classmethod
    def of(cls, chosen: GuardsOption, *, default: bool) -> Guards:
        """Return the guards of an option: all, none, or the default with exceptions."""
        names = [guard.name for guard in fields(cls)]
        valid = ", ".join(names)
        if isinstance(chosen, bool) or chosen is None:
            on = default if chosen is None else chosen
            return cls(**dict.fromkeys(names, on))
        if not isinstance(chosen, Mapping):
            raise OptionError("guards", f"must be true, false or an object with keys: {valid}")
        for name, flag in chosen.items():
            if name not in names:
                raise OptionError("guards", f"unknown guard {name!r}; must be one of: {valid}")
            check_flag(f"guards.{name}", flag)
        return cls(**{**dict.fromkeys(names, default), **chosen})

    def objection(self, expected: str, candidate: str) -> str:
        """Return why two similar strings cannot mean the same; empty if they can.

        >>> Guards().objection("1,200 units", "12,000 units")
        'numbers differ: 1,200 vs. 12,000'
        """
        guards = (guard for name, guard in _GUARDS.items() if getattr(self, name))
        return next(filter(None, (guard(expected, candidate) for guard in guards)), "")

    def to_dict(self) -> JsonObject:
        """Return which guards are on, and their version."""
        flags = {guard.name: getattr(self, guard.name) for guard in fields(self)}
        return {"version": GUARDS_VERSION, **flags} if any(flags.values()) else {}


def _compare_dates(expected: str, candidate: str) -> str:
    want, got = _find_dates(expected), _find_dates(candidate)
    if max(len(want), len(got)) > _MAX_DATES:
        return f"too many dates to compare (limit {_MAX_DATES})"
    missing = [one.text for one in want if not any(_same_date(one, other) for other in got)]
    extra = [one.text for one in got if not any(_same_date(one, other) for other in want)]
    return _difference("dates", missing, extra)


def _compare_numbers(expected: str, candidate: str) -> str:
    # Dates and codes have their own guards.
    want_text, got_text = (
        _CODE_TOKEN.sub(lambda code: " " if _is_code(code.group()) else code.group(), text)
        for text in map(_without_dates, (expected, candidate))
    )
    want, got = _find_numbers(want_text), _find_numbers(got_text)
    in_want = set[Decimal]().union(*(number.values for number in want), _number_words(want_text))
    in_got = set[Decimal]().union(*(number.values for number in got), _number_words(got_text))
    missing = [number.text for number in want if number.values.isdisjoint(in_got)]
    extra = [number.text for number in got if number.values.isdisjoint(in_want)]
    return _difference("numbers", missing, extra)


def _compare_codes(expected: str, candidate: str) -> str:
    want, got = _find_codes(_without_dates(expected)), _find_codes(_without_dates(candidate))
    missing = [text for code, text in want.items() if code not in got]
    extra = [text for code, text in got.items() if code not in want]
    if missing or extra:
        return _difference("codes", missing, extra)
    ours, theirs = dict.fromkeys(_acronyms(expected)), dict.fromkeys(_acronyms(candidate))
    missing = [acronym for acronym in ours if acronym not in theirs]
    extra = [acronym for acronym in theirs if acronym not in ours]
    # One side may spell out an acronym, but two different acronyms mean different things.
    return _difference("codes", missing, extra) if missing and extra else ""


def _compare_negations(expected: str, candidate: str) -> str:
    want, got = _negations(expected), _negations(candidate)
    return _difference("negations", want, got) if len(want) != len(got) else ""


def _compare_order(expected: str, candidate: str) -> str:
    want, got = _capitalized(expected), _capitalized(candidate)
    shared = set(want) & set(got)
    first = list(dict.fromkeys(word for word in want if word in shared))
    second = list(dict.fromkeys(word for word in got if word in shared))
    return _difference("names are in a different order", first, second) if first != second else ""


_GUARDS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "dates": _compare_dates,
    "numbers": _compare_numbers,
    "codes": _compare_codes,
    "negation": _compare_negations,
    "order": _compare_order,
}


def _difference(what: str, expected: Sequence[str], candidate: Sequence[str]) -> str:
    if not expected and not candidate:
        return ""
    verb = "" if " " in what else " differ"
    return f"{what}{verb}: {_first_few(expected)} vs. {_first_few(candidate)}"


def _first_few(items: Sequence[str]) -> str:
    if not items:
        return "none"
    dots = ", …" if len(items) > _MAX_NAMED else ""
    return ", ".join(items[:_MAX_NAMED]) + dots


# --- dates ----------------------------------------------------------------------------------------


class _Day(NamedTuple):
    """A date whose year or day may be unknown."""

    year: int | None
    month: int
    day: int | None


class _WrittenDate(NamedTuple):
    """A date as written, and the days that it can mean."""

    text: str
    days: list[_Day]


_MONTH: Final = "|".join(sorted(ENGLISH.months, key=len, reverse=True))
_DAY: Final = r"[0-3]?[0-9]"
_TIME: Final = r"(?:[Tt ][0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?[Zz]?)?"
_DATE: Final = re.compile(
    rf"""
    \b(?:
      (?P<iso_year>[0-9]{{4}})-(?P<iso_month>[01]?[0-9])-(?P<iso_day>{_DAY}){_TIME}
    | (?P<one>{_DAY})(?P<mark>[./-])(?P<two>{_DAY})(?P=mark)(?P<short_year>[0-9]{{4}}|[0-9]{{2}})
    | (?P<first_day>{_DAY})(?:st|nd|rd|th)?(?:\.?[ ]|-)(?:of[ ])?(?P<then_month>{_MONTH})\b
      (?:\.?,?[ -](?P<then_year>[0-9]{{4}}))?
    | (?P<first_month>{_MONTH})\.?[ ](?P<then_day>{_DAY})(?:st|nd|rd|th)?\b
      (?:,?[ ](?P<last_year>[0-9]{{4}}))?
    | (?P<only_month>{_MONTH})\.?,?[ ](?P<only_year>[0-9]{{4}})
    )(?![0-9])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MAX_DAY: Final = 31
_MAX_MONTH: Final = 12
_CENTURY: Final = 100


def _find_dates(text: str) -> list[_WrittenDate]:
    """Return every date in a string, in order.

    >>> [sorted(date.days) for date in _find_dates("due on 3 May 2024")]
    [[_Day(year=2024, month=5, day=3)]]
    """
    found = [_WrittenDate(match.group(), _days(match)) for match in _DATE.finditer(text)]
    return [date for date in found if date.days]


def _same_date(expected: _WrittenDate, candidate: _WrittenDate) -> bool:
    """Whether two dates can mean the same day; parts that one of them omits are not compared."""
    return any(_same_day(one, other) for one in expected.days for other in candidate.days)


def _same_day(one: _Day, other: _Day) -> bool:
    years = one.year is None or other.year is None or _full_year(one.year) == _full_year(other.year)
    days = one.day is None or other.day is None or one.day == other.day
    return years and days and one.month == other.month


def _full_year(year: int) -> int:
    """Return the year with its century; a two-digit year is after 2000."""
    return year + 2000 if year < _CENTURY else year


def _days(match: re.Match[str]) -> list[_Day]:
    """Return the days that a written date can mean."""
    if match["iso_year"]:
        days = [_Day(int(match["iso_year"]), int(match["iso_month"]), int(match["iso_day"]))]
    elif match["one"]:
        one, two, year = int(match["one"]), int(match["two"]), int(match["short_year"])
        days = [_Day(year, one, two), _Day(year, two, one)]
    elif match["first_day"]:
        days = [_spelled_day(match, "then_year", "then_month", "first_day")]
    elif match["first_month"]:
        days = [_spelled_day(match, "last_year", "first_month", "then_day")]
    else:
        days = [_spelled_day(match, "only_year", "only_month", None)]
    return [
        day
        for day in days
        if 1 <= day.month <= _MAX_MONTH and (day.day is None or 1 <= day.day <= _MAX_DAY)
    ]


def _spelled_day(match: re.Match[str], year: str, month: str, day: str | None) -> _Day:
    return _Day(
        int(match[year]) if match[year] else None,
        ENGLISH.months[match[month].lower()],
        int(match[day]) if day else None,
    )


def _without_dates(text: str) -> str:
    """Return the string with each date replaced by a space."""
    return _DATE.sub(lambda match: " " if _days(match) else match.group(), text)


# --- numbers --------------------------------------------------------------------------------------


class _WrittenNumber(NamedTuple):
    """A number as written, and the values that it can mean."""

    text: str
    values: frozenset[Decimal]


_MAX_DIGITS: Final = 100
"""Longer numbers are truncated to this many characters."""
_GROUP: Final = 3
"""Digits between two thousands separators."""
_NUMBER: Final = re.compile(
    r"(?:(?<![\w.,)])[-\u2212](?=[0-9]))?(?<![0-9])"
    r"(?P<digits>[0-9]+(?:[.,'\u00a0\u202f\u2019][0-9]+)*)"
    r"(?:[ ]?(?P<unit>thousand|million|billion|bn|mn|[kKmMbB])\b)?",
    re.IGNORECASE,
)
_NUMBER_WORD: Final = re.compile(r"[a-z]+")
_UNIT_WORDS: Final[Mapping[str, int]] = {
    "thousand": 3,
    "million": 6,
    "mn": 6,
    "billion": 9,
    "bn": 9,
}
"""Words for powers of ten, by exponent."""
_UNIT_LETTERS: Final[Mapping[str, int]] = {"k": 3, "m": 6, "b": 9}
"""Letters for powers of ten, by exponent; they can also be units of measurement."""
_NUMBER_WORDS: Final[Mapping[str, Decimal]] = {
    word: Decimal(number)
    for number, word in zip(
        (*range(21), *range(30, 101, 10)),
        (
            "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
            "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
            "eighteen", "nineteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy",
            "eighty", "ninety", "hundred",
        ),
        strict=True,
    )
}  # fmt: skip


def _find_numbers(text: str) -> list[_WrittenNumber]:
    """Return every number written with digits in a string, in order.

    >>> [sorted(map(str, number.values)) for number in _find_numbers("1,200 of 1.2 million")]
    [['1200'], ['1.2E+6']]
    """
    return [
        _WrittenNumber(match.group().strip(), frozenset(_number_values(match)))
        for match in _NUMBER.finditer(text)
    ]


def _number_words(text: str) -> set[Decimal]:
    """Return every number written as a word in a string."""
    words = _NUMBER_WORD.findall(text.lower())
    return {_NUMBER_WORDS[word] for word in words if word in _NUMBER_WORDS}


def _number_values(match: re.Match[str]) -> set[Decimal]:
    digits, unit = match["digits"], (match["unit"] or "").lower()
    negative = match.group()[0] in "-\u2212"
    plain = {Decimal(text) for text in _decimal_readings(digits[:_MAX_DIGITS])}
    if negative:
        plain = {-value for value in plain}
    if unit in _UNIT_WORDS:
        return {value.scaleb(_UNIT_WORDS[unit]) for value in plain}
    if unit in _UNIT_LETTERS:
        return plain | {value.scaleb(_UNIT_LETTERS[unit]) for value in plain}
    return plain


def _decimal_readings(digits: str) -> set[str]:
    """Return the decimal numbers that digits with separators can mean."""
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
    if len(part) != _GROUP or whole.startswith("0") or len(whole) > _GROUP:
        return {decimal}
    return {bare} if last == "," else {bare, decimal}


# --- words ----------------------------------------------------------------------------------------

_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_NEGATIONS: Final = frozenset(
    (
        "not", "no", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "without",
        "cannot", "non",
        "nicht", "nichts", "nie", "niemals", "kein", "keine", "keinen", "keiner", "keinem", "ohne",
        "pas", "jamais", "sans", "aucun", "aucune",
    )
)  # fmt: skip
_ENDS_IN_NOT: Final = re.compile(r"n['\u2019]t\Z")
_NUMBER_SIGN: Final = re.compile(r"\bno\.?(?=[ ]?[0-9])", re.IGNORECASE)
_CODE_TOKEN: Final = re.compile(r"[^\W_]+(?:[-/_#:.][^\W_]+)*")
_ORDINAL_OR_UNIT: Final = re.compile(r"[0-9]+(?:st|nd|rd|th|[a-z]{1,3}|[KMB]|[KMGT]B)\Z")
_SEPARATOR: Final = re.compile(r"[-/_#:.]")
_GROUPED: Final = re.compile(r"[0-9]+(?:[-/][0-9]+)+\Z")
_MIN_CODE_DIGITS: Final = 6
"""Groups with fewer digits in total are numbers, such as a range or a fraction."""
_ACRONYM: Final = re.compile(r"\b[A-Z]{2,5}\b")


def _negations(text: str) -> list[str]:
    """Return the negations in a string; the "No." before a number does not count.

    >>> _negations("The contract wasn't terminated, and not No. 5.")
    ["wasn't", 'not']
    """
    words = _WORD.findall(_NUMBER_SIGN.sub("", text).lower())
    return [word for word in words if word in _NEGATIONS or _ENDS_IN_NOT.search(word)]


def _find_codes(text: str) -> dict[str, str]:
    """Return the codes in a string as written, by their form without case and separators.

    >>> _find_codes("See INV-2024/7 of the 3rd, 5kg")
    {'INV20247': 'INV-2024/7'}
    """
    tokens = (match.group() for match in _CODE_TOKEN.finditer(text))
    return {_SEPARATOR.sub("", token).upper(): token for token in tokens if _is_code(token)}


def _acronyms(text: str) -> list[str]:
    """Return the short uppercase words, unless the whole string is in uppercase."""
    return [] if text.upper() == text else _ACRONYM.findall(text)


def _capitalized(text: str) -> list[str]:
    """Return the capitalized words of a string, unless all of its words are capitalized."""
    words = _WORD.findall(text)
    capitals = [word.casefold() for word in words if word[0].isupper()]
    return capitals if len(capitals) < len(words) else []


def _is_code(token: str) -> bool:
    digits = sum(map(str.isdigit, token))
    if not digits or _ORDINAL_OR_UNIT.match(token):
        return False
    if any(map(str.isalpha, token)):
        return True
    return digits >= _MIN_CODE_DIGITS and _GROUPED.match(token) is not None


# --- names and codes ------------------------------------------------------------------------------

_MAX_NAME_LENGTH: Final = 60
_MAX_NAME_WORDS: Final = 5
_MIN_NAME_WORDS: Final = 2
_NAME_WORD: Final = re.compile(r"[^\W\d_]['\u2019.\-&\w]*,?\Z")
_PARTICLES: Final = frozenset(
    (
        "van", "von", "de", "der", "den", "del", "della", "di", "da", "du", "la", "le", "bin", "al",
        "ter", "zu", "of", "and",
    )
)  # fmt: skip
_PUNCTUATION: Final = re.compile(r"[\W_]+")
_CODE: Final = re.compile(r"(?=[^ ]*[0-9])[^ ]{1,40}\Z|[A-Z]{2,5}\Z")


def is_name_or_code(text: str) -> bool:
    """Whether a string looks like a name, an identifier or a short code.

    >>> [is_name_or_code(text) for text in ("John van Dyke", "INV-7", "EUR", "Paid in full")]
    [True, True, True, False]
    """
    text = text.strip()
    if len(text) > _MAX_NAME_LENGTH:
        return False
    if _CODE.match(text):
        return True
    # A name has two to five capitalized words and is not entirely in uppercase.
    words = text.split()
    if not _MIN_NAME_WORDS <= len(words) <= _MAX_NAME_WORDS or text.upper() == text:
        return False
    return words[0][0].isupper() and all(
        _NAME_WORD.match(word) and (word[0].isupper() or word in _PARTICLES) for word in words
    )


def equal_ignoring_punctuation(expected: str, candidate: str) -> bool:
    """Whether two strings differ only in case, whitespace and punctuation.

    >>> equal_ignoring_punctuation("INV-2041", "inv 2041"), equal_ignoring_punctuation("-", "+")
    (True, False)
    """
    want, got = (_PUNCTUATION.sub("", normalized(text)) for text in (expected, candidate))
    return want == got != ""


def name_similarity(expected: str, candidate: str) -> float:
    """Return the similarity of two strings by their letters, also with sorted words."""
    expected, candidate = normalized(expected), normalized(candidate)
    sorted_words = fuzz.token_sort_ratio(expected, candidate) / 100
    return max(levenshtein_similarity(expected, candidate), sorted_words)
