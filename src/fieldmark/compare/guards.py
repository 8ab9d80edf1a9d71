"""Heuristics that reject a semantic match: what is similar in wording may say the opposite."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from rapidfuzz import fuzz

from fieldmark.compare.fuzzy import levenshtein_similarity
from fieldmark.compare.options import check_flag
from fieldmark.errors import OptionError
from fieldmark.model.json import JsonObject
from fieldmark.values.text import normalized

__all__ = [
    "GUARDS_VERSION",
    "Day",
    "Figure",
    "Guards",
    "Written",
    "acronyms_in",
    "capitals_in",
    "codes_in",
    "dates_in",
    "equal_ignoring_punctuation",
    "is_name_or_code",
    "name_similarity",
    "negations_in",
    "numbers_in",
    "same_date",
    "spelled_in",
    "without_codes",
]


class Day(NamedTuple):
    """A day, or as much of it as a text says."""

    year: int | None
    month: int
    day: int | None


class Written(NamedTuple):
    """A date as it is written, where it stands, and the days that it can mean."""

    text: str
    start: int
    end: int
    days: frozenset[Day]


_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"), ("february", "feb"), ("march", "mar"), ("april", "apr"),
            ("may",), ("june", "jun"), ("july", "jul"), ("august", "aug"),
            ("september", "sept", "sep"), ("october", "oct"), ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}  # fmt: skip
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
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
_MOST_DAYS: Final = 31
_MOST_MONTHS: Final = 12
_CENTURY: Final = 100


def dates_in(text: str) -> list[Written]:
    """Every date in a text, in its order.

    >>> [sorted(date.days) for date in dates_in("due on 3 May 2024")]
    [[Day(year=2024, month=5, day=3)]]
    """
    found = []
    for match in _DATE.finditer(text):
        days = frozenset(filter(_is_day, _date_readings(match)))
        if days:
            found.append(Written(match.group(), match.start(), match.end(), days))
    return found


def same_date(expected: Written, candidate: Written) -> bool:
    """Whether two dates can mean the same day; what one of them leaves out may be anything."""
    return any(_agree(one, other) for one in expected.days for other in candidate.days)


def _agree(one: Day, other: Day) -> bool:
    years = one.year is None or other.year is None or _full(one.year) == _full(other.year)
    days = one.day is None or other.day is None or one.day == other.day
    return years and days and one.month == other.month


def _full(year: int) -> int:
    """A year of two digits is one of this century."""
    return year + 2000 if year < _CENTURY else year


def _is_day(day: Day) -> bool:
    in_month = day.day is None or 1 <= day.day <= _MOST_DAYS
    return in_month and 1 <= day.month <= _MOST_MONTHS


def _date_readings(match: re.Match[str]) -> Iterator[Day]:
    if match["iso_year"]:
        yield Day(int(match["iso_year"]), int(match["iso_month"]), int(match["iso_day"]))
    elif match["one"]:
        one, two, year = int(match["one"]), int(match["two"]), int(match["short_year"])
        yield from (Day(year, one, two), Day(year, two, one))
    elif match["first_day"]:
        yield _spelled(match, "then_year", "then_month", "first_day")
    elif match["first_month"]:
        yield _spelled(match, "last_year", "first_month", "then_day")
    else:
        yield _spelled(match, "only_year", "only_month", None)


def _spelled(match: re.Match[str], year: str, month: str, day: str | None) -> Day:
    return Day(
        int(match[year]) if match[year] else None,
        _MONTHS[match[month].lower()],
        int(match[day]) if day else None,
    )


class Figure(NamedTuple):
    """A number as it is written, and the values that it can mean."""

    text: str
    values: frozenset[Decimal]


_MAX_DIGITS: Final = 100
"""Longer rows of digits are compared as they are written."""
_THOUSAND: Final = 3
"""Digits between two marks of thousands."""
_NUMBER: Final = re.compile(
    r"(?:(?<![\w.,)])[-\u2212](?=[0-9]))?(?<![0-9])"
    r"(?P<digits>[0-9]+(?:[.,'\u00a0\u202f\u2019][0-9]+)*)"
    r"(?:[ ]?(?P<unit>thousand|million|billion|bn|mn|[kKmMbB])\b)?",
    re.IGNORECASE,
)
_NUMBER_WORD: Final = re.compile(r"[a-z]+")
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
        Figure(match.group().strip(), frozenset(_number_values(match)))
        for match in _NUMBER.finditer(text)
    ]


def spelled_in(text: str) -> list[Figure]:
    """Every number that a text spells with a word."""
    words = _NUMBER_WORD.findall(text.lower())
    return [Figure(word, frozenset({_SPELLED[word]})) for word in words if word in _SPELLED]


def _number_values(match: re.Match[str]) -> set[Decimal]:
    digits, unit = match["digits"], (match["unit"] or "").lower()
    negative = match.group()[0] in "-\u2212"
    if len(digits) > _MAX_DIGITS:
        digits = digits[:_MAX_DIGITS]
    plain = {Decimal(text) for text in _digit_readings(digits)}
    if negative:
        plain = {-value for value in plain}
    if unit in _SURE:
        return {value.scaleb(_SURE[unit]) for value in plain}
    if unit in _PERHAPS:
        return plain | {value.scaleb(_PERHAPS[unit]) for value in plain}
    return plain


def _digit_readings(digits: str) -> set[str]:
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


_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_NEGATIONS: Final = frozenset(
    [
        "not",
        "no",
        "never",
        "none",
        "nobody",
        "nothing",
        "nowhere",
        "neither",
        "nor",
        "without",
        "cannot",
        "non",
        "nicht",
        "nichts",
        "nie",
        "niemals",
        "kein",
        "keine",
        "keinen",
        "keiner",
        "keinem",
        "ohne",
        "pas",
        "jamais",
        "sans",
        "aucun",
        "aucune",
    ]
)
_ENDS_IN_NOT: Final = re.compile(r"n['\u2019]t\Z")
_NUMERO: Final = re.compile(r"\bno\.?(?=[ ]?[0-9])", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[^\W_]+(?:[-/_#:.][^\W_]+)*")
_ORDINAL_OR_UNIT: Final = re.compile(r"[0-9]+(?:st|nd|rd|th|[a-z]{1,3}|[KMB]|[KMGT]B)\Z")
_SEPARATOR: Final = re.compile(r"[-/_#:.]")
_GROUPED: Final = re.compile(r"[0-9]+(?:[-/][0-9]+)+\Z")
_FEWEST_DIGITS: Final = 6
"""Groups of fewer digits are taken for numbers: a range, a fraction."""
_ACRONYM: Final = re.compile(r"\b[A-Z]{2,5}\b")


def negations_in(text: str) -> list[str]:
    """The words of a text that deny something.

    >>> negations_in("The contract wasn't terminated, and not No. 5.")
    ["wasn't", 'not']
    """
    words = _WORD.findall(_NUMERO.sub("", text).lower())
    return [word for word in words if word in _NEGATIONS or _ENDS_IN_NOT.search(word)]


def codes_in(text: str) -> dict[str, str]:
    """The codes of a text as they are written, by what is left without case and separators.

    >>> codes_in("See INV-2024/7 of the 3rd, 5kg")
    {'INV20247': 'INV-2024/7'}
    """
    tokens = (match.group() for match in _TOKEN.finditer(text))
    return {_SEPARATOR.sub("", token).upper(): token for token in tokens if _is_code(token)}


def without_codes(text: str) -> str:
    """The text with blanks in place of its codes."""
    return _TOKEN.sub(lambda match: " " if _is_code(match.group()) else match.group(), text)


def acronyms_in(text: str) -> list[str]:
    """Short words in capitals, of a text that is not in capitals as a whole."""
    return [] if text.upper() == text else _ACRONYM.findall(text)


def capitals_in(text: str) -> list[str]:
    """The words of a sentence that begin with a capital; a text without other words is none."""
    words = _WORD.findall(text)
    capitals = [word.casefold() for word in words if word[0].isupper()]
    return capitals if len(capitals) < len(words) else []


def _is_code(token: str) -> bool:
    digits = sum(map(str.isdigit, token))
    if not digits or _ORDINAL_OR_UNIT.match(token):
        return False
    if any(map(str.isalpha, token)):
        return True
    return digits >= _FEWEST_DIGITS and _GROUPED.match(token) is not None


_MAX_NAME_LENGTH: Final = 60
_MOST_WORDS: Final = 5
_FEWEST_WORDS: Final = 2
_NAME_WORD: Final = re.compile(r"[^\W\d_]['\u2019.\-&\w]*,?\Z")
_PARTICLES: Final = frozenset(
    [
        "van",
        "von",
        "de",
        "der",
        "den",
        "del",
        "della",
        "di",
        "da",
        "du",
        "la",
        "le",
        "bin",
        "al",
        "ter",
        "zu",
        "of",
        "and",
    ]
)
_MARKS: Final = re.compile(r"[\W_]+")
_CODE: Final = re.compile(r"(?=[^ ]*[0-9])[^ ]{1,40}\Z|[A-Z]{2,5}\Z")


def is_name_or_code(text: str) -> bool:
    """Whether a text looks like a name, an identifier or a short code.

    >>> [is_name_or_code(text) for text in ("John van Dyke", "INV-7", "EUR", "Paid in full")]
    [True, True, True, False]
    """
    text = text.strip()
    if len(text) > _MAX_NAME_LENGTH:
        return False
    return _CODE.match(text) is not None or _is_name(text)


def equal_ignoring_punctuation(expected: str, candidate: str) -> bool:
    """Whether two texts differ in nothing but case, blanks and marks.

    >>> equal_ignoring_punctuation("INV-2041", "inv 2041"), equal_ignoring_punctuation("-", "+")
    (True, False)
    """
    want, got = (_MARKS.sub("", normalized(text)) for text in (expected, candidate))
    return want == got != ""


def name_similarity(expected: str, candidate: str) -> float:
    """The likeness of two texts letter by letter, the words in the order that suits them best."""
    expected, candidate = normalized(expected), normalized(candidate)
    sorted_words = fuzz.token_sort_ratio(expected, candidate) / 100
    return max(levenshtein_similarity(expected, candidate), sorted_words)


def _is_name(text: str) -> bool:
    """Two to five words that begin with a capital, and not all of them are nothing else."""
    words = text.split()
    if not _FEWEST_WORDS <= len(words) <= _MOST_WORDS or text.upper() == text:
        return False
    return (
        all(
            _NAME_WORD.match(word) is not None and (word[0].isupper() or word in _PARTICLES)
            for word in words
        )
        and words[0][0].isupper()
    )


GUARDS_VERSION: Final = 1
"""Counts the changes of what guards object to."""

_MOST_NAMED: Final = 3
_MOST_DATES: Final = 200
_Guard: TypeAlias = Callable[[str, str], str]
Chosen: TypeAlias = "Mapping[str, bool] | bool | None"
"""All guards, none, some, or as the provider needs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Which guards are on: each needs both texts to have the same of something.

    `strings` leaves names, identifiers and short codes to their letters instead of a provider.
    """

    numbers: bool = True
    dates: bool = True
    negation: bool = True
    codes: bool = True
    order: bool = True
    strings: bool = True

    @classmethod
    def of(cls, chosen: Chosen, *, default: bool) -> Guards:
        """The guards that an option asks for: all, none, or some unlike the rest."""
        names = [guard.name for guard in fields(cls)]
        if isinstance(chosen, bool) or chosen is None:
            on = default if chosen is None else chosen
            return cls(**dict.fromkeys(names, on))
        if not isinstance(chosen, Mapping):
            raise OptionError("guards", f"must be true, false, or a flag for {', '.join(names)}")
        for name, flag in chosen.items():
            if name not in names:
                valid = ", ".join(names)
                raise OptionError("guards", f"there is no guard {name}; there are {valid}")
            check_flag(f"guards.{name}", flag)
        return cls(**{**dict.fromkeys(names, default), **chosen})

    def objection(self, expected: str, candidate: str) -> str:
        """Why two texts cannot mean the same however alike they are; nothing if no guard objects.

        >>> Guards().objection("1,200 units", "12,000 units")
        'numbers differ: 1,200 against 12,000'
        """
        for name, guard in _GUARDS.items():
            if getattr(self, name):
                told = guard(expected, candidate)
                if told:
                    return told
        return ""

    def to_dict(self) -> JsonObject:
        """Which guards are on, and which edition of them."""
        flags = {guard.name: getattr(self, guard.name) for guard in fields(self)}
        return {"version": GUARDS_VERSION, **flags} if any(flags.values()) else {}


def _dates(expected: str, candidate: str) -> str:
    want, got = dates_in(expected), dates_in(candidate)
    if max(len(want), len(got)) > _MOST_DATES:
        return f"dates cannot be compared: there are more than {_MOST_DATES}"
    lost = [one for one in want if not any(same_date(one, other) for other in got)]
    found = [one for one in got if not any(same_date(one, other) for other in want)]
    return _told("dates", [date.text for date in lost], [date.text for date in found])


def _negation(expected: str, candidate: str) -> str:
    want, got = negations_in(expected), negations_in(candidate)
    return _told("negations", want, got) if len(want) != len(got) else ""


def _codes(expected: str, candidate: str) -> str:
    want, got = codes_in(_without_dates(expected)), codes_in(_without_dates(candidate))
    lost = [text for code, text in want.items() if code not in got]
    found = [text for code, text in got.items() if code not in want]
    if lost or found:
        return _told("codes", lost, found)
    lost, found = _apart(acronyms_in(expected), acronyms_in(candidate))
    # An acronym may be spelled out on the other side; another acronym is another thing.
    return _told("codes", lost, found) if lost and found else ""


def _numbers(expected: str, candidate: str) -> str:
    want_text, got_text = (without_codes(_without_dates(text)) for text in (expected, candidate))
    want, got = numbers_in(want_text), numbers_in(got_text)
    said_by_want = _values([*want, *spelled_in(want_text)])
    said_by_got = _values([*got, *spelled_in(got_text)])
    lost = [number.text for number in want if number.values.isdisjoint(said_by_got)]
    found = [number.text for number in got if number.values.isdisjoint(said_by_want)]
    return _told("numbers", lost, found)


def _values(figures: Iterable[Figure]) -> set[Decimal]:
    return {value for figure in figures for value in figure.values}


def _order(expected: str, candidate: str) -> str:
    want, got = capitals_in(expected), capitals_in(candidate)
    shared = set(want) & set(got)
    first = list(dict.fromkeys(word for word in want if word in shared))
    second = list(dict.fromkeys(word for word in got if word in shared))
    return _told("names stand in another order", first, second) if first != second else ""


_GUARDS: Final[Mapping[str, _Guard]] = {
    "dates": _dates,
    "numbers": _numbers,
    "codes": _codes,
    "negation": _negation,
    "order": _order,
}


def _apart(expected: Sequence[str], candidate: Sequence[str]) -> tuple[list[str], list[str]]:
    """What one side has and the other has not, on both sides."""
    want, got = set(expected), set(candidate)
    lost = [one for one in dict.fromkeys(expected) if one not in got]
    found = [one for one in dict.fromkeys(candidate) if one not in want]
    return lost, found


def _without_dates(text: str) -> str:
    return _blanked(text, dates_in(text))


def _blanked(text: str, places: Iterable[Written]) -> str:
    """The text with a blank in place of each of its dates."""
    parts, position = [], 0
    for place in places:
        parts.append(text[position : place.start])
        position = place.end
    return " ".join([*parts, text[position:]])


def _told(what: str, expected: Sequence[str], candidate: Sequence[str]) -> str:
    if not expected and not candidate:
        return ""
    verb = "" if " " in what else " differ"
    return f"{what}{verb}: {_named(expected)} against {_named(candidate)}"


def _named(items: Sequence[str]) -> str:
    if not items:
        return "none"
    dots = ", …" if len(items) > _MOST_NAMED else ""
    return ", ".join(items[:_MOST_NAMED]) + dots
