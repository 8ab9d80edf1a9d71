"""Completeness, hallucination, accuracy and the response quality score, from five buckets.

The bucket of a key depends only on its two presences, never on the outcome: a value is present even
if it is ignored or its comparison failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from operator import add
from typing import Annotated, Final, NamedTuple, TypeAlias

from fieldmark.metrics.conventions import CountingOptions, IgnoreScope, RqsForm
from fieldmark.metrics.rates import Interval, clip, ratio
from fieldmark.model.outcome import FACTS, Fact, Outcome, Presence
from fieldmark.values.annotations import Range


class QualityBuckets(NamedTuple):
    """Keys by bucket, as reports show them; `gt` is the ground truth and `aio` the candidate."""

    extra_keys: int
    gt_null_aio_has_value: int
    gt_non_null: int
    aio_missing_or_null: int
    both_non_null: int
    both_null: int


class QualityCounts(NamedTuple):
    """Keys by bucket; `ignored`, `failed` and `matched` are parts of `both_non_null`.

    A key is `extra` if the truth lacks it, `unexpected` if the truth is empty and the candidate has
    a value, and `missing` if only the truth has a value.
    """

    extra: int = 0
    unexpected: int = 0
    missing: int = 0
    both_non_null: int = 0
    both_null: int = 0
    ignored: int = 0
    failed: int = 0
    matched: int = 0

    def __add__(self, other: object) -> QualityCounts:
        if not isinstance(other, QualityCounts):
            return NotImplemented
        return QualityCounts(*map(add, self, other))

    @property
    def expected_non_null(self) -> int:
        """Keys for which the truth has a value."""
        return self.both_non_null + self.missing

    @property
    def distinct(self) -> int:
        """All keys of both sides."""
        return self.extra + self.unexpected + self.missing + self.both_non_null + self.both_null

    @property
    def scorable(self) -> int:
        """Keys whose values were compared."""
        return self.both_non_null - self.ignored - self.failed

    def buckets(self) -> QualityBuckets:
        """Return the sizes of the buckets under the names that reports use."""
        return QualityBuckets(
            extra_keys=self.extra,
            gt_null_aio_has_value=self.unexpected,
            gt_non_null=self.expected_non_null,
            aio_missing_or_null=self.missing,
            both_non_null=self.both_non_null,
            both_null=self.both_null,
        )


Share: TypeAlias = Annotated[float, Range(ge=0, le=1)]
"""A part of a whole."""


class Quality(NamedTuple):
    """The metrics of a case or a run; `flags` says which of them are vacuous, and why.

    Metrics that an error makes unknown are `None`.
    """

    completeness: Share | None
    hallucination: Share | None
    accuracy: Share | None
    safety: Share | None
    rqs: Share | None
    rqs_max: Share
    flags: Mapping[str, tuple[str, ...]]


class QualityMetrics(NamedTuple):
    """The quality metrics that are computed from counts alone."""

    completeness: float
    hallucination: float
    accuracy: float


class RqsPart(NamedTuple):
    """One summand of the response quality score: weight times value.

    The weight of hallucination is negative, or its value is `1 - hallucination`.
    """

    name: str
    weight: float
    value: float

    @property
    def product(self) -> float:
        """The contribution of the metric to the score."""
        return self.weight * self.value


ERROR: Final = "error"
"""The flag of a metric that is undefined because a comparison failed."""
_PERFECT: Final = QualityMetrics(completeness=1.0, hallucination=0.0, accuracy=1.0)
_ADDED: Final = ("accuracy", "completeness", "safety")
_NOTHING: Final = QualityCounts()
_PARTS: Final[Mapping[Outcome, QualityCounts]] = {
    Outcome.MATCH: QualityCounts(both_non_null=1, matched=1),
    Outcome.IGNORED: QualityCounts(both_non_null=1, ignored=1),
    Outcome.ERROR: QualityCounts(both_non_null=1, failed=1),
}


@lru_cache(maxsize=64)
def bucket_table(ignore_scope: IgnoreScope) -> tuple[QualityCounts, ...]:
    """Return the bucket of every fact, indexed by its code."""
    return tuple(_bucket(fact, ignore_scope) for fact in FACTS)


def _bucket(fact: Fact, ignore_scope: IgnoreScope) -> QualityCounts:
    if fact.outcome is Outcome.IGNORED and ignore_scope is IgnoreScope.ALL:
        return _NOTHING
    expected, candidate = fact.expected is Presence.VALUE, fact.candidate is Presence.VALUE
    if fact.expected is Presence.ABSENT:
        # A field that neither side has is not a key of the union.
        return _NOTHING if fact.candidate is Presence.ABSENT else QualityCounts(extra=1)
    if expected and candidate:
        return _PARTS.get(fact.outcome, QualityCounts(both_non_null=1))
    if expected:
        return QualityCounts(missing=1)
    return QualityCounts(unexpected=1) if candidate else QualityCounts(both_null=1)


def quality(
    counts: QualityCounts, counting: CountingOptions, safety: float | None = None
) -> Quality:
    """Return every quality metric of some keys; without a safety judge, safety is 1 and flagged.

    Accuracy and the score are undefined if comparisons failed.

    >>> walk_through = QualityCounts(extra=1, unexpected=1, missing=1, both_non_null=3, matched=3)
    >>> round(quality(walk_through, CountingOptions()).rqs, 9)
    0.7375
    """
    safe = 1.0 if safety is None else safety
    own = quality_metrics(counts)
    raised = (
        ("completeness", "vacuous", not counts.expected_non_null),
        ("hallucination", "vacuous", not counts.distinct),
        ("accuracy", "vacuous", not counts.scorable),
        ("accuracy", ERROR, counts.failed),
        ("rqs", ERROR, counts.failed),
        ("rqs", "accuracy_vacuous", not counts.scorable),
        ("rqs", "completeness_vacuous", not counts.expected_non_null),
        ("safety", "not_evaluated", safety is None),
    )
    flags: dict[str, tuple[str, ...]] = {}
    for metric, flag, is_raised in raised:
        if is_raised:
            flags[metric] = (*flags.get(metric, ()), flag)
    limit = quality_score(_PERFECT, counting, 1.0)
    completeness, hallucination, right = own
    if counts.failed:
        return Quality(completeness, hallucination, None, safe, None, limit, flags)
    score = quality_score(own, counting, safe)
    return Quality(completeness, hallucination, right, safe, score, limit, flags)


def rqs_bounds(
    completeness: Interval | None,
    hallucination: Interval | None,
    accuracy: Interval | None,
    safety: Interval | None,
    counting: CountingOptions,
) -> Interval | None:
    """Return the bounds of the response quality score from the bounds of its parts.

    All parts need not be lowest together. Without bounds, safety is 1.
    """
    if completeness is None or hallucination is None or accuracy is None:
        return None
    low, high = (
        quality_score(
            QualityMetrics(completeness[end], hallucination[1 - end], accuracy[end]),
            counting,
            1.0 if safety is None else safety[end],
        )
        for end in (0, 1)
    )
    return low, high


def quality_metrics(counts: QualityCounts) -> QualityMetrics:
    """Return the metrics of some keys; if the counts are arrays, so are the metrics."""
    return QualityMetrics(
        completeness=ratio(counts.both_non_null, counts.expected_non_null, 1.0),
        hallucination=ratio(counts.extra + counts.unexpected, counts.distinct, 0.0),
        accuracy=ratio(counts.matched, counts.scorable, 1.0),
    )


def rqs_parts(
    metrics: QualityMetrics, counting: CountingOptions, safety: float
) -> tuple[RqsPart, ...]:
    """Return the summands of the response quality score, which clamps their sum to 0 to 1.

    >>> [round(part.product, 4) for part in rqs_parts(_PERFECT, CountingOptions(), 1.0)]
    [0.45, 0.25, 0.15, -0.0]
    """
    weights, last = counting.rqs_weights, metrics.hallucination
    if counting.rqs_form is RqsForm.COMPLEMENT:
        final = RqsPart("1 \N{MINUS SIGN} hallucination", weights.hallucination, 1.0 - last)
    else:
        final = RqsPart("hallucination", -weights.hallucination, last)
    values = (metrics.accuracy, metrics.completeness, safety)
    added = (
        RqsPart(name, getattr(weights, name), v) for name, v in zip(_ADDED, values, strict=True)
    )
    return (*added, final)


def quality_score(metrics: QualityMetrics, counting: CountingOptions, safety: float) -> float:
    """Return the response quality score, clamped to 0 to 1; if the metrics are arrays, so is it."""
    weights = counting.rqs_weights
    most = 1.0 if counting.rqs_form is RqsForm.COMPLEMENT else 0.0
    score = weights.accuracy * metrics.accuracy + weights.completeness * metrics.completeness
    score += weights.safety * safety
    score += weights.hallucination * (most - metrics.hallucination)
    return clip(score)
