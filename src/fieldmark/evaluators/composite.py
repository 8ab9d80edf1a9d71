"""Several scores combined into one: composite evaluators and whole cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import fsum
from typing import ClassVar, Final

from fieldmark.compare.options import check_share, checked_choice
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import ConfiguredEvaluator, EvaluatorResult, Score, Status
from fieldmark.metrics.verdict import verdict_at, verdict_of
from fieldmark.model.case import Verdict
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["Aggregator", "Composite", "case_score"]


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
        _check_members(self.evaluators)
        check_share("pass_threshold", self.pass_threshold)
        if (aggregator is Aggregator.THRESHOLD) is not (self.threshold is not None):
            told = "is needed" if self.threshold is None else "can only be used"
            raise OptionError("threshold", f"{told} with aggregator: threshold")
        if self.threshold is not None:
            check_share("threshold", self.threshold)

    def combine(self, results: Sequence[EvaluatorResult]) -> Score:
        """One score of the results of all members, in their order."""
        counted = [result for result in results if result.evaluator.weight > 0]
        broken = [result for result in counted if result.score.status is Status.ERROR]
        details = _details(self.aggregator, results)
        if broken:
            said = "; ".join(f"{each.evaluator.name}: {each.score.reasoning}" for each in broken)
            return replace(Score.error(said), details=details)
        score = _AGGREGATES[self.aggregator](counted)
        limit = self.pass_threshold if self.threshold is None else self.threshold
        return Score(
            score=score,
            verdict=verdict_at(score, limit),
            hits=tuple(hit for result in counted for hit in _hits(result)),
            misses=tuple(miss for result in counted for miss in _misses(result)),
            reasoning=f"{_passing(counted)}/{len(counted)} evaluators pass",
            details=details,
            vacuous=all(result.score.vacuous for result in counted),
            skipped=tuple(
                f"{result.evaluator.name}: {each}"
                for result in counted
                for each in result.score.skipped
            ),
        )


def _mean(results: Sequence[EvaluatorResult]) -> float:
    weights = fsum(result.evaluator.weight for result in results)
    return fsum(_score(result) * result.evaluator.weight for result in results) / weights


def _passing(results: Sequence[EvaluatorResult]) -> int:
    return sum(result.score.verdict is Verdict.PASS for result in results)


_AGGREGATES: Final[Mapping[Aggregator, Callable[[Sequence[EvaluatorResult]], float]]] = {
    Aggregator.WEIGHTED_AVERAGE: _mean,
    Aggregator.THRESHOLD: lambda results: _passing(results) / len(results),
    Aggregator.ALL_OR_NOTHING: lambda results: float(_passing(results) == len(results)),
    Aggregator.MINIMUM: lambda results: min(map(_score, results)),
}


def _score(result: EvaluatorResult) -> float:
    return result.score.score or 0.0


def _hits(result: EvaluatorResult) -> list[str]:
    """What speaks for a candidate; a bare pass does so by the member's name."""
    name, score = result.evaluator.name, result.score
    if score.hits or score.misses or score.vacuous or score.verdict is not Verdict.PASS:
        return [f"{name}: {hit}" for hit in score.hits]
    return [name]


def _misses(result: EvaluatorResult) -> list[str]:
    """What speaks against it; no member falls short without a word."""
    name, score = result.evaluator.name, result.score
    if score.misses or score.verdict is Verdict.PASS:
        return [f"{name}: {miss}" for miss in score.misses]
    return [f"{name} (score {_score(result):.3g})"]


def _details(aggregator: Aggregator, results: Sequence[EvaluatorResult]) -> JsonObject:
    """What every member said; what is in the lists of the score is not said again."""
    rows: list[JsonValue] = [
        {key: value for key, value in result.to_dict().items() if key not in _JOINED}
        for result in results
    ]
    return {"aggregator": aggregator, "evaluators": rows}


_JOINED: Final = frozenset({"hits", "misses", "skipped"})


def _check_members(members: Sequence[ConfiguredEvaluator]) -> None:
    if not members:
        raise OptionError("evaluators", "must name at least one evaluator")
    names = [member.name for member in members]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise OptionError("evaluators", f"names {twice} twice")
    if not any(member.weight for member in members):
        raise OptionError("evaluators", "needs an evaluator with a weight above 0")


_NOBODY: Final = "no evaluator counts for this case"


def case_score(results: Sequence[EvaluatorResult]) -> Score:
    """The mean of all scores by weight, with the lists of all put together.

    An evaluator of weight 0 is reported and counts for nothing. One error leaves the case without
    a score. Where all verdicts agree, the case has that verdict; else it follows from the lists.
    A verdict below a pass that names no miss counts as one, and a bare pass as a hit, so that the
    verdict of a case never hides that of an evaluator.

    >>> case_score([]).reasoning
    'no evaluator counts for this case'
    """
    counted = [result for result in results if result.evaluator.weight > 0]
    broken = [result for result in counted if result.score.status is Status.ERROR]
    if broken:
        return Score.error("; ".join(_said(result) for result in broken))
    if not counted:
        return Score(score=None, verdict=None, reasoning=_NOBODY)
    hits = tuple(hit for result in counted for hit in _case_hits(result))
    misses = tuple(miss for result in counted for miss in _case_misses(result))
    return Score(
        score=_weighted_mean(counted),
        verdict=_verdict(counted, hits, misses),
        hits=hits,
        misses=misses,
        reasoning="; ".join(filter(None, map(_said, counted))),
        vacuous=all(result.score.vacuous for result in counted),
        skipped=tuple(name for result in counted for name in result.score.skipped),
    )


def _verdict(
    counted: Sequence[EvaluatorResult], hits: Sequence[str], misses: Sequence[str]
) -> Verdict | None:
    verdicts = {result.score.verdict for result in counted}
    return verdicts.pop() if len(verdicts) == 1 else verdict_of(len(hits), len(misses))


def _weighted_mean(results: Sequence[EvaluatorResult]) -> float:
    weights = fsum(result.evaluator.weight for result in results)
    return (
        fsum((result.score.score or 0.0) * result.evaluator.weight for result in results) / weights
    )


def _said(result: EvaluatorResult) -> str:
    reasoning = result.score.reasoning
    return f"{result.evaluator.name}: {reasoning}" if reasoning else ""


def _case_hits(result: EvaluatorResult) -> tuple[str, ...]:
    score = result.score
    bare = score.verdict is Verdict.PASS and not (score.hits or score.misses or score.vacuous)
    return (result.evaluator.name,) if bare else score.hits


def _case_misses(result: EvaluatorResult) -> tuple[str, ...]:
    score = result.score
    if score.misses or score.verdict is Verdict.PASS:
        return score.misses
    return (f"{result.evaluator.name} (score {score.score:.3g})",)
