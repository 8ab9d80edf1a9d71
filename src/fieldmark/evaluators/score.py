"""What an evaluator says of one case."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Protocol, TypeAlias

from fieldmark.model.case import Case, Verdict
from fieldmark.model.json import JsonObject, JsonValue, Missing

__all__ = ["Evaluator", "Judge", "Judging", "Score", "Status"]


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

    @classmethod
    def from_dict(cls, said: JsonObject) -> Score:
        """A score as it was written; what is not there is empty.

        >>> Score.from_dict(Score.error("no answer").to_dict()) == Score.error("no answer")
        True
        """
        score, verdict, details = said.get("score"), said.get("verdict"), said.get("details")
        return cls(
            score=float(score) if isinstance(score, int | float) else None,
            verdict=Verdict(verdict) if isinstance(verdict, str) else None,
            hits=_texts(said.get("hits")),
            misses=_texts(said.get("misses")),
            reasoning=str(said.get("reasoning", "")),
            details=details if isinstance(details, dict) else {},
            status=Status(str(said.get("status", Status.OK))),
            vacuous=said.get("vacuous") is True,
            skipped=_texts(said.get("skipped")),
        )

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


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


class Evaluator(Protocol):
    """Scores one pair of documents: a frozen dataclass whose fields are its options."""

    name: ClassVar[str]

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score a candidate; `unreadable` says that there was one and it could not be read."""
        ...


Judging: TypeAlias = Callable[[Case], Score]
"""Scores one case; may be called from several threads at once."""


class Judge(Protocol):
    """Scores whole cases with the help of something outside: a program, a model."""

    name: ClassVar[str]

    def unready(self) -> str | None:
        """Why not a single case could be judged, found out before the first; nothing if it can."""
        ...

    def opened(self) -> AbstractContextManager[Judging]:
        """What scores the cases of one run; leaving it ends all that was started."""
        ...
