"""Means that do not depend on the order or the grouping of their values."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import fsum
from operator import add
from typing import Final, NamedTuple

from fieldmark.metrics import rates
from fieldmark.metrics.conventions import ZeroRule
from fieldmark.model.counts import Counts

__all__ = ["ExactSum", "MacroMean", "MacroSums", "exact", "macro_mean"]

_SCALE: Final = 1074
"""Every finite float is a whole multiple of 2 ** -1074, so sums of these multiples are exact."""


@lru_cache(maxsize=4096)
def exact(value: float) -> int:
    """A finite float as a multiple of 2 ** -1074."""
    numerator, denominator = value.as_integer_ratio()
    return numerator << (_SCALE + 1 - denominator.bit_length())


class ExactSum(NamedTuple):
    """The number of values and their exact sum; `+` adds two of them.

    >>> ExactSum.of([(0.1, 2), (0.3, 1)]) == ExactSum.of([(0.3, 1)]) + ExactSum.of([(0.1, 2)])
    True
    """

    number: int = 0
    steps: int = 0

    @classmethod
    def of(cls, values: Iterable[tuple[float, int]]) -> ExactSum:
        """The sum of finite values, each so many times."""
        number = steps = 0
        for value, times in values:
            number += times
            steps += exact(value) * times
        return cls(number, steps)

    def __add__(self, other: object) -> ExactSum:
        if not isinstance(other, ExactSum):
            return NotImplemented
        return ExactSum(*map(add, self, other))

    @property
    def mean(self) -> float | None:
        """The correctly rounded mean; of nothing it is undefined."""
        return self.steps / (self.number << _SCALE) if self.number else None


class MacroMean(NamedTuple):
    """Means of precision, recall and F1; `vacuous` if there was nothing to find anywhere."""

    precision: float | None
    recall: float | None
    f1: float | None
    vacuous: bool = False


class MacroSums(NamedTuple):
    """The sums behind a macro mean over cases, defined values only; `+` adds two of them."""

    precision: ExactSum = ExactSum()
    recall: ExactSum = ExactSum()
    f1: ExactSum = ExactSum()

    def __add__(self, other: object) -> MacroSums:
        if not isinstance(other, MacroSums):
            return NotImplemented
        return MacroSums(*map(add, self, other))

    def mean(self) -> MacroMean:
        """The three means; a perfect but vacuous F1 where nothing is left to average."""
        vacuous = not self.f1.number
        f1 = 1.0 if vacuous else self.f1.mean
        return MacroMean(self.precision.mean, self.recall.mean, f1, vacuous)


def macro_mean(groups: Iterable[Counts], zero: ZeroRule) -> MacroMean:
    """The means over groups of counts, for instance attributes.

    Groups in which there was nothing to find and nothing was found are left out.
    """
    counted = [counts for counts in groups if counts.tp or counts.fp or counts.fn]
    figures = [rates.rates(counts, zero) for counts in counted]
    if not figures:
        return MacroMean(None, None, 1.0, vacuous=True)
    return MacroMean(
        _mean_of_defined(each.precision for each in figures),
        _mean_of_defined(each.recall for each in figures),
        fsum(each.f1 or 0.0 for each in figures) / len(figures),
    )


def _mean_of_defined(values: Iterable[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return fsum(defined) / len(defined) if defined else None
