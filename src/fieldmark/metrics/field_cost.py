"""What the outcome of one field costs under a convention."""

from __future__ import annotations

from typing import NamedTuple

from fieldmark.metrics.conventions import CountingOptions
from fieldmark.metrics.counts import cost_table
from fieldmark.metrics.quality import bucket_table
from fieldmark.model.counts import Counts


class FieldCost(NamedTuple):
    """What a field counts as, and the metrics that it is part of."""

    counts: Counts
    metrics: tuple[str, ...]


def field_cost(code: int, counting: CountingOptions) -> FieldCost:
    """Return the cost of a fact.

    >>> from fieldmark.model.outcome import Outcome, Presence, fact
    >>> wrong = fact(Outcome.WRONG_VALUE, Presence.VALUE, Presence.VALUE)
    >>> field_cost(wrong, CountingOptions()).metrics
    ('precision', 'recall', 'F1', 'completeness', 'hallucination', 'accuracy')
    """
    counts = cost_table(counting)[code]
    bucket = bucket_table(counting.ignore_scope)[code]
    entered = (
        ("precision", counts.tp or counts.fp),
        ("recall", counts.tp or counts.fn),
        ("F1", counts.tp or counts.fp or counts.fn),
        ("completeness", bucket.expected_non_null),
        ("hallucination", bucket.distinct),
        ("accuracy", bucket.scorable),
    )
    return FieldCost(counts, tuple(name for name, number in entered if number))
