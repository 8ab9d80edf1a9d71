"""Compare instants: days with times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final

from fieldmark.compare.date import LAST_WINDOW, date_reader
from fieldmark.compare.time import ZONE_NOTE
from fieldmark.model.comparison import MATCHED, ComparatorGroup, Comparison, mismatch
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import Range
from fieldmark.values.dates import DateOrder, DateReader, Moment, date_words
from fieldmark.values.strategy_options import check_options
from fieldmark.values.times import same_time

_UNPARSEABLE: Final = Comparison.wrong_type(Reason.UNPARSEABLE_DATE)
_UNPARSEABLE_TRUTH: Final = Comparison.differs(
    Reason.UNPARSEABLE_DATE, note="the expected value is not a date with a time"
)
_NO_TIME: Final = Comparison.differs(note="only one has a time")
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Timestamp:
    """Match the same instant, also in two time zones: 14:30+02:00 is 12:30Z on the same day.

    The same reading of the clock in two zones is not the same instant. A timestamp without a time
    zone only matches the same reading; if the other has a zone, the result is marked as ambiguous.
    A day without a time only matches the same day without a time. Days are read as by `date`, with
    the same options.
    """

    name: ClassVar[str] = "timestamp"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.DATES
    normalization: ClassVar[str] = "values are read as instants, in their time zones"
    # Equal values that are not dates do not match.
    reflexive: ClassVar[bool] = False
    order: DateOrder | None = None
    locales: tuple[str, ...] = ()
    two_digit_years: Annotated[int, Range(ge=1, le=LAST_WINDOW, noun="a year")] | None = None
    _reader: DateReader = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        date_words(self.locales)  # an error for unknown locales
        reader = date_reader(None, self.order, self.locales, self.two_digit_years)
        object.__setattr__(self, "_reader", reader)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match the same instant.

        >>> Timestamp().compare("2024-05-03T14:30:00+02:00", "3 May 2024 12:30 UTC").matched
        True
        """
        candidate_moment = self._read(candidate)
        if candidate_moment is None:
            return _UNPARSEABLE
        expected_moment = self._read(expected)
        if expected_moment is None:
            return mismatch(expected, candidate, _UNPARSEABLE_TRUTH)
        result = _compare_moments(expected_moment, candidate_moment)
        first, second = expected_moment.reading, candidate_moment.reading
        ambiguous, coerced = first.ambiguous or second.ambiguous, first.coerced or second.coerced
        if ambiguous or coerced:
            return result._replace(ambiguous=ambiguous or result.ambiguous, coerced=coerced)
        return result

    def _read(self, value: JsonValue) -> Moment | None:
        return self._reader.read_moment(value) if isinstance(value, str) else None


def _compare_moments(expected: Moment, candidate: Moment) -> Comparison:
    days = (candidate.reading.day - expected.reading.day).days
    if expected.time is None or candidate.time is None:
        if expected.time is not candidate.time:
            return _NO_TIME
        return Comparison.differs() if days else MATCHED
    later = candidate.time._replace(seconds=candidate.time.seconds + days * _DAY)
    if not same_time(expected.time, later):
        return Comparison.differs()
    if (expected.time.offset is None) != (later.offset is None):
        return MATCHED._replace(ambiguous=True, note=ZONE_NOTE)
    return MATCHED
