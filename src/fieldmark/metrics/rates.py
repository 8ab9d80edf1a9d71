"""Every ratio of counts. What cannot be divided is undefined (`None`), or 0 where asked."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final, NamedTuple, TypeAlias

from fieldmark.metrics.conventions import ZeroRule
from fieldmark.model.counts import Counts

__all__ = [
    "LEVEL",
    "Interval",
    "Rates",
    "accuracy",
    "f1",
    "normal_quantile",
    "precision",
    "rates",
    "ratio",
    "recall",
    "wilson",
]

LEVEL: Final = 0.95
"""How often an interval holds the true figure, if cases are drawn anew."""

Interval: TypeAlias = tuple[float, float]
"""The least and the most that a figure is likely to be."""


class Rates(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float | None
    recall: float | None
    f1: float | None


def ratio(part: int, whole: int, zero: ZeroRule = ZeroRule.UNDEFINED) -> float | None:
    """A share; of nothing it is undefined, or 0 under that rule.

    >>> ratio(3, 4), ratio(0, 0), ratio(0, 0, ZeroRule.ZERO)
    (0.75, None, 0.0)
    """
    if whole:
        return part / whole
    return 0.0 if zero is ZeroRule.ZERO else None


def precision(counts: Counts, zero: ZeroRule = ZeroRule.UNDEFINED) -> float | None:
    """Of what was extracted, the share that is right."""
    return ratio(counts.tp, counts.tp + counts.fp, zero)


def recall(counts: Counts, zero: ZeroRule = ZeroRule.UNDEFINED) -> float | None:
    """Of what should have been extracted, the share that was."""
    return ratio(counts.tp, counts.tp + counts.fn, zero)


def f1(counts: Counts, zero: ZeroRule = ZeroRule.UNDEFINED) -> float | None:
    """The harmonic mean of precision and recall; undefined where one is, or where both are 0.

    Without a true positive one of these always holds. With one, 2PR / (P + R) is the same as
    2TP / (2TP + FP + FN), which rounds only once.
    """
    double = 2 * counts.tp
    return ratio(double, double + counts.fp + counts.fn if double else 0, zero)


def accuracy(counts: Counts, wrong: int) -> float | None:
    """Of all fields that were counted, the share that is right.

    `wrong` is the number of wrong fields: one field can cost both a false positive and a false
    negative, so their sum would count it twice.
    """
    right = counts.tp + counts.tn
    return ratio(right, right + wrong)


def rates(counts: Counts, zero: ZeroRule = ZeroRule.UNDEFINED) -> Rates:
    """All three ratios of a count."""
    return Rates(precision(counts, zero), recall(counts, zero), f1(counts, zero))


def wilson(part: int, whole: int, level: float = LEVEL) -> Interval | None:
    """The interval of a share; of nothing there is none.

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
