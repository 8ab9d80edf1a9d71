"""What each outcome counts as: true and false positives and negatives, mistakes, hits, misses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from operator import add
from typing import Final, NamedTuple, TypeVar

from fieldmark.metrics.conventions import (
    AbsentTruth,
    BothEmpty,
    CountingOptions,
    NullForAbsent,
    WrongValue,
)
from fieldmark.model.case import Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.outcome import FACTS, Fact, Outcome, Presence

Histogram = Mapping[int, int]
"""How often each fact, or each cell, occurred."""

_Row = TypeVar("_Row", bound="tuple[int, ...]")
_NO_COUNTS: Final = Counts()

_WRONG: Final[Mapping[WrongValue, Counts]] = {
    WrongValue.FP_AND_FN: Counts(fp=1, fn=1),  # one extra value, one missing
    WrongValue.FP: Counts(fp=1),
}
_BOTH_EMPTY: Final[Mapping[BothEmpty, Counts]] = {
    BothEmpty.TRUE_NEGATIVE: Counts(tn=1),
    BothEmpty.NOT_COUNTED: _NO_COUNTS,
}
_NULL_FOR_ABSENT: Final[Mapping[NullForAbsent, Counts]] = {
    NullForAbsent.NOT_COUNTED: _NO_COUNTS,
    NullForAbsent.HALLUCINATION: Counts(fp=1),
}


@lru_cache(maxsize=64)
def cost_table(counting: CountingOptions) -> tuple[Counts, ...]:
    """Return the cost of every fact, indexed by its code."""
    wrong = _WRONG[counting.wrong_value]
    costs: Mapping[Outcome, Counts] = {
        Outcome.MATCH: Counts(tp=1),
        Outcome.WRONG_VALUE: wrong,
        Outcome.FORMAT_ERROR: wrong,
        Outcome.OMISSION: Counts(fn=1),
        Outcome.HALLUCINATION: Counts(fp=1),
        Outcome.BOTH_EMPTY: _BOTH_EMPTY[counting.both_empty],
        Outcome.IGNORED: _NO_COUNTS,
        Outcome.ERROR: _NO_COUNTS,
    }
    null_for_absent = _NULL_FOR_ABSENT[counting.null_for_absent]
    return tuple(
        null_for_absent if is_null_for_absent(fact) else costs[fact.outcome] for fact in FACTS
    )


def is_null_for_absent(fact: Fact) -> bool:
    """Return whether the candidate is null or blank under a key that the ground truth lacks."""
    return (
        fact.outcome is Outcome.BOTH_EMPTY
        and fact.expected is Presence.ABSENT
        and fact.candidate is not Presence.ABSENT
    )


def total(facts: Histogram, table: Sequence[_Row]) -> _Row:
    """Sum the columns of a table that has a row for every fact."""
    rows = ([value * number for value in table[fact]] for fact, number in facts.items())
    make: Callable[..., _Row] = type(table[0])
    return make(*map(sum, zip(*rows, strict=True)))


class ErrorCounts(NamedTuple):
    """The number of mistakes of each type; `+` adds them type by type."""

    omission: int = 0
    hallucination: int = 0
    format_error: int = 0
    wrong_value: int = 0

    def __add__(self, other: object) -> ErrorCounts:
        if not isinstance(other, ErrorCounts):
            return NotImplemented
        return ErrorCounts(*map(add, self, other))

    @property
    def total(self) -> int:
        """The number of all mistakes; a field has at most one."""
        return sum(self)


_NO_ERRORS: Final = ErrorCounts()
_ERROR_OF_OUTCOME: Final[Mapping[Outcome, ErrorCounts]] = {
    Outcome.OMISSION: ErrorCounts(omission=1),
    Outcome.HALLUCINATION: ErrorCounts(hallucination=1),
    Outcome.FORMAT_ERROR: ErrorCounts(format_error=1),
    Outcome.WRONG_VALUE: ErrorCounts(wrong_value=1),
}
MISTAKES: Final = frozenset(_ERROR_OF_OUTCOME)
"""The outcomes that are mistakes."""

ERROR_TABLE: Final = tuple(_ERROR_OF_OUTCOME.get(fact.outcome, _NO_ERRORS) for fact in FACTS)
"""The mistake of every fact, indexed by its code."""


def truth_fields(correct: int, errors: ErrorCounts) -> int:
    """Return the number of non-empty fields in the ground truth."""
    return correct + errors.omission + errors.format_error + errors.wrong_value


class Mark(StrEnum):
    """The list of an evaluation that a field belongs to; an ignored field belongs to none."""

    HIT = "hit"
    MISS = "miss"
    SKIPPED = "skipped"
    ERROR = "error"
    NONE = "none"


_MARK_OF_OUTCOME: Final[Mapping[Outcome, Mark]] = {
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
        # Two empty values are a hit if they are a true negative. If the truth lacks the key, there
        # is nothing to hit, and the path may be misspelled.
        return Mark.HIT if cost.tn and not no_such_key else Mark.SKIPPED
    skips = no_such_key and counting.absent_truth is AbsentTruth.SKIP
    if skips and fact.outcome is Outcome.HALLUCINATION:
        return Mark.SKIPPED
    return _MARK_OF_OUTCOME[fact.outcome]


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
