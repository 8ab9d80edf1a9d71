"""Significance tests for two runs over the same cases, and how many cases a gate needs."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate
from statistics import NormalDist
from typing import Final, NamedTuple, TypeVar

from fieldmark.values.arrays import Floats, Signs, np

ALPHA: Final = 0.05
"""The significance level."""

PERMUTATIONS: Final = 2_999

_EXACT: Final = 1_000
_ROW_BLOCK: Final = 64
"""The number of permutations that are drawn at a time, which bounds the memory."""
_NORMAL: Final = NormalDist()
_TIE: Final = 1e-12
_Name = TypeVar("_Name")


def smallest_p(differing: int) -> float:
    """Return the p-value if all differing pairs changed in the same direction.

    No other result of a two-sided sign or permutation test has a smaller one.

    >>> smallest_p(0), smallest_p(5), smallest_p(6)
    (1.0, 0.0625, 0.03125)
    """
    return min(1.0, 2.0 ** (1 - differing))


def mcnemar(fixed: int, regressed: int) -> float:
    """Return the p-value of McNemar's test for fixed and regressed cases.

    Exact up to a thousand changes, then by the normal approximation.

    >>> mcnemar(8, 0), mcnemar(5, 5)
    (0.0078125, 1.0)
    """
    changed, fewer = fixed + regressed, min(fixed, regressed)
    if not changed:
        return 1.0
    if changed <= _EXACT:
        ways = sum(math.comb(changed, number) for number in range(fewer + 1))
        return min(1.0, 2 * ways / (1 << changed))
    z = max(0.0, abs(fixed - regressed) - 1) / math.sqrt(changed)
    return 2 * _NORMAL.cdf(-z)


def holm(p_values: Mapping[_Name, float]) -> dict[_Name, float]:
    """Return Holm-adjusted p-values.

    >>> holm({"total": 0.01, "vendor": 0.04, "date": 0.03})
    {'total': 0.03, 'vendor': 0.06, 'date': 0.06}
    """
    adjusted: dict[_Name, float] = {}
    least = 0.0
    ranked = sorted(p_values.items(), key=lambda item: item[1])
    for rank, (name, p) in enumerate(ranked):
        least = max(least, min(1.0, p * (len(ranked) - rank)))
        adjusted[name] = least
    return {name: adjusted[name] for name in p_values}


def holm_of_smallest(
    p_values: Mapping[_Name, float], smallest: Mapping[_Name, float]
) -> dict[_Name, float]:
    """Return each Holm-adjusted p-value if that p-value alone were the smallest possible.

    >>> holm_of_smallest({"total": 0.0625, "vendor": 0.5}, {"total": 0.0625, "vendor": 0.001})
    {'total': 0.125, 'vendor': 0.002}
    """
    ranked = sorted(p_values.values())
    number = len(ranked)
    steps = [min(1.0, p * (number - rank)) for rank, p in enumerate(ranked)]
    at_least = [0.0, *accumulate(steps, max)]
    adjusted: dict[_Name, float] = {}
    for name, p in smallest.items():
        rank = bisect_left(ranked, p)
        adjusted[name] = max(at_least[rank], min(1.0, p * (number - rank)))
    return adjusted


def holm_levels(p_values: Mapping[_Name, float], alpha: float = ALPHA) -> dict[_Name, float]:
    """Return the significance level of each p-value in Holm's procedure.

    A p-value is at most its level if and only if the adjusted p-value is at most alpha.

    >>> holm_levels({"total": 0.01, "vendor": 0.04, "date": 0.03})
    {'total': 0.016666666666666666, 'vendor': 0.025, 'date': 0.025}
    """
    rejected = sum(p <= alpha for p in holm(p_values).values())
    ranked = sorted(p_values, key=lambda name: p_values[name])
    levels = {name: alpha / (len(ranked) - min(rank, rejected)) for rank, name in enumerate(ranked)}
    return {name: levels[name] for name in p_values}


def hypergeometric_tails(
    least: Floats, cases: float | Floats, marked: float | Floats, drawn: Floats
) -> Floats:
    """Return the probabilities of at least so many marked cases in a random draw.

    This is Fisher's exact test, one-sided. `least`, the numbers of all `cases`, of `marked` cases
    and of `drawn` cases are whole numbers.

    >>> import numpy as np
    >>> hypergeometric_tails(np.array([0.0, 2.0, 3.0]), 4, 2, np.array([2.0, 2.0, 2.0])).round(6)
    array([1.      , 0.166667, 0.      ])
    """
    rows = np.stack(np.broadcast_arrays(least, cases, marked, drawn), axis=1).astype(np.intp)
    most = int(rows[:, 1].max(initial=0))
    log = np.array([math.lgamma(number + 1) for number in range(most + 1)])  # of factorials
    tails = np.zeros(len(rows))
    for row, (fewest, total, good, size) in enumerate(rows.tolist()):
        other = total - good
        hits = np.arange(max(fewest, size - other, 0), min(good, size) + 1)
        ways = log[good] - log[hits] - log[good - hits]
        ways += log[other] - log[size - hits] - log[other - size + hits]
        tails[row] = np.exp(ways - log[total] + log[size] + log[total - size]).sum()
    return np.minimum(tails, 1.0)


def hypergeometric_smallest(cases: Floats, marked: Floats, drawn: Floats) -> Floats:
    """Return the smallest p-value that `hypergeometric_tails` can have, for any number of hits.

    >>> import numpy as np
    >>> hypergeometric_smallest(*(np.array([float(number)]) for number in (4, 2, 2))).round(6)
    array([0.166667])
    """
    numbers = (cases, marked, drawn, np.minimum(marked, drawn))
    total, good, size, hits = (each.astype(np.intp) for each in numbers)
    log = np.array([math.lgamma(number + 1) for number in range(int(total.max(initial=0)) + 1)])
    ways = log[good] - log[hits] - log[good - hits]
    ways += log[total - good] - log[size - hits] - log[total - good - size + hits]
    smallest: Floats = np.exp(ways - log[total] + log[size] + log[total - size])
    return smallest


def flip_signs(cases: int, permutations: int, seed: int) -> Signs:
    """Return 1 (keep) or -1 (swap the runs) for each permutation and case.

    The first row swaps nothing, so it gives the observed difference.
    """
    generator = np.random.default_rng(seed)
    signs = np.empty((permutations + 1, cases), np.int8)
    for top in range(0, len(signs), _ROW_BLOCK):
        rows = signs[top : top + _ROW_BLOCK]
        rows[:] = generator.integers(0, 2, rows.shape)
    signs *= 2
    signs -= 1
    signs[0] = 1
    return signs


def permutation_p(differences: Floats) -> float:
    """Return the share of permutations whose difference is at least the observed one, the first.

    If there is none, the tail of a normal distribution estimates the p-value.
    """
    observed, drawn = differences[0], differences[1:]
    if np.isnan(observed):
        return 1.0
    defined = drawn[~np.isnan(drawn)]
    as_far = int((np.abs(defined) >= abs(observed) - _TIE).sum())
    share = (as_far + 1) / (len(defined) + 1)
    if as_far or not defined.size:
        return share
    spread = math.sqrt(float(np.mean(defined**2)))
    return min(share, 2 * _NORMAL.cdf(-abs(float(observed)) / spread)) if spread else share


def critical_difference(differences: Floats, level: float, *, significant: bool) -> float:
    """Return the largest difference that is not significant at this level.

    `differences` are as for `permutation_p`, and `significant` is the result of the test: the
    observed difference is larger if and only if it is significant.
    """
    observed = abs(float(differences[0]))
    drawn = np.sort(np.abs(differences[1:][~np.isnan(differences[1:])]))[::-1]
    if not drawn.size:
        return observed
    as_far = int(level * (len(drawn) + 1))
    if as_far:
        critical = float(drawn[as_far - 1])
    else:  # so few permutations have no such quantile
        spread = math.sqrt(float(np.mean(drawn**2)))
        critical = max(float(drawn[0]), _NORMAL.inv_cdf(1 - level / 2) * spread)
    if not significant:
        return max(critical, observed)
    if critical < observed - _TIE:
        return critical
    smaller = drawn[drawn < observed - _TIE]
    return float(smaller[0]) if smaller.size else 0.0


POWER: Final = 0.8
"""The default probability of detecting a drop."""


class GateSize(NamedTuple):
    """The number of cases that a gate needs, its limit, and the drop that the run can detect.

    A run with `cases` cases and an unchanged metric is below the `limit` with a probability of at
    most alpha; with a metric that is worse by the drop, it is below with the required power.
    `detectable` is the smallest drop that a gate on as many cases as the run has can detect.
    """

    cases: int
    limit: float
    detectable: float


def gate_size(
    value: float,
    deviation: float,
    cases: int,
    *,
    drop: float,
    alpha: float = ALPHA,
    power: float = POWER,
    less_is_better: bool = False,
) -> GateSize:
    """Return how large a data set must be for a one-sided test of a metric against a limit.

    `deviation` is the standard deviation of the metric over resamples of `cases` cases; for one
    case, it is larger by the square root of their number. A share that moves away from 0 or 1
    varies more, as in a binomial distribution. If the metric does not vary, its variation after the
    drop is assumed to be binomial.

    >>> size = gate_size(0.9, 0.015, 400, drop=0.02)
    >>> size.cases, round(size.limit, 3), round(size.detectable, 3)
    (1471, 0.887, 0.039)
    """
    single = deviation * math.sqrt(cases)
    quantiles = _NORMAL.inv_cdf(1 - alpha), _NORMAL.inv_cdf(power)
    sign = -1 if less_is_better else 1

    def deviations(worse: float) -> tuple[float, float]:
        """Return the standard deviation of one case before and after a drop."""
        after = min(1.0, max(0.0, value - sign * worse))
        if not single:
            binomial = math.sqrt(after * (1 - after))
            return binomial, binomial
        before = value * (1 - value)
        ratio = after * (1 - after) / before if before > 0 else 1.0
        return single, single * math.sqrt(max(1.0, ratio))

    def needed(worse: float) -> float:
        own = zip(quantiles, deviations(worse), strict=True)
        return (sum(quantile * spread for quantile, spread in own) / worse) ** 2

    number = max(2, math.ceil(needed(drop)))
    limit = value - sign * quantiles[0] * deviations(drop)[0] / math.sqrt(number)
    low, high = 1e-6, 1.0
    for _ in range(50):  # fewer cases are needed for a larger drop
        middle = math.sqrt(low * high)
        low, high = (middle, high) if needed(middle) > cases else (low, middle)
    return GateSize(number, limit, high)
