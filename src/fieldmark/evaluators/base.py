"""What evaluators are, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from typing import ClassVar, Protocol, Self, TypeAlias, cast

from fieldmark.errors import OptionError
from fieldmark.model.case import Case, Verdict
from fieldmark.model.json import JsonObject, JsonValue, Missing

__all__ = [
    "Accumulator",
    "Accumulators",
    "CaseScorer",
    "Combiner",
    "ConfiguredEvaluator",
    "DatasetEvaluator",
    "Evaluator",
    "EvaluatorResult",
    "Judge",
    "Score",
    "Status",
    "data_dependent_prefixes",
    "dataset_figures",
    "needs_expected",
    "start_accumulators",
]


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


CaseScorer: TypeAlias = Callable[[Case], Score]
"""Scores one case; may be called from several threads at once."""


class Judge(Protocol):
    """Scores whole cases with the help of something outside: a program, a model."""

    name: ClassVar[str]

    def unready(self) -> str | None:
        """Why not a single case could be judged, found out before the first; nothing if it can."""
        ...

    def opened(self) -> AbstractContextManager[CaseScorer]:
        """What scores the cases of one run; leaving it ends all that was started."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredEvaluator:
    """An evaluator as a file names it; what it says counts by its weight."""

    name: str
    type: str
    evaluator: Evaluator | Judge | Combiner
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not (isfinite(self.weight) and self.weight >= 0):
            raise OptionError("weight", f"must be a number of at least 0, not {self.weight}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorResult:
    """The score that one evaluator gave a case.

    `paths_only` says that its hits and misses name fields and never quote a document.
    """

    name: str
    type: str
    weight: float
    score: Score
    paths_only: bool = False

    @classmethod
    def of(cls, evaluator: ConfiguredEvaluator, score: Score) -> EvaluatorResult:
        """The score that a configured evaluator gave."""
        return cls(
            name=evaluator.name,
            type=evaluator.type,
            weight=evaluator.weight,
            score=score,
            paths_only=getattr(evaluator.evaluator, "paths_only", False),
        )

    def to_dict(self) -> JsonObject:
        """The result as JSON, as a row of results holds it."""
        return {
            "name": self.name,
            "type": self.type,
            "weight": self.weight,
            **self.score.to_dict(),
        }


def needs_expected(members: Iterable[ConfiguredEvaluator]) -> bool:
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
    def evaluators(self) -> tuple[ConfiguredEvaluator, ...]:
        """Those whose scores are combined."""
        ...

    def combine(self, results: Sequence[EvaluatorResult]) -> Score:
        """One score of the results of all members, in their order."""
        ...


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


Accumulators: TypeAlias = Mapping[int, Accumulator]
"""Where the cases of each evaluator are gathered, by the identity of the evaluator."""


def start_accumulators(members: Iterable[ConfiguredEvaluator]) -> dict[int, Accumulator]:
    """A place for each evaluator that has figures for all cases, those inside of others too."""
    started: dict[int, Accumulator] = {}
    for member in members:
        evaluator = member.evaluator
        if hasattr(evaluator, "start"):
            started[id(evaluator)] = cast("DatasetEvaluator", evaluator).start()
        elif hasattr(evaluator, "combine"):
            started |= start_accumulators(cast("Combiner", evaluator).evaluators)
    return started


def dataset_figures(
    members: Iterable[ConfiguredEvaluator], gathering: Accumulators
) -> dict[str, JsonObject]:
    """The figures of each evaluator that has some; one inside of another is told under its name."""
    found: dict[str, JsonObject] = {}
    for member in members:
        gathered = gathering.get(id(member.evaluator))
        parts: Iterable[ConfiguredEvaluator] = getattr(member.evaluator, "evaluators", ())
        figures = (
            dict(dataset_figures(parts, gathering)) if gathered is None else gathered.summary()
        )
        if figures:
            found.setdefault(member.name, cast("JsonObject", figures))
    return found


def data_dependent_prefixes(figures: JsonObject, prefix: str = "") -> Iterator[str]:
    """How the names of figures begin that only data can name, if these figures are of no data.

    >>> list(data_dependent_prefixes({"AP": None, "classes": {}}, "figures."))
    ['figures.classes.']
    """
    for key, value in figures.items():
        if isinstance(value, dict):
            yield from (
                data_dependent_prefixes(value, f"{prefix}{key}.") if value else [f"{prefix}{key}."]
            )
