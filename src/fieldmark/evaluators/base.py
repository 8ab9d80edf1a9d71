"""The interfaces of evaluators, and the records that they return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from typing import ClassVar, Final, Protocol, Self, TypeAlias, cast

from fieldmark.errors import OptionError
from fieldmark.model.case import Case, Verdict
from fieldmark.model.json import JsonObject, JsonValue, Missing

__all__ = [
    "UNREADABLE",
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
    "check_unique",
    "check_weight",
    "data_dependent_prefixes",
    "dataset_figures",
    "needs_expected",
    "start_accumulators",
]


UNREADABLE: Final = "no readable candidate"


class Status(StrEnum):
    """Whether an evaluation gave a score."""

    OK = "ok"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score in [0, 1] with its verdict, and the hits and misses behind it.

    With the status `error` there is neither score nor verdict. `vacuous` means that there was
    nothing to score; `skipped` lists the fields that count neither way.
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
        """A failed evaluation: no score, never a low one.

        >>> Score.error("no answer in 10 s").status
        <Status.ERROR: 'error'>
        """
        return cls(score=None, verdict=None, reasoning=message, status=Status.ERROR)

    @classmethod
    def from_dict(cls, data: JsonObject) -> Score:
        """A score from its JSON form; missing keys are empty.

        >>> Score.from_dict(Score.error("no answer").to_dict()) == Score.error("no answer")
        True
        """
        score, verdict, details = data.get("score"), data.get("verdict"), data.get("details")
        return cls(
            score=float(score) if isinstance(score, int | float) else None,
            verdict=Verdict(verdict) if isinstance(verdict, str) else None,
            hits=_texts(data.get("hits")),
            misses=_texts(data.get("misses")),
            reasoning=str(data.get("reasoning", "")),
            details=details if isinstance(details, dict) else {},
            status=Status(str(data.get("status", Status.OK))),
            vacuous=data.get("vacuous") is True,
            skipped=_texts(data.get("skipped")),
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
        """Score a candidate; `unreadable` means that there was one and it could not be parsed."""
        ...


CaseScorer: TypeAlias = Callable[[Case], Score]
"""Scores one case; may be called from several threads at once."""


class Judge(Protocol):
    """Scores whole cases with something external: a program or a model."""

    name: ClassVar[str]

    def unready(self) -> str | None:
        """Why no case can be scored, checked before the first one; `None` if it can."""
        ...

    def opened(self) -> AbstractContextManager[CaseScorer]:
        """The scorer for the cases of one run; leaving the context ends what was started."""
        ...


class Combiner(Protocol):
    """Combines the scores of other evaluators, which may be judges or combiners themselves."""

    name: ClassVar[str]

    @property
    def evaluators(self) -> tuple[ConfiguredEvaluator, ...]:
        """The evaluators whose scores are combined."""
        ...

    def combine(self, results: Sequence[EvaluatorResult]) -> Score:
        """One score from the results of all evaluators, in their order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredEvaluator:
    """An evaluator with the name and the weight that a configuration gives it."""

    name: str
    type: str
    evaluator: Evaluator | Judge | Combiner
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_weight("weight", self.weight)


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


def check_weight(option: str, weight: float) -> None:
    """Raise an error for a weight that is negative or not finite."""
    if not (isfinite(weight) and weight >= 0):
        raise OptionError(option, f"must be a number of at least 0, not {weight}")


def check_unique(option: str, names: Sequence[str]) -> None:
    """Raise an error for a name that occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise OptionError(option, f"names {name} twice")
        seen.add(name)


def needs_expected(evaluators: Iterable[ConfiguredEvaluator]) -> bool:
    """Whether some of the evaluators use the expected document."""
    for each in evaluators:
        inner = getattr(each.evaluator, "evaluators", ())
        if needs_expected(inner) if inner else getattr(each.evaluator, "needs_expected", True):
            return True
    return False


# --- evaluators with figures for a whole data set -------------------------------------------------


class Accumulator(Protocol):
    """Collects cases one by one; accumulators of parts of a data set can be merged."""

    def add(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Add a case, and return its own score."""
        ...

    def merge(self, other: Self) -> None:
        """Add all cases of another accumulator after these."""
        ...

    def summary(self) -> JsonObject:
        """The figures of all cases so far."""
        ...


class DatasetEvaluator(Evaluator, Protocol):
    """An evaluator that also has figures for all cases together."""

    def start(self) -> Accumulator:
        """A new accumulator for the cases of a run, or of a part of it."""
        ...


Accumulators: TypeAlias = Mapping[int, Accumulator]
"""The accumulator of each evaluator, by the identity of the evaluator."""


def start_accumulators(evaluators: Iterable[ConfiguredEvaluator]) -> dict[int, Accumulator]:
    """An accumulator for each evaluator that has figures for all cases, nested ones included."""
    started: dict[int, Accumulator] = {}
    for each in evaluators:
        if hasattr(each.evaluator, "start"):
            started[id(each.evaluator)] = cast("DatasetEvaluator", each.evaluator).start()
        elif hasattr(each.evaluator, "combine"):
            started |= start_accumulators(cast("Combiner", each.evaluator).evaluators)
    return started


def dataset_figures(
    evaluators: Iterable[ConfiguredEvaluator], accumulators: Accumulators
) -> dict[str, JsonObject]:
    """The figures of each evaluator that has some; those of nested ones are below its name."""
    found: dict[str, JsonObject] = {}
    for each in evaluators:
        own = accumulators.get(id(each.evaluator))
        nested: Iterable[ConfiguredEvaluator] = getattr(each.evaluator, "evaluators", ())
        figures = dict(dataset_figures(nested, accumulators)) if own is None else own.summary()
        if figures:
            found.setdefault(each.name, cast("JsonObject", figures))
    return found


def data_dependent_prefixes(figures: JsonObject, prefix: str = "") -> Iterator[str]:
    """The prefixes of figures whose names depend on the data, given the figures of no data.

    >>> list(data_dependent_prefixes({"AP": None, "classes": {}}, "figures."))
    ['figures.classes.']
    """
    for key, value in figures.items():
        if isinstance(value, dict):
            name = f"{prefix}{key}."
            yield from data_dependent_prefixes(value, name) if value else [name]
