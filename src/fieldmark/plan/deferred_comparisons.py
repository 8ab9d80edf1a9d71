"""Comparisons that wait: a comparator that asks a provider is asked a whole column at a time."""

from __future__ import annotations

from typing import NamedTuple

from fieldmark.model.comparison import MATCHED, BatchComparator, Comparison, TextPair
from fieldmark.model.json import JsonValue
from fieldmark.model.outcomes import Outcomes
from fieldmark.plan.classify import VALUE_FACTS, outcome_of_values

__all__ = ["Question", "Questions"]


class Question(NamedTuple):
    """A comparison that waits for its comparator, and the place of its cell."""

    block: Outcomes
    position: int
    base: int
    comparator: BatchComparator
    pair: TextPair
    expected: JsonValue
    candidate: JsonValue


class Questions:
    """What is still to be asked."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[Question] = []

    def ask(self, question: Question) -> None:
        """Let a comparison wait for its answer."""
        self._waiting.append(question)

    def forget(self) -> None:
        """Drop everything that waits."""
        self._waiting.clear()

    def answer(self) -> None:
        """Ask every comparator once, for the distinct pairs of its column, and write the cells."""
        waiting, self._waiting = self._waiting, []
        columns: dict[int, dict[TextPair, Comparison]] = {}
        comparators = {id(question.comparator): question.comparator for question in waiting}
        for question in waiting:
            columns.setdefault(id(question.comparator), {})[question.pair] = MATCHED
        for number, column in columns.items():
            pairs = list(column)
            column.update(zip(pairs, comparators[number].ask(pairs), strict=True))
        for block, position, base, comparator, pair, expected, candidate in waiting:
            comparison = columns[id(comparator)][pair]
            outcome = outcome_of_values(comparison, expected, candidate)
            block.cells[position] = base | VALUE_FACTS[outcome]
            if comparison is not MATCHED:
                block.comparisons[position] = comparison
