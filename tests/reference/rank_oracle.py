"""Rankings of runs, computed slowly from the definitions."""

from __future__ import annotations

from itertools import product
from math import fsum


def mean_score(cases):
    """The mean of the scores of cases, each given as (score, counts by attribute)."""
    return fsum(score for score, _ in cases) / len(cases)


def macro_f1(cases):
    """The mean over attributes of 2TP / (2TP + FP + FN); 1 if there is nothing to count."""
    totals = {}
    for _, counts in cases:
        for attribute, (tp, fp, fn) in counts.items():
            one, two, three = totals.get(attribute, (0, 0, 0))
            totals[attribute] = one + tp, two + fp, three + fn
    f1s = [2 * tp / (2 * tp + fp + fn) for tp, fp, fn in totals.values() if tp or fp or fn]
    return fsum(f1s) / len(f1s) if f1s else 1.0


def exact_p(one, other, metric):
    """The share of all ways to swap the runs case by case whose difference is as large."""
    observed = abs(metric(one) - metric(other))
    as_large = ways = 0
    for swaps in product((False, True), repeat=len(one)):
        first = [b if swap else a for a, b, swap in zip(one, other, swaps, strict=True)]
        second = [a if swap else b for a, b, swap in zip(one, other, swaps, strict=True)]
        as_large += abs(metric(first) - metric(second)) >= observed - 1e-12
        ways += 1
    return as_large / ways


def adjusted(p_values):
    """Holm: an adjusted p-value is the largest of all smaller ones, each times those left."""
    found = {}
    for name, p in p_values.items():
        smaller = [other for other in p_values if (p_values[other], other) <= (p, name)]
        steps = [
            p_values[other]
            * sum((p_values[each], each) >= (p_values[other], other) for each in p_values)
            for other in smaller
        ]
        found[name] = min(1.0, max(steps))
    return found


def frontier(runs):
    """The names of (name, value, cost) for which no other is as good and as cheap, and not equal."""
    return {
        name
        for name, value, cost in runs
        if not any(
            value2 >= value and cost2 <= cost and (value2, cost2) != (value, cost)
            for _, value2, cost2 in runs
        )
    }
