"""How the scores of cases are distributed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

_BINS: Final = 20
_NOISE: Final = 1e-9


class ScoreHistogram(NamedTuple):
    """The numbers of cases by score, in steps of 0.05, and of those without a score."""

    bins: tuple[tuple[float, float, int], ...]
    unscored: int


def score_histogram(scores: Iterable[float | None]) -> ScoreHistogram:
    """Count scores by bin; a score on a boundary belongs to the higher bin, and 1 to the last.

    >>> found = score_histogram([0.0, 0.05, 0.0499, 1.0, None])
    >>> [each for each in found.bins if each[2]], found.unscored
    ([(0.0, 0.05, 2), (0.05, 0.1, 1), (0.95, 1.0, 1)], 1)
    """
    counts, unscored = [0] * _BINS, 0
    for score in scores:
        if score is None or math.isnan(score):
            unscored += 1
        else:
            counts[min(_BINS - 1, max(0, math.floor(score * _BINS + _NOISE)))] += 1
    bins = tuple((n / _BINS, (n + 1) / _BINS, number) for n, number in enumerate(counts))
    return ScoreHistogram(bins, unscored)
