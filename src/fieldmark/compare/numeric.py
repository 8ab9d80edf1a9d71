"""Compare numbers with a tolerance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Final, cast

from fieldmark.compare.mismatch import WRONG_TYPE, mismatch
from fieldmark.compare.options import check_flag, checked_amount, checked_choice
from fieldmark.errors import OptionError
from fieldmark.model.comparison import MATCHED, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.numbers import Number, NumberFormat, Tolerance, as_number

if TYPE_CHECKING:
    from fieldmark.values.arrays import Floats

__all__ = ["NumericTolerance"]

_NUMBERS: Final = frozenset((int, float))
_COERCED: Final = MATCHED._replace(coerced=True)
_OUTSIDE: Final = Comparison.differs(Reason.OUTSIDE_TOLERANCE)
_NO_EXPECTED_NUMBER: Final = Comparison.differs(
    Reason.INVALID_NUMBER, note="the expected value is not a number"
)
_INVALID: Final = Comparison.wrong_type(Reason.INVALID_NUMBER)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericTolerance:
    """Match numbers that differ by at most `tolerance`.

    With `relative`, the tolerance is a fraction of the expected number; for an expected zero it
    is absolute. With `absolute` and `relative_tolerance`, a number within either limit matches.
    Plain numeric strings are numbers; 1,240.00 and $5 require a `number_format`. With a `period`,
    such as 360 for angles, differences wrap around.
    """

    name: ClassVar[str] = "numeric_tolerance"
    # Equal values that are not finite numbers do not match.
    reflexive: ClassVar[bool] = False
    reflexive_on_numbers: ClassVar[bool] = True
    tolerance: float | Decimal = 0
    relative: bool = False
    absolute: float | Decimal | None = None
    relative_tolerance: float | Decimal | None = None
    number_format: NumberFormat | None = None
    period: float | Decimal | None = None
    _limits: Tolerance = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_flag("relative", self.relative)
        if self.number_format is not None:
            known = checked_choice("number_format", self.number_format, NumberFormat)
            object.__setattr__(self, "number_format", known)
        if self.period == 0:
            raise OptionError("period", "must be greater than 0")
        object.__setattr__(self, "_limits", self._checked_limits())

    def _checked_limits(self) -> Tolerance:
        single = checked_amount("tolerance", self.tolerance)
        period = None if self.period is None else checked_amount("period", self.period)
        if self.absolute is None and self.relative_tolerance is None:
            if self.relative:
                return Tolerance(relative=single, period=period)
            return Tolerance(absolute=single, period=period)
        if single or self.relative:
            message = "set either tolerance and relative, or absolute and relative_tolerance"
            raise OptionError("tolerance", message)
        pair = {"absolute": self.absolute, "relative_tolerance": self.relative_tolerance}
        absolute, relative = (
            None if limit is None else checked_amount(option, limit)
            for option, limit in pair.items()
        )
        return Tolerance(absolute=absolute, relative=relative, period=period)

    def compare(self, expected: JsonValue, candidate: JsonValue) -> Comparison:
        """Match numbers within the tolerance.

        >>> NumericTolerance(tolerance=0.1).compare(1.0, 1.1).matched
        True
        """
        want = as_number(expected, self.number_format)
        got = as_number(candidate, self.number_format)
        if got is None:
            return _INVALID if isinstance(candidate, float) else WRONG_TYPE
        if want is None:
            return mismatch(expected, candidate, _NO_EXPECTED_NUMBER)
        coerced = isinstance(expected, str) or isinstance(candidate, str)
        if want == got or self._limits.admits(want, got):
            return _COERCED if coerced else MATCHED
        result = mismatch(expected, candidate, _OUTSIDE)
        return result._replace(coerced=True) if coerced else result

    def agrees_with_default(self, leaves: Sequence[Hashable]) -> bool:
        """Whether the default similarity of list items gives leaves the same similarities."""
        return _NUMBERS.issuperset(map(type, leaves)) and self._limits.separates(
            cast("Sequence[float]", leaves)
        )

    def similarities(self, expected: Sequence[JsonValue], candidate: Sequence[JsonValue]) -> Floats:
        """Return 1 for every pair of numbers within the tolerance, and 0 for every other pair."""
        import numpy as np

        similarities: Floats = np.zeros((len(expected), len(candidate)))
        ours = [as_number(value, self.number_format) for value in expected]
        theirs = [as_number(value, self.number_format) for value in candidate]
        rows = [place for place, number in enumerate(ours) if number is not None]
        columns = [place for place, number in enumerate(theirs) if number is not None]
        if rows and columns:
            similarities[np.ix_(rows, columns)] = self._limits.admitted(
                [cast("Number", ours[place]) for place in rows],
                [cast("Number", theirs[place]) for place in columns],
            )
        return similarities
