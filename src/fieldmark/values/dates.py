"""Dates in text, without locales, time zones or defaults for missing parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple

from fieldmark.errors import OptionError

__all__ = [
    "DEFAULT_FORMATS",
    "DateFormat",
    "DateReading",
    "is_iso_date",
    "parse_formats",
    "read_day",
]

_MONTH_NAMES: Final = (
    "JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE", "JULY", "AUGUST", "SEPTEMBER",
    "OCTOBER", "NOVEMBER", "DECEMBER",
)  # fmt: skip
_MONTHS: Final = {
    written: number for number, name in enumerate(_MONTH_NAMES, 1) for written in (name, name[:3])
}
_TOKENS: Final = {
    "YYYY": r"(?P<year>[0-9]{4})",
    "MMMM": r"(?P<month>[A-Za-z]{4,9})",
    "MMM": r"(?P<month>[A-Za-z]{3})",
    "MM": r"(?P<month>[0-9]{2})",
    "DD": r"(?P<day>[0-9]{2})",
}
_LOOSE: Final = {"MM": r"(?P<month>[0-9]{1,2})", "DD": r"(?P<day>[0-9]{1,2})"}
"""A leading zero may be missing between separators."""

_PARTS: Final = re.compile(r"(YYYY|MMMM|MMM|MM|DD)|([^A-Za-z0-9]+)|(.)", re.DOTALL)
_ISO: Final = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[Tt ](?:[01][0-9]|2[0-4]):[0-5][0-9](?::(?:[0-5][0-9]|60)(?:[.,][0-9]+)?)?"
    r" ?(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?\Z"
)


class DateReading(NamedTuple):
    """A day, and whether the text could also be another day."""

    day: date
    ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class DateFormat:
    """A date format.

    `month_first` decides if a text has two readings. A `certain` format is never ambiguous.
    """

    text: str
    pattern: re.Pattern[str]
    month_first: bool = False
    certain: bool = False

    def read(self, text: str) -> date | None:
        """Return the day of a trimmed text in this format, or `None`."""
        found = self.pattern.match(text)
        if found is None:
            return None
        month = found["month"]
        number = int(month) if month.isdigit() else _MONTHS.get(month.upper(), 0)
        try:
            return date(int(found["year"]), number, int(found["day"]))
        except ValueError:
            return None


def parse_formats(texts: Sequence[str]) -> tuple[DateFormat, ...]:
    """Return the formats with these names; raise an error for an unknown one.

    >>> [form.text for form in parse_formats(["ISO", "DD.MM.YYYY"])]
    ['ISO', 'DD.MM.YYYY']
    """
    if isinstance(texts, str) or not texts:
        raise OptionError("formats", "must be a list of at least one date format")
    return tuple(_parse_format(text) for text in texts)


def read_day(text: str, formats: Sequence[DateFormat] | None = None) -> DateReading | None:
    """Return the day of a text, or `None`; the default is any of the common formats.

    If day and month are ambiguous, the month is read first.

    >>> read_day("31-JAN-2024")
    DateReading(day=datetime.date(2024, 1, 31), ambiguous=False)
    >>> read_day("02/03/2024")
    DateReading(day=datetime.date(2024, 2, 3), ambiguous=True)
    """
    text = text.strip()
    reading: date | None = None
    month_first = ambiguous = False
    for form in DEFAULT_FORMATS if formats is None else formats:
        day = form.read(text)
        if day is None:
            continue
        if form.certain:
            return DateReading(day)
        ambiguous = ambiguous or reading not in {None, day}
        if reading is None or (form.month_first and not month_first):
            reading, month_first = day, form.month_first
    return None if reading is None else DateReading(reading, ambiguous)


def is_iso_date(text: str) -> bool:
    """Return whether a text is a date, or a date and time, in ISO 8601."""
    return _ISO_FORMAT.read(text.strip()) is not None


def _parse_format(written: object) -> DateFormat:
    text = written if isinstance(written, str) else ""
    if text == _ISO_FORMAT.text:
        return _ISO_FORMAT
    parts = _PARTS.findall(text)
    tokens = [token for token, _, _ in parts if token]
    unknown = any(other for _, _, other in parts)
    if unknown or sorted(tokens) not in [["DD", month, "YYYY"] for month in ("MM", "MMM", "MMMM")]:
        message = (
            f"invalid date format {written!r}; use YYYY, MM (or MMM, MMMM) and DD once each "
            "with any separators, or ISO"
        )
        raise OptionError("formats", message)
    order = [token[0] for token in tokens]
    return DateFormat(
        text,
        re.compile(_pattern(parts)),
        month_first=order.index("M") < order.index("D"),
        certain="MM" not in tokens,
    )


def _pattern(parts: Sequence[tuple[str, str, str]]) -> str:
    pattern = ""
    for place, (token, separator, _) in enumerate(parts):
        neighbours = [*parts[max(place - 1, 0) : place], *parts[place + 1 : place + 2]]
        alone = not any(neighbour[0] for neighbour in neighbours)
        pattern += re.escape(separator) or (_LOOSE.get(token) if alone else None) or _TOKENS[token]
    return pattern + r"\Z"


_ISO_FORMAT: Final = DateFormat("ISO", _ISO, month_first=True, certain=True)
DEFAULT_FORMATS: Final = parse_formats(
    [
        "ISO", "DD-MMM-YYYY", "MM/DD/YYYY", "DD/MM/YYYY", "MM-DD-YYYY", "DD-MM-YYYY", "DD.MM.YYYY",
        "YYYY/MM/DD", "DD/MMM/YYYY", "DD MMM YYYY", "DD MMMM YYYY", "MMM DD, YYYY",
        "MMMM DD, YYYY", "MMM DD YYYY", "MMMM DD YYYY",
    ]
)  # fmt: skip
"""The default formats; ISO includes YYYY-MM-DD with or without a time."""
