"""Failed cases of a run: the outcomes that they might have had, and how they are counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

from fieldmark.evaluators.base import SAFETY
from fieldmark.evaluators.composite import case_score, completed_results
from fieldmark.metrics.case_score import CaseCounter, CaseStats
from fieldmark.metrics.completions import Completion, completed
from fieldmark.metrics.quality import quality, rqs_bounds
from fieldmark.metrics.rates import Interval, bounds_of
from fieldmark.metrics.tally import Tally
from fieldmark.model.case import CaseInput
from fieldmark.model.outcome import CELL_BITS, Outcome, Reason, fact_of
from fieldmark.model.outcomes import Outcomes
from fieldmark.values.paths import ROOT
from fieldmark.values.records import OMIT_DEFAULT

if TYPE_CHECKING:
    from fieldmark.runs.case_result import CaseResult

_UNREADABLE: Final = frozenset({CaseInput.MISSING, CaseInput.PARSE_ERROR})


class CaseBounds(NamedTuple):
    """The least and the greatest value of each metric of a failed case; `None` if not known."""

    score: Annotated[Interval | None, OMIT_DEFAULT] = None
    precision: Annotated[Interval | None, OMIT_DEFAULT] = None
    recall: Annotated[Interval | None, OMIT_DEFAULT] = None
    f1: Annotated[Interval | None, OMIT_DEFAULT] = None
    completeness: Annotated[Interval | None, OMIT_DEFAULT] = None
    hallucination: Annotated[Interval | None, OMIT_DEFAULT] = None
    accuracy: Annotated[Interval | None, OMIT_DEFAULT] = None
    safety: Annotated[Interval | None, OMIT_DEFAULT] = None
    rqs: Annotated[Interval | None, OMIT_DEFAULT] = None

    def known(self, name: str, value: float | None) -> float | None:
        """Return the value of a metric, unless the failed fields decide it."""
        bounds: Interval | None = getattr(self, name)
        return None if bounds is None or bounds[0] != bounds[1] else value


def add_results(tally: Tally, results: Iterable[CaseResult]) -> None:
    """Add results, of which some may have errors.

    A failed case is in no sum except its completions. If an error scores 0, the case counts, and
    its failed fields count as wrong values.
    """
    for result in results:
        stats, read = result.stats, result.case.input
        if stats.failed:
            completions = {each: completed_case(result, each) for each in Completion}
            unbounded = is_unbounded(result)
            tally.add_failed(
                result.case.id, result.outcomes, completions, read, unbounded=unbounded
            )
        elif stats.errors_count:
            outcomes, wrong = completed_case(result, Completion.WRONG_VALUE)
            own = stats._replace(counts=wrong.counts, errors=wrong.errors)
            if stats.rqs is None:
                own = own._replace(quality=wrong.quality)
            if not stats.evaluator_rates:
                own = own._replace(precision=wrong.precision, recall=wrong.recall, f1=wrong.f1)
            tally.add_errors(result.outcomes)
            tally.add(outcomes, own, read)
        else:
            tally.add(result.outcomes, stats, read)


def completed_case(result: CaseResult, completion: Completion) -> tuple[Outcomes, CaseStats]:
    """Return the outcomes and metrics of a failed case with one completion.

    A safety judge and evaluators that failed have their greatest score if fields are right, and
    their least otherwise.
    """
    read, right = result.case.input, completion is Completion.RIGHT
    outcomes = completed(result.outcomes, completion)
    unreadable = read in _UNREADABLE or (
        read is CaseInput.FAILED and completion is Completion.MISSING
    )
    evaluations = completed_results(result.evaluator_results)[right]
    safety = result.stats.safety
    if has_failed_safety(result):
        safety = float(right)
    counter = CaseCounter(result.convention, result.attributes)
    stats = counter.stats(outcomes, unreadable=unreadable, safety=safety)
    scored = [own for own in evaluations if own.type != SAFETY]
    if any(own.weight for own in scored):
        overall = case_score(scored)
        stats = stats._replace(
            score=overall.score,
            verdict=overall.verdict,
            hits=len(overall.hits),
            misses=len(overall.misses),
            vacuous=overall.vacuous,
        )
    return outcomes, stats._replace(failing=any(own.score.failing for own in evaluations))


def case_bounds(result: CaseResult) -> CaseBounds:
    """Return the bounds of the metrics of a failed case; none if a whole list failed."""
    if is_unbounded(result):
        return CaseBounds()
    stats = [completed_case(result, completion)[1] for completion in Completion]
    counting = result.convention.counting
    qualities = [quality(own.quality, counting, own.safety) for own in stats]
    completeness, hallucination, accuracy, safety = (
        bounds_of(values) for values in zip(*(own[:4] for own in qualities), strict=True)
    )
    return CaseBounds(
        score=bounds_of(own.score for own in stats),
        precision=bounds_of(own.precision for own in stats),
        recall=bounds_of(own.recall for own in stats),
        f1=bounds_of(own.f1 for own in stats),
        completeness=completeness,
        hallucination=hallucination,
        accuracy=accuracy,
        safety=safety,
        rqs=rqs_bounds(completeness, hallucination, accuracy, safety, counting),
    )


def has_failed_safety(result: CaseResult) -> bool:
    """Return whether the safety of a candidate could not be judged."""
    return any(own.type == SAFETY and own.score.score is None for own in result.evaluator_results)


def is_unbounded(result: CaseResult) -> bool:
    """Return whether a whole list or document failed, so that its fields are not known."""
    outcomes = result.outcomes
    for position, comparison in outcomes.comparisons.items():
        cell = outcomes.cells[position]
        if fact_of(cell).outcome is Outcome.ERROR and (
            comparison.reason is Reason.TOO_MANY_ITEMS
            or result.attributes.path(cell >> CELL_BITS) == ROOT
        ):
            return True
    return False
