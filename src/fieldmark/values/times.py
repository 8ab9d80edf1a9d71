"""Times of day in text, with the offsets of their time zones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final, NamedTuple

from fieldmark.values.text import with_plain_marks

CLOCK: Final = (
    r"(?:(?P<hour>[01]?[0-9]|2[0-4]):(?P<minute>[0-5][0-9])"
    r"(?::(?P<second>(?:[0-5][0-9]|60)(?:[.,][0-9]+)?))?(?:\s*(?P<half>[ap])\.?m\.?)?"
    r"|(?P<whole_hour>0?[1-9]|1[0-2])\s*(?P<of_half>[ap])\.?m\.?)"
)
"""A time of day in lower-case text: 14:30:05.5, 2:30 pm or 2 pm."""
ZONE: Final = (
    r"(?:\s*(?P<zone>z|(?:utc|gmt)(?:\s?[+-][0-9]{1,2}(?::?[0-9]{2})?)?"
    r"|(?:\+(?:0[0-9]|1[0-4])|-(?:0[0-9]|1[01])):?[0-9]{2}))?"
)
"""A time zone as its offset from UTC; 10:30-12:00 is a period and no such time."""
_PRINTED: Final = (
    r"(?P<hour>[01]?[0-9]|2[0-4])(?:[.:h](?P<minute>[0-5][0-9])(?:\s*(?:h|hrs|uhr))?|\s*(?:h|uhr))"
)
"""More forms of a time that stands alone: 14.30 Uhr, 14h30 or 14 h."""
_TIMES: Final = tuple(re.compile(rf"(?:t\s*)?{pattern}{ZONE}\Z") for pattern in (CLOCK, _PRINTED))
_WORDS: Final = {"noon": 12, "midday": 12, "midnight": 0}
_MAX_LENGTH: Final = 40
_HOURS_OF_HALF: Final = 12
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


class TimeOfDay(NamedTuple):
    """The seconds after midnight, and the offset of the time zone in seconds, if it is known."""

    seconds: Decimal
    offset: int | None = None

    @property
    def instant(self) -> Decimal:
        """The seconds after midnight in UTC, or of the clock without a known time zone."""
        return self.seconds - (self.offset or 0)


def read_time(text: str) -> TimeOfDay | None:
    """Return the time of day of a text, or `None`.

    >>> read_time("2:30 PM"), read_time("14:30+02:00").offset, read_time("25:00")
    (TimeOfDay(seconds=Decimal('52200'), offset=None), 7200, None)
    """
    folded = " ".join(with_plain_marks(text).lower().split())
    if len(folded) > _MAX_LENGTH:
        return None
    if folded in _WORDS:
        return TimeOfDay(Decimal(_WORDS[folded] * _HOUR))
    for pattern in _TIMES:
        match = pattern.match(folded)
        if match is not None:
            return clock_of(match.groupdict())
    return None


def clock_of(parts: Mapping[str, str | None]) -> TimeOfDay | None:
    """Return the time of the groups of `CLOCK` and `ZONE`; `None` if the hour is impossible."""
    hour = int(parts["hour"] or parts["whole_hour"] or 0)
    half = parts.get("half") or parts.get("of_half")
    if half:
        if half == "a" and hour > _HOURS_OF_HALF:
            return None
        if hour <= _HOURS_OF_HALF:
            hour = hour % _HOURS_OF_HALF + (_HOURS_OF_HALF if half == "p" else 0)
    second = Decimal((parts.get("second") or "0").replace(",", "."))
    seconds = hour * _HOUR + int(parts["minute"] or 0) * _MINUTE + second
    if hour * _HOUR == _DAY and seconds > _DAY:
        return None
    return TimeOfDay(seconds, _offset(parts.get("zone")))


def _offset(zone: str | None) -> int | None:
    """Return the seconds that a time zone is ahead of UTC.

    >>> _offset("utc+02:00"), _offset("-0530"), _offset("z"), _offset(None)
    (7200, -19800, 0, None)
    """
    if zone is None:
        return None
    digits = re.sub("[^0-9]", "", zone)
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "")  # noqa: PLR2004
    seconds = int(hours or 0) * _HOUR + int(minutes or 0) * _MINUTE
    return -seconds if "-" in zone else seconds


def same_time(expected: TimeOfDay, candidate: TimeOfDay, *, period: int | None = None) -> bool:
    """Whether two times are the same instant if both zones are known, else the same reading."""
    both_known = None not in (expected.offset, candidate.offset)
    difference = (
        expected.instant - candidate.instant if both_known else expected.seconds - candidate.seconds
    )
    return not (difference if period is None else difference % period)
