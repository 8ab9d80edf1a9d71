"""Compare times of day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from fieldmark.model.comparison import MATCHED, ComparatorGroup, Comparison, mismatch
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.times import TimeOfDay, read_time, same_time

ZONE_NOTE: Final = "only one has a time zone"
"""The note of a comparison of a time with a time zone and a time without."""
_UNPARSEABLE: Final = Comparison.wrong_type(Reason.UNPARSEABLE, note="not a time")
_UNPARSEABLE_TRUTH: Final = Comparison.differs(
    Reason.UNPARSEABLE, note="the expected value is not a time"
)
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMatch:
    """Match the same time of day: 14:30 is 2:30 PM.

    Times in two time zones match if they are the same instant. A time without a time zone matches
    the same reading of the clock in any zone; such a result is marked as ambiguous. Missing seconds
    are 0.
    """

    name: ClassVar[str] = "time"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.DATES
    normalization: ClassVar[str] = "values are read as times of day"
    # Equal values that are not times do not match.
    reflexive: ClassVar[bool] = False

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match the same time.

        >>> TimeMatch().compare("14:30", "2:30 PM").matched
        True
        >>> TimeMatch().compare("14:30+02:00", "14:30Z").matched
        False
        """
        candidate_time = _read(candidate)
        if candidate_time is None:
            return _UNPARSEABLE
        expected_time = _read(expected)
        if expected_time is None:
            return mismatch(expected, candidate, _UNPARSEABLE_TRUTH)
        if not same_time(expected_time, candidate_time, period=_DAY):
            return Comparison.differs()
        if (expected_time.offset is None) != (candidate_time.offset is None):
            return MATCHED._replace(ambiguous=True, note=ZONE_NOTE)
        return MATCHED


def _read(value: JsonValue) -> TimeOfDay | None:
    return read_time(value) if isinstance(value, str) else None
