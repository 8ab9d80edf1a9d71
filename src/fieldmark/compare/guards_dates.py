"""Dates inside of a text, however they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["Day", "Written", "dates_in", "same_date"]


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
        days = frozenset(filter(_is_day, _readings(match)))
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


def _readings(match: re.Match[str]) -> Iterator[Day]:
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
