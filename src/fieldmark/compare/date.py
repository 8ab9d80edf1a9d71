"""Compare dates in any format."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final

from fieldmark.compare.mismatch import mismatch
from fieldmark.model.comparison import MATCHED, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.dates import DateReading, parse_formats, read_day

if TYPE_CHECKING:
    from fieldmark.values.arrays import Floats

__all__ = ["DateMatch"]

_AMBIGUOUS: Final = MATCHED._replace(ambiguous=True)
_OTHER_DAY: Final = Comparison.differs()
_PERHAPS_OTHER_DAY: Final = _OTHER_DAY._replace(ambiguous=True)
_UNPARSEABLE: Final = Comparison.wrong_type(Reason.UNPARSEABLE_DATE)
_UNPARSEABLE_TRUTH: Final = Comparison.differs(
    Reason.UNPARSEABLE_DATE, note="the expected value is not a date"
)
_MAX_CACHED_LENGTH: Final = 64
_ISO_LENGTH: Final = len("2024-01-31")


@dataclass(frozen=True, slots=True, kw_only=True)
class DateMatch:
    """Match strings with the same calendar date, ignoring times and time zones.

    By default, all common formats are read. If day and month are ambiguous, the month is read
    first and the result is marked as ambiguous. `formats` sets the formats of both sides.
    """

    name: ClassVar[str] = "date"
    # Equal values that are not dates do not match.
    reflexive: ClassVar[bool] = False
    formats: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.formats is not None:
            parse_formats(self.formats)
            object.__setattr__(self, "formats", tuple(self.formats))

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match strings with the same date.

        >>> DateMatch().compare("2024-01-31", "31-JAN-2024").matched
        True
        """
        got = self._read(candidate)
        if got is None:
            return _UNPARSEABLE
        want = got if expected == candidate else self._read(expected)
        if want is None:
            return mismatch(expected, candidate, _UNPARSEABLE_TRUTH)
        ambiguous = want.ambiguous or got.ambiguous
        if want.day == got.day:
            return _AMBIGUOUS if ambiguous else MATCHED
        return _PERHAPS_OTHER_DAY if ambiguous else _OTHER_DAY

    def agrees_with_default(self, leaves: Sequence[Hashable]) -> bool:
        """Whether the default similarity of list items gives leaves the same similarities."""
        return self.formats is None and all(
            isinstance(leaf, str)
            and len(leaf) == _ISO_LENGTH
            and leaf[4:5] == "-"
            and self._read(leaf) is not None
            for leaf in leaves
        )

    def similarities(self, expected: Sequence[JsonValue], candidate: Sequence[JsonValue]) -> Floats:
        """Return 1 for every pair of values with the same date, and 0 for every other pair."""
        import numpy as np

        ours = np.array([_day_number(self._read(value), -1) for value in expected])
        theirs = np.array([_day_number(self._read(value), -2) for value in candidate])
        same: Floats = (ours[:, None] == theirs).astype(np.float64)
        return same

    def _read(self, value: JsonValue) -> DateReading | None:
        if not isinstance(value, str):
            return None
        read = _day if len(value) <= _MAX_CACHED_LENGTH else _day.__wrapped__
        return read(value, self.formats)


def _day_number(reading: DateReading | None, unreadable: int) -> int:
    return unreadable if reading is None else reading.day.toordinal()


@lru_cache(maxsize=8192)
def _day(text: str, formats: tuple[str, ...] | None) -> DateReading | None:
    """Return the date of a string; cached, since dates recur."""
    return read_day(text, None if formats is None else _parsed_formats(formats))


_parsed_formats = lru_cache(maxsize=64)(parse_formats)
