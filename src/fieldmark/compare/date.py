"""Compare dates in any format."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, ClassVar, Final, cast

from fieldmark.errors import OptionError
from fieldmark.model.comparison import MATCHED, ComparatorGroup, Comparison, mismatch
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import Range
from fieldmark.values.dates import DateOrder, DateReader, DateReading, date_words, parse_formats
from fieldmark.values.strategy_options import check_options

_OTHER_DAY: Final = Comparison.differs()
_UNPARSEABLE: Final = Comparison.wrong_type(Reason.UNPARSEABLE_DATE)
_UNPARSEABLE_TRUTH: Final = Comparison.differs(
    Reason.UNPARSEABLE_DATE, note="the expected value is not a date"
)
_MAX_CACHED_LENGTH: Final = 64
_SIDES: Final = ("expected", "candidate")
LAST_WINDOW: Final = 9900
"""The last year from which a hundred years can be counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DateMatch:
    """Match strings with the same calendar date, ignoring times and time zones.

    By default, all forms that documents print are read. `order` is the order of dates of numbers;
    without it, dots mean that the day is first, and with slashes and dashes the month is read first
    and the result is marked as ambiguous, unless only one order is possible. `locales` adds month
    names of other languages, such as `[de, fr]`. `two_digit_years` is the first of the hundred
    years that two digits stand for; by default they stand for 1970 to 2069, and the result is
    marked as coerced. `formats` sets the only valid formats, of both sides or as
    `{expected: […], candidate: […]}`.
    """

    name: ClassVar[str] = "date"
    group: ClassVar[ComparatorGroup] = ComparatorGroup.DATES
    normalization: ClassVar[str] = (
        "values are read as calendar dates; times and time zones are ignored"
    )
    # Equal values that are not dates do not match.
    reflexive: ClassVar[bool] = False
    formats: tuple[str, ...] | Mapping[str, tuple[str, ...]] | None = field(
        default=None, hash=False
    )
    order: DateOrder | None = None
    locales: tuple[str, ...] = ()
    two_digit_years: Annotated[int, Range(ge=1, le=LAST_WINDOW, noun="a year")] | None = None
    _expected: DateReader = field(init=False, repr=False, compare=False)
    _candidate: DateReader = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        date_words(self.locales)  # an error for unknown locales
        object.__setattr__(self, "formats", _checked_formats(self.formats))
        by_side = self.formats if isinstance(self.formats, Mapping) else {}
        both = None if isinstance(self.formats, Mapping) else self.formats
        sides = [by_side.get(side, both) for side in _SIDES]
        if self.order is not None and None not in sides:
            raise OptionError("order", "has no effect with formats; set one of the two")
        for side, formats in zip(_SIDES, sides, strict=True):
            reader = date_reader(formats, self.order, self.locales, self.two_digit_years)
            object.__setattr__(self, f"_{side}", reader)

    @property
    def matches_iso_dates(self) -> bool:
        """Whether two equal ISO dates always match."""
        return self._expected.formats is None and self._candidate.formats is None

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match strings with the same date.

        >>> DateMatch().compare("2024-01-31", "31-JAN-2024").matched
        True
        """
        candidate_date = _read_date(candidate, self._candidate)
        if candidate_date is None:
            return _UNPARSEABLE
        expected_date = _read_date(expected, self._expected)
        if expected_date is None:
            return mismatch(expected, candidate, _UNPARSEABLE_TRUTH)
        result = MATCHED if expected_date[0] == candidate_date[0] else _OTHER_DAY
        ambiguous, coerced = (
            expected_date[1] or candidate_date[1],
            expected_date[2] or candidate_date[2],
        )
        if ambiguous or coerced:
            return result._replace(ambiguous=ambiguous, coerced=coerced)
        return result

    def item_leaves(self, leaves: Sequence[Hashable]) -> Sequence[Hashable] | None:
        """Return the days of strings, or `None` if some are not dates."""
        if self._expected is not self._candidate:
            return None
        days = [_read_date(cast("JsonValue", leaf), self._expected) for leaf in leaves]
        return None if None in days else [(day.day,) for day in days if day is not None]


def _checked_formats(
    formats: tuple[str, ...] | Mapping[str, tuple[str, ...]] | None,
) -> tuple[str, ...] | Mapping[str, tuple[str, ...]] | None:
    """Return the formats as tuples; raise an error for an invalid format or side."""
    if formats is None:
        return None
    if not isinstance(formats, Mapping):
        return tuple(form.text for form in parse_formats(formats))
    if not formats or not set(formats) <= set(_SIDES):
        message = f"must be a list, or an object with keys: {', '.join(_SIDES)}"
        raise OptionError("formats", message)
    return {side: tuple(form.text for form in parse_formats(formats[side])) for side in formats}


@lru_cache(maxsize=64)
def date_reader(
    formats: tuple[str, ...] | None,
    order: DateOrder | None,
    locales: tuple[str, ...],
    first_year: int | None,
) -> DateReader:
    """Return the reader with these options; always the same one, so that readings are shared."""
    parsed = None if formats is None else parse_formats(formats)
    words = date_words(locales)
    return DateReader(formats=parsed, order=order, first_year=first_year, words=words)


def _read_date(value: JsonValue, reader: DateReader) -> DateReading | None:
    if not isinstance(value, str):
        return None
    read = _day if len(value) <= _MAX_CACHED_LENGTH else _day.__wrapped__
    return read(value, reader)


@lru_cache(maxsize=8192)
def _day(text: str, reader: DateReader) -> DateReading | None:
    """Return the date of a string; cached, since dates recur."""
    return reader.read(text)
