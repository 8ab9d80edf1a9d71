"""Hits and misses: which facts count as which, and the verdict that follows."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final

from fieldmark.metrics.conventions import AbsentTruth, CountingOptions, NullForAbsent, PrimaryScore
from fieldmark.metrics.counts import cost_table, is_null_for_absent
from fieldmark.model.case import Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.outcome import FACTS, Fact, Outcome, Presence


class Mark(StrEnum):
    """The list of an evaluation that a field belongs to; an ignored field belongs to none."""

    HIT = "hit"
    MISS = "miss"
    SKIPPED = "skipped"
    ERROR = "error"
    NONE = "none"


_BY_OUTCOME: Final[Mapping[Outcome, Mark]] = {
    Outcome.MATCH: Mark.HIT,
    Outcome.WRONG_VALUE: Mark.MISS,
    Outcome.FORMAT_ERROR: Mark.MISS,
    Outcome.OMISSION: Mark.MISS,
    Outcome.HALLUCINATION: Mark.MISS,
    Outcome.IGNORED: Mark.NONE,
    Outcome.ERROR: Mark.ERROR,
}


@lru_cache(maxsize=64)
def mark_table(counting: CountingOptions) -> tuple[Mark, ...]:
    """Return the mark of every fact, indexed by its code."""
    costs = cost_table(counting)
    return tuple(_mark(fact, cost, counting) for fact, cost in zip(FACTS, costs, strict=True))


def _mark(fact: Fact, cost: Counts, counting: CountingOptions) -> Mark:
    no_such_key = fact.expected is Presence.ABSENT
    if fact.outcome is Outcome.BOTH_EMPTY:
        if is_null_for_absent(fact) and counting.null_for_absent is NullForAbsent.HALLUCINATION:
            return Mark.MISS
        # Two empty values are a hit if they are a true negative. If fields are scored against a
        # truth that lacks the key, there is nothing to hit.
        nothing_to_hit = no_such_key and counting.primary is PrimaryScore.WEIGHTED_AVERAGE
        return Mark.HIT if cost.tn and not nothing_to_hit else Mark.SKIPPED
    skips = no_such_key and counting.absent_truth is AbsentTruth.SKIP
    if skips and fact.outcome is Outcome.HALLUCINATION:
        return Mark.SKIPPED
    return _BY_OUTCOME[fact.outcome]


def verdict_of(hits: int, misses: int) -> Verdict:
    """Return pass without misses, fail without hits, and partial otherwise.

    >>> verdict_of(3, 1)
    <Verdict.PARTIAL: 'partial'>
    """
    if not misses:
        return Verdict.PASS
    return Verdict.PARTIAL if hits else Verdict.FAIL


def verdict_at(score: float, threshold: float) -> Verdict:
    """Return pass at or above the threshold, else fail."""
    return Verdict.PASS if score >= threshold - 1e-9 else Verdict.FAIL
