"""Comparisons that wait until a batch comparator can be called for many pairs at once."""

from __future__ import annotations

from typing import NamedTuple

from fieldmark.model.comparison import MATCHED, BatchComparator, Comparison, TextPair
from fieldmark.model.json import JsonValue
from fieldmark.model.outcomes import Outcomes
from fieldmark.plan.classify import VALUE_FACTS, outcome_of_values

__all__ = ["DeferredComparison", "DeferredComparisons"]


class DeferredComparison(NamedTuple):
    """A pair of values that waits for its comparator, and the position of its cell."""

    outcomes: Outcomes
    position: int
    base: int
    comparator: BatchComparator
    pair: TextPair
    expected: JsonValue
    candidate: JsonValue


class DeferredComparisons:
    """The comparisons of a batch of documents that are still to be made."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: list[DeferredComparison] = []

    def add(self, comparison: DeferredComparison) -> None:
        """Add one comparison."""
        self._pending.append(comparison)

    def discard(self) -> None:
        """Drop all pending comparisons."""
        self._pending.clear()

    def resolve(self) -> None:
        """Call every comparator once, with its distinct pairs, and write the cells."""
        pending, self._pending = self._pending, []
        comparators = {id(each.comparator): each.comparator for each in pending}
        answers: dict[int, dict[TextPair, Comparison]] = {number: {} for number in comparators}
        for each in pending:
            answers[id(each.comparator)][each.pair] = MATCHED
        for number, comparisons in answers.items():
            pairs = list(comparisons)
            comparisons.update(zip(pairs, comparators[number].ask(pairs), strict=True))
        for outcomes, position, base, comparator, pair, expected, candidate in pending:
            comparison = answers[id(comparator)][pair]
            outcome = outcome_of_values(comparison, expected, candidate)
            outcomes.cells[position] = base | VALUE_FACTS[outcome]
            if comparison is not MATCHED:
                outcomes.comparisons[position] = comparison
