"""Several candidates of one case: how far they agree, and which of them is best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import fsum, sqrt
from typing import NamedTuple, TypeAlias

from fieldmark.model.json import JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.values.presence import PresenceRule, presence

__all__ = ["Agree", "Ranking", "agreement", "consistency", "rank"]

Agree: TypeAlias = Callable[[str, "JsonValue | Missing", "JsonValue | Missing"], "bool | None"]
"""Whether two values of a field are the same; `None` if that could not be found out."""


class Ranking(NamedTuple):
    """Candidates by their score: the best first, equals in their own order.

    `deviation` is that of the population: these candidates are all there are.
    """

    order: tuple[int, ...]
    best: float | None
    mean: float | None
    deviation: float | None


def consistency(
    fields: Mapping[str, Sequence[JsonValue | Missing]],
    agree: Agree,
    rule: PresenceRule = presence,
) -> float | None:
    """The mean agreement over all fields that any candidate has; with one candidate undefined.

    Every field lists what each candidate has there, in one order of candidates.

    >>> consistency({"total": [5, 5, 6]}, lambda path, one, two: one == two)
    0.3333333333333333
    """
    shares = (agreement(path, values, agree, rule) for path, values in fields.items())
    defined = [share for share in shares if share is not None]
    return fsum(defined) / len(defined) if defined else None


def agreement(
    path: str,
    values: Sequence[JsonValue | Missing],
    agree: Agree,
    rule: PresenceRule = presence,
) -> float | None:
    """The share of pairs of candidates that agree on a field; two empty ones do."""
    answers: list[bool] = []
    for (one, one_is), (two, two_is) in combinations([(each, rule(each)) for each in values], 2):
        filled = (one_is is Presence.VALUE) + (two_is is Presence.VALUE)
        answer = agree(path, one, two) if filled == len((one, two)) else not filled
        if answer is not None:
            answers.append(answer)
    return sum(answers) / len(answers) if answers else None


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
