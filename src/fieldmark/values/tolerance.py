"""Whether two numbers are near enough, right at decimal boundaries and as fast as floats."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Final

from fieldmark.values.numbers import Number

__all__ = ["Tolerance", "exactly"]

_SLACK: Final = 2.0**-48
"""Far more than the rounding errors of the few operations below, relative to their operands."""
_TINY: Final = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far a number may lie from the expected one; either limit suffices, both inclusive.

    `relative` is a share of the expected number. Zero has no share, so there the relative limit
    is taken as absolute, unless there is an absolute one. With a `period`, distance is measured
    around a circle.
    """

    absolute: Fraction | None = None
    relative: Fraction | None = None
    period: Fraction | None = None
    _absolute: float = field(init=False, repr=False, compare=False)
    _relative: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_absolute", _as_float(self.absolute))
        object.__setattr__(self, "_relative", _as_float(self.relative))

    def admits(self, expected: Number, candidate: Number) -> bool:
        """Whether the candidate is near enough.

        >>> Tolerance(absolute=Fraction("0.1")).admits(1.0, 1.1)
        True
        """
        if self.period is not None:
            return self._admits_exactly(expected, candidate)
        try:
            want, got = float(expected), float(candidate)
        except OverflowError:
            return self._admits_exactly(expected, candidate)
        size = abs(want)
        gap = abs(want - got)
        share = self._relative * size if size else self._share_at_zero()
        limit = max(self._absolute, share)
        slack = (size + abs(got) + limit) * _SLACK + _TINY
        # Written so that infinities, and the NaN that they lead to, decide nothing.
        if gap + slack < limit:
            return True
        if gap > limit + slack:
            return False
        return self._admits_exactly(expected, candidate)

    def _share_at_zero(self) -> float:
        return self._relative if self.absolute is None else 0.0

    def _admits_exactly(self, expected: Number, candidate: Number) -> bool:
        want = exactly(expected)
        gap = abs(want - exactly(candidate))
        if self.period is not None:
            gap %= self.period
            gap = min(gap, self.period - gap)
        if self.absolute is not None and gap <= self.absolute:
            return True
        if self.relative is None or (not want and self.absolute is not None):
            return False
        return gap <= self.relative * (abs(want) or 1)


def exactly(number: Number) -> Fraction:
    """The number that was written: a float stands for its shortest decimal text."""
    return Fraction(Decimal(repr(number)) if isinstance(number, float) else number)


def _as_float(limit: Fraction | None) -> float:
    """The nearest float; an infinite one leaves every decision to exact arithmetic."""
    if limit is None:
        return 0.0
    try:
        return float(limit)
    except OverflowError:
        return float("inf")
