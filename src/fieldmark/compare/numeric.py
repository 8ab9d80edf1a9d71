"""Compare numbers with a tolerance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, ClassVar, Final, TypeAlias

from fieldmark.compare.mismatch import WRONG_TYPE, mismatch
from fieldmark.errors import OptionError
from fieldmark.model.comparison import MATCHED, ComparatorGroup, Comparison
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import Reason
from fieldmark.values.annotations import Range
from fieldmark.values.numbers import NumberFormat, Tolerance, as_number, exact_fraction, read_amount
from fieldmark.values.strategy_options import check_options

Amount: TypeAlias = Annotated[float | Decimal, Range(ge=0)]

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
    group: ClassVar[ComparatorGroup] = ComparatorGroup.NUMBERS
    normalization: ClassVar[str] = "values are read as numbers"
    # Equal values that are not finite numbers do not match.
    reflexive: ClassVar[bool] = False
    reflexive_on_numbers: ClassVar[bool] = True
    tolerance: Amount = 0
    relative: bool = False
    absolute: Amount | None = None
    relative_tolerance: Amount | None = None
    number_format: NumberFormat | None = None
    period: Annotated[float | Decimal, Range(gt=0)] | None = None
    _limits: Tolerance = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options(self)
        absolute, relative = self.absolute, self.relative_tolerance
        if absolute is None and relative is None:
            absolute, relative = (None, self.tolerance) if self.relative else (self.tolerance, None)
        elif self.tolerance or self.relative:
            message = "set either tolerance and relative, or absolute and relative_tolerance"
            raise OptionError("tolerance", message)
        limits = Tolerance(
            absolute=None if absolute is None else exact_fraction(absolute),
            relative=None if relative is None else exact_fraction(relative),
            period=None if self.period is None else exact_fraction(self.period),
        )
        object.__setattr__(self, "_limits", limits)

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
