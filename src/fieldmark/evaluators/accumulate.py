"""Evaluators whose figures belong to a data set and not to a case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Protocol, Self, TypeAlias, cast

from fieldmark.evaluators.panel import Combiner, Member
from fieldmark.evaluators.score import Score
from fieldmark.model.json import JsonObject, JsonValue, Missing

__all__ = ["Accumulator", "DatasetEvaluator", "Gathering", "figures_of", "of_the_data", "start_all"]


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


Gathering: TypeAlias = Mapping[int, Accumulator]
"""Where the cases of each evaluator are gathered, by the identity of the evaluator."""


def start_all(members: Iterable[Member]) -> dict[int, Accumulator]:
    """A place for each evaluator that has figures for all cases, those inside of others too."""
    started: dict[int, Accumulator] = {}
    for member in members:
        evaluator = member.evaluator
        if hasattr(evaluator, "start"):
            started[id(evaluator)] = cast("DatasetEvaluator", evaluator).start()
        elif hasattr(evaluator, "combine"):
            started |= start_all(cast("Combiner", evaluator).evaluators)
    return started


def figures_of(members: Iterable[Member], gathering: Gathering) -> dict[str, JsonObject]:
    """The figures of each evaluator that has some; one inside of another is told under its name."""
    found: dict[str, JsonObject] = {}
    for member in members:
        gathered = gathering.get(id(member.evaluator))
        parts: Iterable[Member] = getattr(member.evaluator, "evaluators", ())
        figures = dict(figures_of(parts, gathering)) if gathered is None else gathered.summary()
        if figures:
            found.setdefault(member.name, cast("JsonObject", figures))
    return found


def of_the_data(figures: JsonObject, prefix: str = "") -> Iterator[str]:
    """How the names of figures begin that only data can name, if these figures are of no data.

    >>> list(of_the_data({"AP": None, "classes": {}}, "figures."))
    ['figures.classes.']
    """
    for key, value in figures.items():
        if isinstance(value, dict):
            yield from of_the_data(value, f"{prefix}{key}.") if value else [f"{prefix}{key}."]
