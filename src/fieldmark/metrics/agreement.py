"""Agreement between a judge and human labels, and the threshold with the best agreement."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile
from math import ceil, inf, sqrt
from typing import Annotated, Final, NamedTuple

from fieldmark.errors import OptionError
from fieldmark.metrics.rates import NORMAL_QUANTILE, Interval, Rates, auroc, rates, wilson
from fieldmark.model.counts import Counts
from fieldmark.model.json import JsonObject
from fieldmark.values.records import EXCLUDED, INLINE, computed_field, to_json

_CLOSE: Final = 1e-9
_MOST_DECIMALS: Final = 6
_FOLDS: Final = 5
_TARGETS: Final = ("precision", "recall")


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
    @computed_field(key="agreement")
    def share(self) -> float | None:
        """The share of pairs with the same verdict of judge and people."""
        return (self.both + self.neither) / self.pairs if self.pairs else None

    @property
    @computed_field()
    def agreement_interval(self) -> Interval | None:
        """The 95% confidence interval of the agreement."""
        return wilson(self.both + self.neither, self.pairs)

    @property
    @computed_field()
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

    @property
    @computed_field()
    def kappa_interval(self) -> Interval | None:
        """The 95% confidence interval of kappa, by its asymptotic standard error.

        If judge and people agree on all pairs or on none, the standard error is 0; then the
        interval follows from the interval of the agreement.

        >>> [round(bound, 3) for bound in JudgeAgreement(0.8, 20, 5, 10, 15).kappa_interval]
        [0.151, 0.649]
        """
        kappa, whole = self.kappa, self.pairs
        if kappa is None:
            return None
        both, judge_only, people_only, neither = (count / whole for count in self[1:])
        judge, people = both + judge_only, both + people_only
        chance = judge * people + (1 - judge) * (1 - people)
        if not (judge_only or people_only) or not (both or neither):
            bounds = wilson(self.both + self.neither, whole) or (0.0, 1.0)
            low, high = ((bound - chance) / (1 - chance) for bound in bounds)
            return max(-1.0, low), min(1.0, high)
        # Fleiss, Cohen and Everitt (1969), for two raters and two categories.
        remaining = 1 - kappa
        agreed = both * (1 - (judge + people) * remaining) ** 2
        agreed += neither * (1 - (2 - judge - people) * remaining) ** 2
        apart = judge_only * (people + 1 - judge) ** 2 + people_only * (judge + 1 - people) ** 2
        variance = agreed + remaining**2 * apart - (kappa - chance * remaining) ** 2
        margin = NORMAL_QUANTILE * sqrt(max(0.0, variance) / whole) / (1 - chance)
        return max(-1.0, kappa - margin), min(1.0, kappa + margin)

    @property
    @computed_field()
    def rates(self) -> Annotated[Rates, INLINE]:
        """Precision, recall and F1 of the pairs that the judge accepts."""
        return rates(Counts(self.both, self.neither, self.judge_only, self.people_only))

    def to_dict(self) -> JsonObject:
        """Return the counts, the agreement, kappa and the rates as JSON."""
        return to_json(self)


class BestThreshold(NamedTuple):
    """The threshold with the best agreement, and the range within one standard error of it."""

    agreement: Annotated[JudgeAgreement, INLINE]
    low: Annotated[float, EXCLUDED]
    high: Annotated[float, EXCLUDED]

    @property
    @computed_field()
    def interval(self) -> Interval:
        """The range of thresholds."""
        return self.low, self.high

    def to_dict(self) -> JsonObject:
        """Return the best agreement and the range of thresholds as JSON."""
        return to_json(self)


def agreement_at(judged: Iterable[JudgedPair], threshold: float) -> JudgeAgreement:
    """Return the agreement if the judge accepts every pair with at least this similarity.

    >>> agreement_at([JudgedPair(0.9, True), JudgedPair(0.7, True)], 0.8)[1:]
    (1, 0, 1, 0)
    """
    counts = Counter((pair.similarity >= threshold - _CLOSE, pair.right) for pair in judged)
    return _agreement(threshold, counts)


def sweep(judged: Sequence[JudgedPair]) -> list[JudgeAgreement]:
    """Return the agreement at every threshold that changes it, in ascending order."""
    tallies = _tallies(judged)
    levels = sorted(tallies)
    matches, others = (sum(tally[right] for tally in tallies.values()) for right in (True, False))
    rows: list[JudgeAgreement] = []
    both, judge_only = matches, others
    for index, level in enumerate(levels):
        threshold = threshold_between(levels[index - 1] if index else None, level)
        rows.append(
            JudgeAgreement(threshold, both, judge_only, matches - both, others - judge_only)
        )
        both, judge_only = both - tallies[level][True], judge_only - tallies[level][False]
    if levels and levels[-1] < 1.0:
        rows.append(JudgeAgreement(threshold_between(levels[-1], 1.0), 0, 0, matches, others))
    return rows


def best_threshold(judged: Sequence[JudgedPair]) -> BestThreshold | None:
    """Return the threshold with the best agreement, and the range within one standard error."""
    rows = sweep(judged)
    if not rows:
        return None
    best = max(
        range(len(rows)), key=lambda index: (rows[index].share or 0.0, rows[index].kappa or 0.0)
    )
    share = rows[best].share or 0.0
    least = share - sqrt(share * (1.0 - share) / len(judged)) - _CLOSE
    *_, low = takewhile(lambda row: (row.share or 0.0) >= least, rows[best::-1])
    *_, high = takewhile(lambda row: (row.share or 0.0) >= least, rows[best:])
    return BestThreshold(rows[best], low.threshold, high.threshold)


class ThresholdTarget(NamedTuple):
    """The precision or the recall that a threshold must reach."""

    metric: str
    value: float

    @classmethod
    def parse(cls, text: str) -> ThresholdTarget:
        """Parse `METRIC=VALUE`.

        >>> ThresholdTarget.parse("precision=0.95")
        ThresholdTarget(metric='precision', value=0.95)
        """
        metric, _, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if metric not in _TARGETS or not 0 < value <= 1:
            names = " or ".join(_TARGETS)
            message = f"expected {names} and a number up to 1, such as precision=0.95; got {text!r}"
            raise OptionError("target", message)
        return cls(metric, value)

    def __str__(self) -> str:
        return f"{self.metric} {self.value:g}"


class CrossValidation(NamedTuple):
    """The agreement on labels that were held out when the threshold for them was chosen.

    `low` and `high` are the lowest and the highest threshold of a fold; `None` if no threshold of
    a fold reaches the target.
    """

    folds: int
    held_out: JudgeAgreement
    low: float | None
    high: float | None

    def to_dict(self) -> JsonObject:
        """Return the number of folds, their thresholds and the agreement as JSON."""
        agreement = self.held_out.to_dict()
        del agreement["threshold"]
        return {"folds": self.folds, "interval": [self.low, self.high], **agreement}


def threshold_for(
    judged: Sequence[JudgedPair], target: ThresholdTarget | None = None
) -> JudgeAgreement | None:
    """Return the agreement at the best threshold for a target, or `None` if none reaches it.

    For a precision, it is the threshold with the highest recall, and the reverse. Without a target,
    it is the threshold with the best agreement.

    >>> judged = [JudgedPair(0.9, True), JudgedPair(0.6, False), JudgedPair(0.5, True)]
    >>> threshold_for(judged, ThresholdTarget("recall", 1.0)).threshold
    0.5
    """
    if target is None:
        best = best_threshold(judged)
        return None if best is None else best.agreement
    other = _TARGETS[1 - _TARGETS.index(target.metric)]
    reached = [row for row in sweep(judged) if _rate(row, target.metric) >= target.value - _CLOSE]
    return max(
        reached, key=lambda row: (_rate(row, other), _rate(row, target.metric)), default=None
    )


def _rate(row: JudgeAgreement, metric: str) -> float:
    value: float | None = getattr(row.rates, metric)
    return -inf if value is None else value


def cross_validate(
    judged: Sequence[JudgedPair], target: ThresholdTarget | None = None, *, seed: int = 0
) -> CrossValidation | None:
    """Choose the threshold on four fifths of the labels and measure it on the rest, five times.

    Every fold has about the same share of matches. With fewer than five labels of a verdict, there
    are fewer folds; with fewer than two, there is no result.
    """
    # A random order that does not depend on the order of the labels.
    keyed = (
        (hashlib.sha256(b"%d %d" % (seed, number)).digest(), pair)
        for number, pair in enumerate(sorted(judged))
    )
    shuffled = [pair for _, pair in sorted(keyed)]
    by_verdict = [[pair for pair in shuffled if pair.right is right] for right in (True, False)]
    folds = min(_FOLDS, *map(len, by_verdict))
    if folds < 2:  # noqa: PLR2004 - one to choose, one to measure
        return None
    ordered = [pair for same in by_verdict for pair in same]
    counts: Counter[tuple[bool, bool]] = Counter()
    limits: list[float | None] = []
    for fold in range(folds):
        training = [pair for index, pair in enumerate(ordered) if index % folds != fold]
        chosen = threshold_for(training, target)
        limits.append(None if chosen is None else chosen.threshold)
        limit = inf if chosen is None else chosen.threshold - _CLOSE
        counts.update((pair.similarity >= limit, pair.right) for pair in ordered[fold::folds])
    whole = threshold_for(judged, target)
    reached = [limit for limit in limits if limit is not None]
    complete = len(reached) == folds
    return CrossValidation(
        folds,
        _agreement(inf if whole is None else whole.threshold, counts),
        min(reached) if complete else None,
        max(reached) if complete else None,
    )


def auc(judged: Sequence[JudgedPair]) -> float | None:
    """Return the area under the ROC curve; undefined without matches, or without others.

    Among all pairs of a match and another label, it is the share whose match is more similar; ties
    count half.

    >>> auc([JudgedPair(0.9, True), JudgedPair(0.9, False), JudgedPair(0.1, False)])
    0.75
    """
    tallies = _tallies(judged)
    return auroc((tally[True], tally[False]) for _, tally in sorted(tallies.items(), reverse=True))


def _tallies(judged: Iterable[JudgedPair]) -> dict[float, Counter[bool]]:
    """Return how many pairs of each similarity are a match, and how many are not."""
    tallies: dict[float, Counter[bool]] = {}
    for similarity, right in judged:
        tallies.setdefault(similarity, Counter())[right] += 1
    return tallies


def base_rate(judged: Sequence[JudgedPair]) -> float | None:
    """Return the agreement of a judge that always gives the more frequent verdict."""
    matches = sum(pair.right for pair in judged)
    return max(matches, len(judged) - matches) / len(judged) if judged else None


def _agreement(threshold: float, counts: Counter[tuple[bool, bool]]) -> JudgeAgreement:
    """Return the agreement for counts by the verdicts of judge and people."""
    return JudgeAgreement(
        threshold,
        both=counts[True, True],
        judge_only=counts[True, False],
        people_only=counts[False, True],
        neither=counts[False, False],
    )


def threshold_between(below: float | None, level: float) -> float:
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
