"""Means that do not depend on the order or grouping of their values."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import fsum
from operator import add
from typing import Annotated, Final, NamedTuple

from fieldmark.metrics.conventions import CountingOptions
from fieldmark.metrics.rates import rates
from fieldmark.model.counts import Counts
from fieldmark.values.records import OMIT_DEFAULT

_SCALE: Final = 1074
"""Every finite float is an integer multiple of 2 ** -1074, so sums of these multiples are exact."""


@lru_cache(maxsize=4096)
def exact(value: float) -> int:
    """Return a finite float as a multiple of 2 ** -1074."""
    numerator, denominator = value.as_integer_ratio()
    return numerator << (_SCALE + 1 - denominator.bit_length())


class ExactSum(NamedTuple):
    """The number of values and their exact sum; `+` adds two sums.

    >>> ExactSum.of([(0.1, 2), (0.3, 1)]) == ExactSum.of([(0.3, 1)]) + ExactSum.of([(0.1, 2)])
    True
    """

    number: int = 0
    steps: int = 0

    @classmethod
    def of(cls, values: Iterable[tuple[float, int]]) -> ExactSum:
        """Return the sum of finite values, each repeated as often as given."""
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
        """Return the correctly rounded mean, or `None` if there are no values."""
        return self.steps / (self.number << _SCALE) if self.number else None


class MacroMean(NamedTuple):
    """Means of precision, recall and F1; `vacuous` if there was nothing to compare."""

    precision: float | None
    recall: float | None
    f1: float | None
    vacuous: Annotated[bool, OMIT_DEFAULT] = False


def macro_mean(groups: Iterable[Counts], counting: CountingOptions) -> MacroMean:
    """Return the means over groups of counts, such as attributes.

    Groups without any expected or predicted value are excluded.
    """
    counted = [counts for counts in groups if counts.tp or counts.fp or counts.fn]
    if not counted:
        return MacroMean(None, None, 1.0, vacuous=True)
    metrics = [rates(counts, counting) for counts in counted]
    return MacroMean(
        _mean_of_defined(each.precision for each in metrics),
        _mean_of_defined(each.recall for each in metrics),
        fsum(each.f1 or 0.0 for each in metrics) / len(metrics),
    )


def _mean_of_defined(values: Iterable[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return fsum(defined) / len(defined) if defined else None
