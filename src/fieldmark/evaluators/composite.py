"""Several scores combined into one: by a composite evaluator, and for a whole case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import fsum
from typing import ClassVar, Final

from fieldmark.compare.options import check_share, checked_choice
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import (
    ConfiguredEvaluator,
    EvaluatorResult,
    Score,
    Status,
    check_unique,
)
from fieldmark.metrics.verdict import verdict_at, verdict_of
from fieldmark.model.case import Verdict
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["Aggregator", "Composite", "case_score"]

_LISTS: Final = frozenset({"hits", "misses", "skipped"})


class Aggregator(StrEnum):
    """How the scores of members become one."""

    WEIGHTED_AVERAGE = "weighted_average"
    THRESHOLD = "threshold"
    ALL_OR_NOTHING = "all_or_nothing"
    MINIMUM = "minimum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Composite:
    """One score of what several evaluators say.

    The mean of their scores by weight; or with `aggregator: threshold` the share of them that
    pass, which must reach `threshold`; or all of them or nothing; or the lowest score. A member
    of weight 0 is reported and counts for nothing. One error leaves no score.
    """

    name: ClassVar[str] = "composite"
    evaluators: tuple[ConfiguredEvaluator, ...]
    aggregator: Aggregator = Aggregator.WEIGHTED_AVERAGE
    threshold: float | None = None
    pass_threshold: float = 0.8

    def __post_init__(self) -> None:
        aggregator = checked_choice("aggregator", self.aggregator, Aggregator)
        object.__setattr__(self, "aggregator", aggregator)
        if not self.evaluators:
            raise OptionError("evaluators", "must name at least one evaluator")
        check_unique("evaluators", [each.name for each in self.evaluators])
        if not any(each.weight for each in self.evaluators):
            raise OptionError("evaluators", "needs an evaluator with a weight above 0")
        check_share("pass_threshold", self.pass_threshold)
        if (aggregator is Aggregator.THRESHOLD) is not (self.threshold is not None):
            needed = "is needed" if self.threshold is None else "can only be used"
            raise OptionError("threshold", f"{needed} with aggregator: threshold")
        if self.threshold is not None:
            check_share("threshold", self.threshold)

    def combine(self, results: Sequence[EvaluatorResult]) -> Score:
        """One score from the results of all evaluators, in their order."""
        counted, failed = _counted(results)
        # The lists of the evaluators are part of the combined score.
        rows: list[JsonValue] = [
            {key: value for key, value in result.to_dict().items() if key not in _LISTS}
            for result in results
        ]
        details: JsonObject = {"aggregator": self.aggregator, "evaluators": rows}
        if failed:
            return replace(Score.error(_reasons(failed)), details=details)
        score = _AGGREGATES[self.aggregator](counted)
        limit = self.pass_threshold if self.threshold is None else self.threshold
        return Score(
            score=score,
            verdict=verdict_at(score, limit),
            hits=tuple(hit for result in counted for hit in _hits(result, named=True)),
            misses=tuple(miss for result in counted for miss in _misses(result, named=True)),
            reasoning=f"{_passing(counted)}/{len(counted)} evaluators pass",
            details=details,
            vacuous=all(result.score.vacuous for result in counted),
            skipped=tuple(each for result in counted for each in _named(result, "skipped")),
        )


def case_score(results: Sequence[EvaluatorResult]) -> Score:
    """The weighted mean of all scores of a case, with the lists of all put together.

    An evaluator of weight 0 is reported and does not count. One error leaves the case without
    a score. Where all verdicts agree, the case has that verdict; else it follows from the lists.
    A verdict below a pass that names no miss counts as a miss, and a pass that names no hit as a
    hit unless it is vacuous, so that the verdict of a case never hides that of an evaluator.

    >>> case_score([]).reasoning
    'no evaluator counts for this case'
    """
    counted, failed = _counted(results)
    if failed:
        return Score.error(_reasons(failed))
    if not counted:
        return Score(score=None, verdict=None, reasoning="no evaluator counts for this case")
    hits = tuple(hit for result in counted for hit in _hits(result))
    misses = tuple(miss for result in counted for miss in _misses(result))
    verdicts = {result.score.verdict for result in counted}
    return Score(
        score=_weighted_mean(counted),
        verdict=verdicts.pop() if len(verdicts) == 1 else verdict_of(len(hits), len(misses)),
        hits=hits,
        misses=misses,
        reasoning=_reasons(result for result in counted if result.score.reasoning),
        vacuous=all(result.score.vacuous for result in counted),
        skipped=tuple(name for result in counted for name in result.score.skipped),
    )


def _counted(
    results: Sequence[EvaluatorResult],
) -> tuple[list[EvaluatorResult], list[EvaluatorResult]]:
    """The results that count, and those of them that are errors."""
    counted = [result for result in results if result.weight > 0]
    return counted, [result for result in counted if result.score.status is Status.ERROR]


def _reasons(results: Iterable[EvaluatorResult]) -> str:
    return "; ".join(f"{result.name}: {result.score.reasoning}" for result in results)


def _value(result: EvaluatorResult) -> float:
    return result.score.score or 0.0


def _weighted_mean(results: Sequence[EvaluatorResult]) -> float:
    weights = fsum(result.weight for result in results)
    return fsum(_value(result) * result.weight for result in results) / weights


def _passing(results: Sequence[EvaluatorResult]) -> int:
    return sum(result.score.verdict is Verdict.PASS for result in results)


_AGGREGATES: Final[Mapping[Aggregator, Callable[[Sequence[EvaluatorResult]], float]]] = {
    Aggregator.WEIGHTED_AVERAGE: _weighted_mean,
    Aggregator.THRESHOLD: lambda results: _passing(results) / len(results),
    Aggregator.ALL_OR_NOTHING: lambda results: float(_passing(results) == len(results)),
    Aggregator.MINIMUM: lambda results: min(map(_value, results)),
}


def _hits(result: EvaluatorResult, *, named: bool = False) -> tuple[str, ...]:
    """The hits of an evaluator; a pass without lists is itself a hit, unless it is vacuous."""
    score = result.score
    if score.verdict is Verdict.PASS and not (score.hits or score.misses or score.vacuous):
        return (result.name,)
    return _named(result, "hits") if named else score.hits


def _misses(result: EvaluatorResult, *, named: bool = False) -> tuple[str, ...]:
    """The misses of an evaluator; a verdict below a pass without misses is itself a miss."""
    score = result.score
    if score.verdict is not Verdict.PASS and not score.misses:
        return (f"{result.name} (score {_value(result):.3g})",)
    return _named(result, "misses") if named else score.misses


def _named(result: EvaluatorResult, key: str) -> tuple[str, ...]:
    """A list of a result, each entry with the name of the evaluator."""
    return tuple(f"{result.name}: {each}" for each in getattr(result.score, key))
