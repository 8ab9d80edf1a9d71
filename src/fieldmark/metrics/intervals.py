"""How far a figure may be off: intervals for shares and for figures that were resampled."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "Interval",
    "around",
    "deviations",
    "resampling_weights",
    "wilson",
]

LEVEL: Final = 0.95
"""How often an interval holds the true figure, if cases are drawn anew."""

RESAMPLES: Final = 1_000

Interval: TypeAlias = tuple[float, float]
"""The least and the most that a figure is likely to be."""

_NORMAL: Final = NormalDist()


def wilson(part: int, whole: int, level: float = LEVEL) -> Interval | None:
    """The interval of a share; of nothing there is none.

    It keeps away from 0 and 1 where there are few cases, however well these went.

    >>> low, high = wilson(10, 10)
    >>> round(low, 3), high
    (0.722, 1.0)
    """
    if not whole:
        return None
    z2 = _quantile(level) ** 2
    share = part / whole
    middle = (share + z2 / (2 * whole)) / (1 + z2 / whole)
    half = math.sqrt(z2 * (share * (1 - share) / whole + z2 / (4 * whole**2))) / (1 + z2 / whole)
    low = 0.0 if part == 0 else max(0.0, middle - half)
    return low, 1.0 if part == whole else min(1.0, middle + half)


def deviations(values: Floats, cases: int, level: float = LEVEL) -> Interval | None:
    """How far resampled values lie from the first, below and above; undefined ones are left out.

    Resamples of a few cases vary too little. The tails are narrowed so that for a mean the
    interval is as wide as the one by Student's t; with a single case there is none.
    """
    import numpy as np

    estimate, drawn = values[0], values[1:]
    defined = drawn[~np.isnan(drawn)]
    if not defined.size or cases <= 1 or np.isnan(estimate):
        return None
    tail = _tail(cases, level)
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low - estimate), float(high - estimate)


def resampling_weights(cases: int, resamples: int, seed: int) -> Floats:
    """How often each case is drawn in each resample: as many draws as there are cases.

    The first row draws every case once: what comes of it is the figure itself.
    """
    import numpy as np

    chance = np.random.default_rng(seed)
    weights = np.ones((resamples + 1, cases))
    for row in weights[1:]:
        row[:] = np.bincount(chance.integers(0, cases, cases), minlength=cases)
    return weights


def around(estimate: float, off: Interval, limits: Interval = (0.0, 1.0)) -> Interval:
    """The interval of an estimate that is off by so much; it holds the estimate."""
    low, high = (estimate + each for each in off)
    return max(limits[0], min(low, estimate)), min(limits[1], max(high, estimate))


def _quantile(level: float) -> float:
    return _NORMAL.inv_cdf((1 + level) / 2)


def _tail(cases: int, level: float) -> float:
    """The share of resamples that is cut off at either end."""
    return _NORMAL.cdf(-math.sqrt(cases / (cases - 1)) * _student(_quantile(level), cases - 1))


def _student(z: float, freedom: int) -> float:
    """The quantile of Student's t for a normal quantile, by the expansion of Cornish and Fisher."""
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return math.fsum(term / float(freedom) ** power for power, term in enumerate(terms))
