"""One score for a case from all who evaluated it."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Final

from fieldmark.evaluators.panel import Result
from fieldmark.evaluators.score import Score, Status
from fieldmark.metrics.verdict import verdict_of
from fieldmark.model.case import Verdict

__all__ = ["case_score"]

_NOBODY: Final = "no evaluator counts for this case"


def case_score(results: Sequence[Result]) -> Score:
    """The mean of all scores by weight, with the lists of all put together.

    An evaluator of weight 0 is reported and counts for nothing. One error leaves the case without
    a score. Where all verdicts agree, the case has that verdict; else it follows from the lists.
    A verdict below a pass that names no miss counts as one, and a bare pass as a hit, so that the
    verdict of a case never hides that of an evaluator.

    >>> case_score([]).reasoning
    'no evaluator counts for this case'
    """
    counted = [result for result in results if result.member.weight > 0]
    broken = [result for result in counted if result.score.status is Status.ERROR]
    if broken:
        return Score.error("; ".join(_said(result) for result in broken))
    if not counted:
        return Score(score=None, verdict=None, reasoning=_NOBODY)
    hits = tuple(hit for result in counted for hit in _hits(result))
    misses = tuple(miss for result in counted for miss in _misses(result))
    return Score(
        score=_mean(counted),
        verdict=_verdict(counted, hits, misses),
        hits=hits,
        misses=misses,
        reasoning="; ".join(filter(None, map(_said, counted))),
        vacuous=all(result.score.vacuous for result in counted),
        skipped=tuple(name for result in counted for name in result.score.skipped),
    )


def _verdict(
    counted: Sequence[Result], hits: Sequence[str], misses: Sequence[str]
) -> Verdict | None:
    verdicts = {result.score.verdict for result in counted}
    return verdicts.pop() if len(verdicts) == 1 else verdict_of(len(hits), len(misses))


def _mean(results: Sequence[Result]) -> float:
    weights = fsum(result.member.weight for result in results)
    return fsum((result.score.score or 0.0) * result.member.weight for result in results) / weights


def _said(result: Result) -> str:
    reasoning = result.score.reasoning
    return f"{result.member.name}: {reasoning}" if reasoning else ""


def _hits(result: Result) -> tuple[str, ...]:
    score = result.score
    bare = score.verdict is Verdict.PASS and not (score.hits or score.misses or score.vacuous)
    return (result.member.name,) if bare else score.hits


def _misses(result: Result) -> tuple[str, ...]:
    score = result.score
    if score.misses or score.verdict is Verdict.PASS:
        return score.misses
    return (f"{result.member.name} (score {score.score:.3g})",)
