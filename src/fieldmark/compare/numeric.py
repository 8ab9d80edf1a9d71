"""Compare numbers with a tolerance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar, Final

from fieldmark.compare.mismatch import WRONG_TYPE, mismatch
from fieldmark.compare.options import check_flag, checked_amount, checked_choice
from fieldmark.errors import OptionError
from fieldmark.model.comparison import MATCHED, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.numbers import NumberFormat, Tolerance, as_number, read_amount

__all__ = ["NumericTolerance", "flag_ambiguous"]

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
    Plain numeric strings are numbers; 1,240.00 and $5 require a `number_format`. If it is `auto`
    and another format reads another number, the result is marked as ambiguous. With a `period`,
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
            result = _COERCED if coerced else MATCHED
        else:
            result = mismatch(expected, candidate, _OUTSIDE)
            result = result._replace(coerced=True) if coerced else result
        if coerced and self.number_format is NumberFormat.AUTO:
            return flag_ambiguous(result, expected, candidate)
        return result

    @property
    def leaf_limits(self) -> tuple[float, float, float]:
        """The absolute and relative limit, and that of zero; negative if numbers have a period."""
        return self._limits.as_floats

    def item_leaves(self, leaves: Sequence[Hashable]) -> Sequence[Hashable] | None:
        """Return numbers that are equal if these are within the tolerance, or `None`."""
        try:
            groups = self._limits.groups(leaves)  # type: ignore[arg-type]
        except TypeError:  # not only numbers
            return None
        if groups is None:
            return None
        return [groups.get(leaf, leaf) for leaf in leaves] if groups else leaves  # type: ignore[call-overload]


def flag_ambiguous(result: Comparison, expected: JsonValue, candidate: JsonValue) -> Comparison:
    """Flag a comparison of different texts if another number format reads another number."""
    if expected == candidate:
        return result
    amounts = (read_amount(each) for each in (expected, candidate) if isinstance(each, str))
    ambiguous = any(amount is not None and amount.ambiguous for amount in amounts)
    return result._replace(ambiguous=True) if ambiguous else result
