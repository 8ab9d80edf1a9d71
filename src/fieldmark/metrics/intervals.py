"""How far a figure may be off: intervals for shares and for figures that were resampled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Weights: TypeAlias = NDArray[np.uint8]

__all__ = [
    "LEVEL",
    "RESAMPLES",
    "Interval",
    "around",
    "deviations",
    "product",
    "resampling_weights",
    "spans",
    "wilson",
]

LEVEL: Final = 0.95
"""How often an interval holds the true figure, if cases are drawn anew."""

RESAMPLES: Final = 1_000

Interval: TypeAlias = tuple[float, float]
"""The least and the most that a figure is likely to be."""

_NORMAL: Final = NormalDist()
_DRAWS: Final = 64
"""Draws that are made, or summed, at once; bounds the memory."""
_PRODUCT: Final = 1 << 18
"""Multiplications up to which libraries of linear algebra stay on one thread.

Beyond, they wake others, which then wait for more at the price of a whole processor.
"""


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
    """How far resampled values lie from the first, below and above."""
    return spans(values[None], [cases], level)[0]


def spans(values: Floats, cases: Sequence[int], level: float = LEVEL) -> list[Interval | None]:
    """The deviations of several figures, a row each; undefined values are left out.

    Resamples of a few cases vary too little. The tails are narrowed so that for a mean the
    interval is as wide as the one by Student's t; with a single case there is none.
    """
    import numpy as np

    drawn = np.sort(values[:, 1:], axis=1)  # what is undefined comes last
    defined = (~np.isnan(drawn)).sum(axis=1).tolist()
    estimates = values[:, 0].tolist()
    found: list[Interval | None] = []
    for row, number, estimate, count in zip(drawn, defined, estimates, cases, strict=True):
        if not number or count <= 1 or math.isnan(estimate):
            found.append(None)
            continue
        tail = _tail(count, level)
        low, high = (_at(row, number, share) for share in (tail, 1 - tail))
        found.append((low - estimate, high - estimate))
    return found


def resampling_weights(cases: int, resamples: int, seed: int) -> Weights:
    """How often each case is drawn in each resample: as many draws as there are cases.

    The first row draws every case once: what comes of it is the figure itself.
    """
    import numpy as np

    chance = np.random.default_rng(seed)
    weights = np.ones((resamples + 1, cases), np.uint8)
    apart = np.arange(_DRAWS)[:, None] * cases
    for top in range(1, resamples + 1, _DRAWS):
        rows = weights[top : top + _DRAWS]
        drawn = chance.integers(0, cases, rows.shape, np.uint32) + apart[: len(rows)]
        rows[:] = np.bincount(drawn.ravel(), minlength=rows.size).reshape(rows.shape)
    return weights


def product(rows: Floats | Weights, columns: Floats) -> Floats:
    """The product of two tables of whole numbers; exact in any order, and on this thread alone."""
    import numpy as np

    width = columns.shape[1]
    step = max(1, _PRODUCT // (_DRAWS * max(1, width)))
    total = np.zeros((len(rows), width))
    for top in range(0, len(rows), _DRAWS):
        some = rows[top : top + _DRAWS].astype(np.float64, copy=False)
        for start in range(0, len(columns), step):
            part = slice(start, start + step)
            total[top : top + _DRAWS] += some[:, part] @ columns[part]
    return total


def around(estimate: float, off: Interval, limits: Interval = (0.0, 1.0)) -> Interval:
    """The interval of an estimate that is off by so much; it holds the estimate."""
    low, high = (estimate + each for each in off)
    return max(limits[0], min(low, estimate)), min(limits[1], max(high, estimate))


def _quantile(level: float) -> float:
    return _NORMAL.inv_cdf((1 + level) / 2)


def _at(ordered: Floats, number: int, share: float) -> float:
    """The value below which such a share of the first values lies, as a straight line has it."""
    place = share * (number - 1)
    low = int(place)
    before, after = float(ordered[low]), float(ordered[min(low + 1, number - 1)])
    return before + (after - before) * (place - low)


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
