"""Every ratio of counts. What cannot be divided is undefined (`None`), or 0 where asked."""

from __future__ import annotations

from typing import NamedTuple

from fieldmark.metrics.options import ZeroRule
from fieldmark.model.counts import Counts

__all__ = ["Rates", "accuracy", "f1", "precision", "rates", "ratio", "recall"]


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
