"""How many cases a gate needs to detect that a metric became worse."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final, NamedTuple

from fieldmark.metrics.significance import ALPHA

POWER: Final = 0.8
"""The default probability of detecting a drop."""
_NORMAL: Final = NormalDist()


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
        return (sum(each * spread for each, spread in own) / worse) ** 2

    number = max(2, math.ceil(needed(drop)))
    limit = value - sign * quantiles[0] * deviations(drop)[0] / math.sqrt(number)
    low, high = 1e-6, 1.0
    for _ in range(50):  # fewer cases are needed for a larger drop
        middle = math.sqrt(low * high)
        low, high = (middle, high) if needed(middle) > cases else (low, middle)
    return GateSize(number, limit, high)
