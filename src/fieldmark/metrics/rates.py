"""Ratios of counts: precision, recall, F1 and accuracy, the interval of a share, and exact means.

The formulas of ratios work for numbers and for arrays. A ratio whose denominator is 0 is undefined:
`None` for a number, NaN in an array. F1 is 2TP / (2TP + FP + FN) everywhere: 0 if nothing matched
and something is wrong, undefined only if there is nothing to count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import fsum
from operator import add
from typing import Annotated, Final, NamedTuple, TypeAlias, overload

from fieldmark.metrics.conventions import (
    DEFAULT_CONVENTION,
    CountingOptions,
    F1WhenNoMatch,
    ZeroRule,
)
from fieldmark.model.counts import Counts
from fieldmark.values.arrays import Floats, np
from fieldmark.values.records import OMIT_DEFAULT

NORMAL_QUANTILE: Final = 1.9599639845400536
"""The two-sided quantile of the normal distribution for 95% confidence."""

Interval: TypeAlias = tuple[float, float]
"""The lower and the upper bound of a metric."""


def bounds_of(values: Iterable[float | None]) -> Interval | None:
    """Return the least and the greatest defined value, if there is one.

    >>> bounds_of([0.5, None, 0.25])
    (0.25, 0.5)
    """
    defined = [value for value in values if value is not None]
    return (min(defined), max(defined)) if defined else None


_UNDEFINED: Final = {ZeroRule.UNDEFINED: None, ZeroRule.ZERO: 0.0}


class Rates(NamedTuple):
    """The shares of predicted and of expected values that are correct, and their harmonic mean."""

    precision: float | None
    recall: float | None
    f1: float | None


@overload
def ratio(part: float, whole: float, undefined: float) -> float: ...
@overload
def ratio(part: float, whole: float, undefined: float | None = None) -> float | None: ...
@overload
def ratio(part: Floats, whole: Floats, undefined: float | None = None) -> Floats: ...
def ratio(
    part: float | Floats, whole: float | Floats, undefined: float | None = None
) -> float | Floats | None:
    """Return a share, or `undefined` if the denominator is 0.

    >>> ratio(3, 4), ratio(0, 0), ratio(0, 0, 1.0)
    (0.75, None, 1.0)
    """
    if isinstance(whole, int | float):
        return part / whole if whole else undefined

    default = math.nan if undefined is None else undefined
    shares: Floats = np.divide(part, whole, out=np.full_like(part, default), where=whole > 0)
    return shares


@overload
def clip(value: float) -> float: ...
@overload
def clip(value: Floats) -> Floats: ...
def clip(value: float | Floats) -> float | Floats:
    """Clamp a value to 0 to 1."""
    if isinstance(value, int | float):
        return min(1.0, max(0.0, value))

    return np.clip(value, 0.0, 1.0)


@overload
def f1(tp: float, fp: float, fn: float) -> float | None: ...
@overload
def f1(tp: Floats, fp: Floats, fn: Floats) -> Floats: ...
def f1(tp: float | Floats, fp: float | Floats, fn: float | Floats) -> float | Floats | None:
    """Return F1, which equals 2PR / (P + R) but is rounded only once.

    >>> f1(2, 1, 1), f1(0, 1, 2), f1(0, 0, 0)
    (0.6666666666666666, 0.0, None)
    """
    return ratio(2 * tp, 2 * tp + fp + fn)  # type: ignore[arg-type]


def weighted_share(earned: Sequence[float], weights: Sequence[float]) -> float | None:
    """Return the sum of the earned weights as a share of all weights; `None` if these are 0.

    >>> weighted_share([1e308, 0.0], [1e308, 1e308]), weighted_share([], [])
    (0.5, None)
    """
    try:
        total = fsum(weights)
        return fsum(earned) / total if total else None
    except OverflowError:
        # The sum of the weights is too large for a float, but their ratio is not.
        return weighted_share(
            *([weight * _SMALLER for weight in values] for values in (earned, weights))
        )


_SMALLER: Final = 2.0**-64
"""A factor that changes no digit of a large number."""


def accuracy(counts: Counts, wrong: int) -> float | None:
    """Return the share of all counted fields that are correct.

    `wrong` is the number of wrong fields: one field can cost both a false positive and a false
    negative, so their sum would count it twice.
    """
    right = counts.tp + counts.tn
    return ratio(right, right + wrong)


def rates(counts: Counts, counting: CountingOptions = DEFAULT_CONVENTION.counting) -> Rates:
    """Return precision, recall and F1 of a count, as the convention reports them."""
    tp, fp, fn, undefined = counts.tp, counts.fp, counts.fn, _UNDEFINED[counting.zero]
    no_f1 = not tp and counting.f1_when_no_match is F1WhenNoMatch.UNDEFINED
    harmonic = None if no_f1 else f1(tp, fp, fn)
    return Rates(
        ratio(tp, tp + fp, undefined),
        ratio(tp, tp + fn, undefined),
        undefined if harmonic is None else harmonic,
    )


def wilson(part: int, whole: int) -> Interval | None:
    """Return Wilson's score interval of a share with the correction for continuity.

    Without the correction, it would contain a share near 0 or 1 in only 83% of samples. `None` if
    the denominator is 0.

    >>> low, high = wilson(10, 10)
    >>> round(low, 3), high
    (0.655, 1.0)
    """
    if not whole:
        return None
    low = 0.0 if part == 0 else _wilson_bound(part, whole)
    return low, 1.0 if part == whole else 1 - _wilson_bound(whole - part, whole)


def _wilson_bound(part: int, whole: int) -> float:
    """Return the lower bound of a share; the upper bound is the lower bound of the other share."""
    z, share = NORMAL_QUANTILE, part / whole
    root = math.sqrt(z**2 - 2 - 1 / whole + 4 * share * (whole - part + 1))
    return max(0.0, (2 * part + z**2 - 1 - z * root) / (2 * (whole + z**2)))


def auroc(levels: Iterable[tuple[int, int]]) -> float | None:
    """Return the area under the ROC curve, from the correct and wrong values of each score.

    The highest score comes first. The area is the share of pairs of a correct and a wrong value in
    which the correct value has the higher score; ties count half. It is undefined without correct
    or without wrong values.

    >>> auroc([(1, 1), (0, 1)])
    0.75
    """
    doubled = above = wrongs = 0
    for correct, wrong in levels:
        doubled += wrong * (2 * above + correct)
        above += correct
        wrongs += wrong
    return ratio(doubled, 2 * above * wrongs)


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

    @property
    def sum(self) -> float | None:
        """Return the correctly rounded sum, or `None` if no float is that large."""
        try:
            return self.steps / (1 << _SCALE)
        except OverflowError:
            return None


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
        _mean_of_defined(metric.precision for metric in metrics),
        _mean_of_defined(metric.recall for metric in metrics),
        fsum(metric.f1 or 0.0 for metric in metrics) / len(metrics),
    )


def _mean_of_defined(values: Iterable[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return fsum(defined) / len(defined) if defined else None


_DIGITS: Final = 9
"""Decimals that count in a comparison of scores; further ones depend on the order of additions."""


def sortable(score: float) -> float:
    """Return a score for comparisons with other scores, so that equal scores are ties.

    >>> sortable(0.7374999999999999) == sortable(0.7375)
    True
    """
    return round(score, _DIGITS)
