"""Combine several scores into one, for a composite evaluator and for a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from fieldmark.errors import OptionError
from fieldmark.evaluators.base import (
    ConfiguredEvaluator,
    EvaluatorResult,
    Score,
    Status,
    check_unique,
)
from fieldmark.metrics.counts import verdict_at, verdict_of
from fieldmark.metrics.rates import bounds_of, weighted_share
from fieldmark.model.case import Verdict
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.annotations import Length, Share
from fieldmark.values.strategy_options import check_options


class Aggregator(StrEnum):
    """How the scores of several evaluators are combined."""

    WEIGHTED_AVERAGE = "weighted_average"
    THRESHOLD = "threshold"
    ALL_OR_NOTHING = "all_or_nothing"
    MINIMUM = "minimum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Composite:
    """Combine the scores of several evaluators.

    The score is their weighted mean; with `aggregator: threshold` the share that passes, which
    must reach `threshold`; with `all_or_nothing` 1 if all pass and otherwise 0; with `minimum` the
    lowest score. An evaluator with weight 0, or with nothing to score in a case, is reported but
    not counted. If one evaluator fails, the result is an error.
    """

    name: ClassVar[str] = "composite"
    evaluators: Annotated[tuple[ConfiguredEvaluator, ...], Length(ge=1, noun="evaluator")]
    aggregator: Aggregator = Aggregator.WEIGHTED_AVERAGE
    threshold: Share | None = None
    pass_threshold: Share = 0.8

    def __post_init__(self) -> None:
        check_options(self)
        check_unique("evaluators", [evaluator.name for evaluator in self.evaluators])
        if not any(evaluator.weight for evaluator in self.evaluators):
            message = "must contain an evaluator with a weight greater than 0"
            raise OptionError("evaluators", message)
        if (self.aggregator is Aggregator.THRESHOLD) is not (self.threshold is not None):
            problem = "is required" if self.threshold is None else "can only be used"
            raise OptionError("threshold", f"{problem} with aggregator: threshold")

    def combine(self, results: Sequence[EvaluatorResult]) -> Score:
        """Return one score for the results of all evaluators, in their order."""
        weighted, counted, failed = _counted(results)
        # Hits and misses of the evaluators are not repeated: they are in the combined score.
        rows: list[JsonValue] = [
            {
                "name": result.name,
                "type": result.type,
                "weight": result.weight,
                "score": result.score.score,
                "verdict": result.score.verdict,
                "status": result.score.status,
                "vacuous": result.score.vacuous,
                "reasoning": result.score.reasoning,
                "details": result.score.details,
            }
            for result in results
        ]
        details: JsonObject = {"aggregator": self.aggregator, "evaluators": rows}
        if failed:
            bounds = bounds_of(self.combine(ends).score for ends in completed_results(results))
            return replace(Score.error(_reasons(failed), bounds), details=details)
        score = _AGGREGATES[self.aggregator](counted)
        hits, misses, skipped = _merged_lists(weighted, counted, named=True)
        limit = self.pass_threshold if self.threshold is None else self.threshold
        return Score(
            score=score,
            verdict=verdict_at(score, limit),
            hits=hits,
            misses=misses,
            reasoning=f"{_passing(counted)}/{len(counted)} evaluators pass",
            details=details,
            vacuous=all(result.score.vacuous for result in counted),
            skipped=skipped,
            warnings=tuple(
                dict.fromkeys(text for result in counted for text in result.score.warnings)
            ),
            zeroed=any(result.score.zeroed for result in counted),
        )


def case_score(results: Sequence[EvaluatorResult]) -> Score:
    """Return the weighted mean of all scores of a case, with all hits and misses.

    An evaluator with weight 0 is not counted, nor is a vacuous one unless all are. If one evaluator
    fails, the case has no score. If all verdicts agree, the case has the same verdict; otherwise
    hits and misses decide. An evaluator that does not pass and has no misses counts as a miss, and
    one that passes without hits counts as a hit unless it is vacuous.

    >>> case_score([]).reasoning
    'no evaluator counts for this case'
    """
    weighted, counted, failed = _counted(results)
    if failed:
        return Score.error(_reasons(failed))
    if not counted:
        return Score(score=None, verdict=None, reasoning="no evaluator counts for this case")
    hits, misses, skipped = _merged_lists(weighted, counted, named=False)
    verdicts = {result.score.verdict for result in counted}
    return Score(
        score=_weighted_mean(counted),
        verdict=verdicts.pop() if len(verdicts) == 1 else verdict_of(len(hits), len(misses)),
        hits=hits,
        misses=misses,
        reasoning=_reasons(result for result in weighted if result.score.reasoning),
        vacuous=all(result.score.vacuous for result in counted),
        skipped=skipped,
    )


def completed_results(
    results: Sequence[EvaluatorResult],
) -> tuple[list[EvaluatorResult], list[EvaluatorResult]]:
    """Return the results with the least and with the greatest score of each failed evaluator."""
    low, high = ([_completed(result, end) for result in results] for end in (0, 1))
    return low, high


def _completed(result: EvaluatorResult, end: int) -> EvaluatorResult:
    if result.score.status is not Status.ERROR:
        return result
    score = (result.score.bounds or (0.0, 1.0))[end]
    verdict = (Verdict.FAIL, Verdict.PASS)[end]
    return replace(result, score=Score(score=score, verdict=verdict))


def _counted(
    results: Sequence[EvaluatorResult],
) -> tuple[list[EvaluatorResult], list[EvaluatorResult], list[EvaluatorResult]]:
    """Return the results with a weight, the results that count, and the errors.

    A result that rests on nothing does not count, unless there are no others.
    """
    weighted = [result for result in results if result.weight > 0]
    counted = [result for result in weighted if not result.score.vacuous] or weighted
    return weighted, counted, [result for result in weighted if result.score.status is Status.ERROR]


def _reasons(results: Iterable[EvaluatorResult]) -> str:
    return "; ".join(f"{result.name}: {result.score.reasoning}" for result in results)


def _value(result: EvaluatorResult) -> float:
    return result.score.score or 0.0


def _weighted_mean(results: Sequence[EvaluatorResult]) -> float:
    earned = [_value(result) * result.weight for result in results]
    return weighted_share(earned, [result.weight for result in results]) or 0.0


def _passing(results: Sequence[EvaluatorResult]) -> int:
    return sum(result.score.verdict is Verdict.PASS for result in results)


_AGGREGATES: Final[Mapping[Aggregator, Callable[[Sequence[EvaluatorResult]], float]]] = {
    Aggregator.WEIGHTED_AVERAGE: _weighted_mean,
    Aggregator.THRESHOLD: lambda results: _passing(results) / len(results),
    Aggregator.ALL_OR_NOTHING: lambda results: float(_passing(results) == len(results)),
    Aggregator.MINIMUM: lambda results: min(map(_value, results)),
}


def _merged_lists(
    results: Sequence[EvaluatorResult], counted: Sequence[EvaluatorResult], *, named: bool
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the hits and misses of the counted evaluators, and the skipped fields of all.

    Names of evaluators are included if `named`. A pass without hits and misses is itself a hit
    unless it is vacuous; another verdict without misses is itself a miss.
    """

    def listed(result: EvaluatorResult, texts: Iterable[str]) -> list[str]:
        return [f"{result.name}: {text}" if named else text for text in texts]

    hits: list[str] = []
    misses: list[str] = []
    for result in counted:
        score = result.score
        hits += listed(result, score.hits)
        misses += listed(result, score.misses)
        if score.verdict is not Verdict.PASS:
            if not score.misses:
                misses.append(f"{result.name} (score {_value(result):.3g})")
        elif not (score.hits or score.misses or score.vacuous):
            hits.append(result.name)
    skipped = [text for result in results for text in listed(result, result.score.skipped)]
    return tuple(hits), tuple(misses), tuple(skipped)
