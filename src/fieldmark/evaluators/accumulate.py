"""Evaluators whose figures belong to a data set and not to a case."""

from __future__ import annotations

from typing import ClassVar, Protocol, Self

from fieldmark.evaluators.score import Score
from fieldmark.model.json import JsonObject, JsonValue, Missing

__all__ = ["Accumulator", "DatasetEvaluator"]


class Accumulator(Protocol):
    """Gathers cases one by one. Parts of a data set that were gathered apart can be merged."""

    def add(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Take in one more case, and say what it would score alone."""
        ...

    def merge(self, other: Self) -> None:
        """Take in all cases of another part, after those that are here."""
        ...

    def summary(self) -> JsonObject:
        """The figures of all cases so far."""
        ...


class DatasetEvaluator(Protocol):
    """An evaluator that also has figures for all cases together."""

    name: ClassVar[str]

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score one case alone."""
        ...

    def start(self) -> Accumulator:
        """A place where the cases of a run, or of a part of it, are gathered."""
        ...
