"""Several candidates for one case: their consistency and their ranking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import fsum, sqrt
from typing import Final, NamedTuple, TypeAlias

from fieldmark.metrics.counts import MISTAKES
from fieldmark.metrics.rates import sortable
from fieldmark.model.outcome import Outcome
from fieldmark.model.outcomes import FieldOutcome

_UNKNOWN: Final = frozenset({Outcome.ERROR, Outcome.IGNORED})

Records: TypeAlias = Iterable[FieldOutcome]
"""The outcomes of comparing two candidates with each other."""


class Ranking(NamedTuple):
    """Several candidates, from best to worst; ties keep their order.

    `ranks` has the rank of each candidate from 1, the same for equal scores. `deviation` is the
    population standard deviation.
    """

    order: tuple[int, ...]
    ranks: tuple[int, ...]
    best: float | None
    mean: float | None
    deviation: float | None


def agreement(pairs: Sequence[Records]) -> Mapping[str, float]:
    """Return for each field the share of candidate pairs that agree on it.

    Empty values agree, and so do two candidates that both lack the field. Pairs that could not be
    compared are excluded.
    """
    disagreements: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for record in chain.from_iterable(pairs):
        unknown[record.path] += record.outcome in _UNKNOWN
        disagreements[record.path] += record.outcome in MISTAKES
    return {
        path: (compared - disagreements[path]) / compared
        for path in sorted(disagreements)
        if (compared := len(pairs) - unknown[path]) > 0
    }


def consistency(pairs: Sequence[Records]) -> float | None:
    """Return the mean agreement over all fields of any candidate; undefined for one candidate."""
    shares = agreement(pairs)
    return fsum(shares.values()) / len(shares) if shares else None


def rank(scores: Sequence[float | None]) -> Ranking:
    """Order candidates by their primary score; candidates without a score come last.

    >>> rank([0.5, None, 1.0])
    Ranking(order=(2, 0, 1), ranks=(2, 3, 1), best=1.0, mean=0.75, deviation=0.25)
    """
    keys = [(score is None, -sortable(score or 0.0)) for score in scores]
    order = tuple(sorted(range(len(scores)), key=keys.__getitem__))
    ordered = sorted(keys)
    ranks = tuple(1 + ordered.index(key) for key in keys)
    defined = [score for score in scores if score is not None]
    if not defined:
        return Ranking(order, ranks, None, None, None)
    mean = fsum(defined) / len(defined)
    spread = sqrt(fsum((score - mean) ** 2 for score in defined) / len(defined))
    return Ranking(order, ranks, max(defined), mean, spread)
