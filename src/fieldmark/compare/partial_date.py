"""Compare dates of which the day or the month may not be known."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, ClassVar, Final

from fieldmark.compare.date import LAST_WINDOW, date_reader
from fieldmark.model.comparison import MATCHED, ComparatorGroup, Comparison, mismatch
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import Range
from fieldmark.values.dates import DateOrder, DateReader, PartialReading, date_words
from fieldmark.values.strategy_options import check_options

_UNPARSEABLE: Final = Comparison.wrong_type(Reason.UNPARSEABLE_DATE)
_UNPARSEABLE_TRUTH: Final = Comparison.differs(
    Reason.UNPARSEABLE_DATE, note="the expected value is not a date, a month or a year"
)
_YEARS: Final = range(1000, 10_000)
"""Whole numbers that are read as a year."""
_MAX_CACHED_LENGTH: Final = 64
_PARTS: Final = ("year", "month", "day")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialDate:
    """Match the same day, the same month or the same year: May 2024 is 2024-05.

    A day never matches a month, and a month never matches a year. Days are read as by `date`, with
    the same options, and whole numbers with four digits are years.
    """

    name: ClassVar[str] = "partial_date"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.DATES
    normalization: ClassVar[str] = "values are read as days, months or years"
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
        """Match dates with the same parts.

        >>> PartialDate().compare("2024-05", "May 2024").matched
        True
        >>> PartialDate().compare("2024-05", "2024-05-01").note
        'month vs. day'
        """
        candidate_date = _read(candidate, self._reader)
        if candidate_date is None:
            return _UNPARSEABLE
        expected_date = _read(expected, self._reader)
        if expected_date is None:
            return mismatch(expected, candidate, _UNPARSEABLE_TRUTH)
        result = MATCHED
        if expected_date[:3] != candidate_date[:3]:
            precision, other = _precision(expected_date), _precision(candidate_date)
            note = "" if precision == other else f"{precision} vs. {other}"
            result = mismatch(expected, candidate, Comparison.differs(note=note))
        ambiguous = expected_date.ambiguous or candidate_date.ambiguous
        coerced = expected_date.coerced or candidate_date.coerced
        coerced |= isinstance(expected, str) is not isinstance(candidate, str)
        if ambiguous or coerced:
            return result._replace(ambiguous=ambiguous, coerced=coerced)
        return result


def _precision(reading: PartialReading) -> str:
    return _PARTS[(reading.month is not None) + (reading.day is not None)]


def _read(value: JsonValue, reader: DateReader) -> PartialReading | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is int and value in _YEARS:
        return PartialReading(value)
    if not isinstance(value, str):
        return None
    read = _parts if len(value) <= _MAX_CACHED_LENGTH else _parts.__wrapped__
    return read(value, reader)


@lru_cache(maxsize=8192)
def _parts(text: str, reader: DateReader) -> PartialReading | None:
    """Return the parts of a date; cached, since dates recur."""
    return reader.read_partial(text)
