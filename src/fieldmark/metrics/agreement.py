"""Agreement between a judge and human labels, and the threshold with the best agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile
from math import ceil, sqrt
from typing import Final, NamedTuple

from fieldmark.metrics.rates import wilson
from fieldmark.model.json import JsonObject, JsonValue

__all__ = [
    "BestThreshold",
    "JudgeAgreement",
    "JudgedPair",
    "agreement_at",
    "best_threshold",
    "sweep",
]

_CLOSE: Final = 1e-9
_MOST_DECIMALS: Final = 6


class JudgedPair(NamedTuple):
    """The judge's similarity for a pair, and whether people labeled the pair as a match."""

    similarity: float
    right: bool


class JudgeAgreement(NamedTuple):
    """The confusion matrix of a judge and human labels at one threshold."""

    threshold: float
    both: int = 0
    judge_only: int = 0
    people_only: int = 0
    neither: int = 0

    @property
    def pairs(self) -> int:
        """The number of judged pairs."""
        return sum(self[1:])

    @property
    def share(self) -> float | None:
        """The share of pairs on which judge and people agree."""
        return (self.both + self.neither) / self.pairs if self.pairs else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: agreement beyond chance; undefined if chance alone explains everything.

        >>> JudgeAgreement(0.8, both=20, judge_only=5, people_only=10, neither=15).kappa
        0.4
        """
        if self.share is None:
            return None
        judge, people = self.both + self.judge_only, self.both + self.people_only
        whole = self.pairs
        agreed = (self.both + self.neither) * whole
        chance = judge * people + (whole - judge) * (whole - people)
        return (agreed - chance) / (whole * whole - chance) if whole * whole != chance else None

    def to_dict(self) -> JsonObject:
        """Return the counts, the agreement and kappa as JSON."""
        interval = wilson(self.both + self.neither, self.pairs)
        return {
            **self._asdict(),
            "agreement": self.share,
            "agreement_interval": None if interval is None else list[JsonValue](interval),
            "kappa": self.kappa,
        }


class BestThreshold(NamedTuple):
    """The threshold with the best agreement, and the range within one standard error of it."""

    agreement: JudgeAgreement
    low: float
    high: float

    def to_dict(self) -> JsonObject:
        """Return the best agreement and the range of thresholds as JSON."""
        return {**self.agreement.to_dict(), "interval": [self.low, self.high]}


def agreement_at(judged: Iterable[JudgedPair], threshold: float) -> JudgeAgreement:
    """Return the agreement if the judge accepts every pair with at least this similarity.

    >>> agreement_at([JudgedPair(0.9, True), JudgedPair(0.7, True)], 0.8)[1:]
    (1, 0, 1, 0)
    """
    counts = Counter((each.similarity >= threshold - _CLOSE, each.right) for each in judged)
    return JudgeAgreement(
        threshold,
        both=counts[True, True],
        judge_only=counts[True, False],
        people_only=counts[False, True],
        neither=counts[False, False],
    )


def sweep(judged: Sequence[JudgedPair]) -> list[JudgeAgreement]:
    """Return the agreement at every threshold that changes it, in ascending order."""
    tallies: dict[float, Counter[bool]] = {}
    for similarity, right in judged:
        tallies.setdefault(similarity, Counter())[right] += 1
    levels = sorted(tallies)
    matches, others = (sum(tally[right] for tally in tallies.values()) for right in (True, False))
    rows: list[JudgeAgreement] = []
    both, judge_only = matches, others
    for place, level in enumerate(levels):
        threshold = _between(levels[place - 1] if place else None, level)
        rows.append(
            JudgeAgreement(threshold, both, judge_only, matches - both, others - judge_only)
        )
        both, judge_only = both - tallies[level][True], judge_only - tallies[level][False]
    if levels and levels[-1] < 1.0:
        rows.append(JudgeAgreement(_between(levels[-1], 1.0), 0, 0, matches, others))
    return rows


def best_threshold(judged: Sequence[JudgedPair]) -> BestThreshold | None:
    """Return the threshold with the best agreement, and the range within one standard error."""
    rows = sweep(judged)
    if not rows:
        return None
    place = max(range(len(rows)), key=lambda at: (rows[at].share or 0.0, rows[at].kappa or 0.0))
    share = rows[place].share or 0.0
    least = share - sqrt(share * (1.0 - share) / len(judged)) - _CLOSE
    *_, low = takewhile(lambda row: (row.share or 0.0) >= least, rows[place::-1])
    *_, high = takewhile(lambda row: (row.share or 0.0) >= least, rows[place:])
    return BestThreshold(rows[place], low.threshold, high.threshold)


def _between(below: float | None, level: float) -> float:
    """Return the threshold with the fewest decimals that is above `below` and at most `level`."""
    if below is None:
        return level
    middle = (below + level) / 2
    for decimals in range(2, _MOST_DECIMALS + 1):
        scale = float(10**decimals)
        for rounded in (round(middle * scale) / scale, ceil(middle * scale) / scale):
            if below + _CLOSE < rounded <= level:
                return rounded
    return level
