"""What an evaluator says of one case."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Protocol

from fieldmark.model.case import Verdict
from fieldmark.model.json import JsonObject, JsonValue, Missing

__all__ = ["Evaluator", "Score", "Status"]


class Status(StrEnum):
    """Whether a score could be given at all."""

    OK = "ok"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score in [0, 1] with its verdict and what speaks for and against it.

    With the status `error` there is neither score nor verdict. `vacuous` says that there was
    nothing to score; `skipped` names the fields that count neither way.
    """

    score: float | None
    verdict: Verdict | None
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    reasoning: str = ""
    details: JsonObject = field(default_factory=dict)
    status: Status = Status.OK
    vacuous: bool = False
    skipped: tuple[str, ...] = ()

    @classmethod
    def error(cls, message: str) -> Score:
        """An evaluation that broke down: no score, never a low one.

        >>> Score.error("no answer in 10 s").status
        <Status.ERROR: 'error'>
        """
        return cls(score=None, verdict=None, reasoning=message, status=Status.ERROR)

    def to_dict(self) -> JsonObject:
        """The score as JSON."""
        return {
            "score": self.score,
            "verdict": self.verdict,
            "status": self.status,
            "vacuous": self.vacuous,
            "hits": list(self.hits),
            "misses": list(self.misses),
            "skipped": list(self.skipped),
            "reasoning": self.reasoning,
            "details": self.details,
        }


class Evaluator(Protocol):
    """Scores one pair of documents: a frozen dataclass whose fields are its options."""

    name: ClassVar[str]

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score a candidate; `unreadable` says that there was one and it could not be read."""
        ...
