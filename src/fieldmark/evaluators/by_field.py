"""The shape that all evaluators by fields share: rules and a convention in, a score out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from fieldmark.evaluators.examine import Examined, Examiner
from fieldmark.evaluators.score import Score, Status
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.options import OnError
from fieldmark.model.comparison import Comparator
from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.model.rule import Rule, Rules

__all__ = ["FieldEvaluator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldEvaluator(ABC):
    """Compares two documents field by field under one convention.

    `default` compares fields without a comparator of their own. `pass_threshold` makes the score
    decide the verdict, in place of hits and misses. `on_error: zero` scores a case 0 in which a
    comparison could not be made.
    """

    name: ClassVar[str]
    default: Comparator | None = None
    empty_tokens: frozenset[str] = frozenset()
    empty_containers: bool = False
    pass_threshold: float | None = None
    on_error: OnError = OnError.UNDEFINED
    _examiner: Examiner = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check()
        options = {"pass_threshold": self.pass_threshold, "on_error": self.on_error}
        convention = self._convention().with_options({**options, **self._counting()})
        object.__setattr__(self, "_examiner", Examiner(self._rules(), convention))

    def evaluate(
        self, expected: JsonValue, candidate: JsonValue | Missing, *, unreadable: bool = False
    ) -> Score:
        """Score a candidate; one that could not be read, or is not there, scores 0."""
        return self._scored(self._examiner.examine(expected, candidate, unreadable=unreadable))

    def claims(self) -> tuple[Rule, ...]:
        """The fields of the document that this evaluator is about, with how they are compared."""
        return ()

    def _scored(self, examined: Examined) -> Score:
        account, stats = examined.account(), examined.stats
        return Score(
            score=stats.score,
            verdict=stats.verdict,
            hits=account.hits,
            misses=account.misses,
            reasoning=account.reasoning,
            details=self._details(examined),
            status=Status.ERROR if stats.score is None else Status.OK,
            vacuous=stats.vacuous,
            skipped=account.skipped,
        )

    def _check(self) -> None:  # noqa: B027 - an evaluator without bad options has nothing to refuse
        """Refuse options that cannot be used."""

    @abstractmethod
    def _convention(self) -> Convention:
        """The convention that the fields are read under."""

    def _counting(self) -> JsonObject:
        """The counting options that are set otherwise than in the convention."""
        return {}

    @abstractmethod
    def _rules(self) -> Rules:
        """What is compared, and how."""

    @abstractmethod
    def _details(self, examined: Examined) -> JsonObject:
        """The figures behind the score."""
