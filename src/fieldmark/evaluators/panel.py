"""Several evaluators of one case, each under its own name, and the one score that they give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, Protocol

from fieldmark.errors import OptionError
from fieldmark.evaluators.score import Evaluator, Judge, Score
from fieldmark.model.json import JsonObject

__all__ = ["Combiner", "Member", "Result", "needs_expected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """An evaluator as a file names it; what it says counts by its weight."""

    name: str
    type: str
    evaluator: Evaluator | Judge | Combiner
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not (isfinite(self.weight) and self.weight >= 0):
            raise OptionError("weight", f"must be a number of at least 0, not {self.weight}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one member said of a case."""

    member: Member
    score: Score

    def to_dict(self) -> JsonObject:
        """The result as JSON, as a row of results holds it."""
        return {
            "name": self.member.name,
            "type": self.member.type,
            "weight": self.member.weight,
            **self.score.to_dict(),
        }


def needs_expected(members: Iterable[Member]) -> bool:
    """Whether some of the evaluators look at what is expected, and not at candidates alone."""
    for member in members:
        evaluator = member.evaluator
        inner = getattr(evaluator, "evaluators", ())
        if needs_expected(inner) if inner else getattr(evaluator, "needs_expected", True):
            return True
    return False


class Combiner(Protocol):
    """Makes one score of what its members say; they may be judges, or combiners themselves."""

    name: ClassVar[str]

    @property
    def evaluators(self) -> tuple[Member, ...]:
        """Those whose scores are combined."""
        ...

    def combine(self, results: Sequence[Result]) -> Score:
        """One score of the results of all members, in their order."""
        ...
