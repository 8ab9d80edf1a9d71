"""The cost of each outcome in true and false positives and negatives, under a convention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeVar

from fieldmark.metrics.conventions import BothEmpty, CountingOptions, NullForAbsent, WrongValue
from fieldmark.model.counts import Counts
from fieldmark.model.outcome import FACTS, Fact, Outcome, Presence

Histogram = Mapping[int, int]
"""How often each fact, or each cell, occurred."""

_Row = TypeVar("_Row", bound="tuple[int, ...]")
_NOTHING: Final = Counts()

_WRONG: Final[Mapping[WrongValue, Counts]] = {
    WrongValue.FP_AND_FN: Counts(fp=1, fn=1),  # one extra value, one missing
    WrongValue.FP: Counts(fp=1),
}
_BOTH_EMPTY: Final[Mapping[BothEmpty, Counts]] = {
    BothEmpty.TRUE_NEGATIVE: Counts(tn=1),
    BothEmpty.NOT_COUNTED: _NOTHING,
}
_NULL_FOR_ABSENT: Final[Mapping[NullForAbsent, Counts]] = {
    NullForAbsent.NOT_COUNTED: _NOTHING,
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
        Outcome.IGNORED: _NOTHING,
        Outcome.ERROR: _NOTHING,
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
