"""Ratios of counts: precision, recall, F1, accuracy, and the interval of a share.

The formulas work for numbers and for arrays of them. A ratio with nothing to divide by is
undefined: `None` for a number, NaN in an array.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, overload

from fieldmark.metrics.conventions import ZeroRule
from fieldmark.model.counts import Counts

if TYPE_CHECKING:
    from fieldmark.metrics.arrays import Floats

__all__ = [
    "LEVEL",
    "Interval",
    "Rates",
    "accuracy",
    "clip",
    "f1",
    "f1_score",
    "normal_quantile",
    "rates",
    "ratio",
    "wilson",
]

LEVEL: Final = 0.95
"""The confidence level of every interval."""

Interval: TypeAlias = tuple[float, float]
"""The lower and the upper bound of a figure."""

_UNDEFINED: Final = {ZeroRule.UNDEFINED: None, ZeroRule.ZERO: 0.0}


class Rates(NamedTuple):
    """The shares of extracted and of expected values that are right, and their harmonic mean."""

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
    """A share; where there is nothing to divide by, `undefined`.

    >>> ratio(3, 4), ratio(0, 0), ratio(0, 0, 1.0)
    (0.75, None, 1.0)
    """
    if isinstance(whole, int | float):
        return part / whole if whole else undefined
    import numpy as np

    default = math.nan if undefined is None else undefined
    shares: Floats = np.divide(part, whole, out=np.full_like(part, default), where=whole > 0)
    return shares


@overload
def clip(value: float) -> float: ...
@overload
def clip(value: Floats) -> Floats: ...
def clip(value: float | Floats) -> float | Floats:
    """The value, or the nearest of 0 and 1 where it lies beyond."""
    if isinstance(value, int | float):
        return min(1.0, max(0.0, value))
    import numpy as np

    return np.clip(value, 0.0, 1.0)


@overload
def f1_score(tp: float, fp: float, fn: float) -> float | None: ...
@overload
def f1_score(tp: Floats, fp: Floats, fn: Floats) -> Floats: ...
def f1_score(tp: float | Floats, fp: float | Floats, fn: float | Floats) -> float | Floats | None:
    """F1 as it counts in a mean: 0 without a true positive, undefined with nothing to find.

    2TP / (2TP + FP + FN) is 2PR / (P + R), rounded only once.
    """
    return ratio(2 * tp, 2 * tp + fp + fn)  # type: ignore[arg-type]


def f1(counts: Counts, zero: ZeroRule = ZeroRule.UNDEFINED) -> float | None:
    """The harmonic mean of precision and recall; undefined where one is, or where both are 0.

    Without a true positive one of these always holds.
    """
    return f1_score(counts.tp, counts.fp, counts.fn) if counts.tp else _UNDEFINED[zero]


def accuracy(counts: Counts, wrong: int) -> float | None:
    """The share of all counted fields that are right.

    `wrong` is the number of wrong fields: one field can cost both a false positive and a false
    negative, so their sum would count it twice.
    """
    right = counts.tp + counts.tn
    return ratio(right, right + wrong)


def rates(counts: Counts, zero: ZeroRule = ZeroRule.UNDEFINED) -> Rates:
    """Precision, recall and F1 of a count."""
    tp, undefined = counts.tp, _UNDEFINED[zero]
    precision = ratio(tp, tp + counts.fp, undefined)
    recall = ratio(tp, tp + counts.fn, undefined)
    return Rates(precision, recall, f1(counts, zero))


def wilson(part: int, whole: int, level: float = LEVEL) -> Interval | None:
    """Wilson's score interval of a share; `None` for a share of nothing.

    It keeps away from 0 and 1 where there are few cases, however well these went.

    >>> low, high = wilson(10, 10)
    >>> round(low, 3), high
    (0.722, 1.0)
    """
    if not whole:
        return None
    z2 = normal_quantile(level) ** 2
    share = part / whole
    middle = (share + z2 / (2 * whole)) / (1 + z2 / whole)
    half = math.sqrt(z2 * (share * (1 - share) / whole + z2 / (4 * whole**2))) / (1 + z2 / whole)
    low = 0.0 if part == 0 else max(0.0, middle - half)
    return low, 1.0 if part == whole else min(1.0, middle + half)


def normal_quantile(level: float) -> float:
    """The two-sided quantile of the standard normal distribution."""
    return NormalDist().inv_cdf((1 + level) / 2)
