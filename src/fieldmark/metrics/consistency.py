"""Several candidates of one case: how far they agree, and which of them is best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, sqrt
from typing import Final, NamedTuple, TypeAlias

from fieldmark.model.outcome import Outcome
from fieldmark.model.outcomes import FieldOutcome

__all__ = ["Ranking", "agreement", "consistency", "rank"]

_AGREE: Final = frozenset({Outcome.MATCH, Outcome.BOTH_EMPTY})
_SILENT: Final = frozenset({Outcome.ERROR, Outcome.IGNORED})

Records: TypeAlias = Iterable[FieldOutcome]
"""The fields of two candidates that were compared with one another."""


class Ranking(NamedTuple):
    """Candidates by their score: the best first, equals in their own order.

    `deviation` is that of the population: these candidates are all there are.
    """

    order: tuple[int, ...]
    best: float | None
    mean: float | None
    deviation: float | None


def agreement(pairs: Sequence[Records]) -> Mapping[str, float]:
    """For every field the share of pairs of candidates that agree on it.

    Two empty values agree, and so does a pair in which neither candidate has the field. A pair
    whose values could not be compared is left out.
    """
    quarrels: dict[str, int] = {}
    unknown: dict[str, int] = {}
    for records in pairs:
        for record in records:
            quarrels.setdefault(record.path, 0)
            if record.outcome in _SILENT:
                unknown[record.path] = unknown.get(record.path, 0) + 1
            elif record.outcome not in _AGREE:
                quarrels[record.path] += 1
    asked = {path: len(pairs) - unknown.get(path, 0) for path in quarrels}
    return {
        path: (asked[path] - quarrels[path]) / asked[path]
        for path in sorted(quarrels)
        if asked[path] > 0
    }


def consistency(pairs: Sequence[Records]) -> float | None:
    """The mean agreement over all fields that any candidate has; with one candidate undefined."""
    shares = agreement(pairs)
    return fsum(shares.values()) / len(shares) if shares else None


def rank(scores: Sequence[float | None]) -> Ranking:
    """Order candidates by their primary score; those without a score come last.

    >>> rank([0.5, None, 1.0])
    Ranking(order=(2, 0, 1), best=1.0, mean=0.75, deviation=0.25)
    """
    order = sorted(range(len(scores)), key=lambda place: _descending(scores[place]))
    defined = [score for score in scores if score is not None]
    if not defined:
        return Ranking(tuple(order), None, None, None)
    mean = fsum(defined) / len(defined)
    spread = sqrt(fsum((score - mean) ** 2 for score in defined) / len(defined))
    return Ranking(tuple(order), max(defined), mean, spread)


def _descending(score: float | None) -> tuple[bool, float]:
    return (True, 0.0) if score is None else (False, -score)
