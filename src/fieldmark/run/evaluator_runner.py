"""Runs the evaluators of a case: judges concurrently, and each set of rules compared once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeAlias, cast

from fieldmark.errors import Problem
from fieldmark.evaluators.base import (
    Accumulator,
    Accumulators,
    CaseScorer,
    Combiner,
    ConfiguredEvaluator,
    Evaluator,
    EvaluatorResult,
    Judge,
    Score,
    Status,
    dataset_figures,
    start_accumulators,
)
from fieldmark.evaluators.composite import case_score
from fieldmark.evaluators.field_evaluator import FieldEvaluator
from fieldmark.metrics.averages import ExactSum
from fieldmark.metrics.summary import EvaluatorSummary
from fieldmark.metrics.tally import VerdictCounts
from fieldmark.model.case import Case, CaseInput, Verdict
from fieldmark.model.json import JsonObject
from fieldmark.model.rule import Rules
from fieldmark.run.error_boundary import score_or_error
from fieldmark.wire.case_result import CaseResult

__all__ = [
    "EvaluatorRunner",
    "EvaluatorTotals",
    "has_judges",
    "open_evaluators",
    "unready_judges",
]

_Pending: TypeAlias = Callable[[], Score]


class EvaluatorRunner:
    """Scores cases with all of their evaluators.

    `own` are the evaluators of single cases, by id; all other cases get the shared ones. An
    evaluator whose rules are those of the run scores the outcomes of the run.
    """

    __slots__ = ("_accumulators", "_evaluators", "_judges", "_own", "_pool", "_rules", "_totals")

    def __init__(
        self,
        evaluators: Sequence[ConfiguredEvaluator],
        own: Mapping[str, Sequence[ConfiguredEvaluator]],
        judges: Mapping[int, CaseScorer],
        pool: ThreadPoolExecutor | None,
        rules: Rules | None = None,
    ) -> None:
        self._evaluators = evaluators
        self._own = own
        self._judges = judges
        self._pool = pool
        self._rules = rules
        configured = _all_evaluators(evaluators, own)
        self._accumulators: Accumulators = start_accumulators(configured)
        self._totals = EvaluatorTotals(each.name for each in configured)

    @property
    def has_accumulators(self) -> bool:
        """Whether some evaluator has figures for all cases together."""
        return bool(self._accumulators)

    def figures(self) -> dict[str, JsonObject]:
        """The figures for all cases so far, by the names of the evaluators that have some."""
        return dataset_figures(_all_evaluators(self._evaluators, self._own), self._accumulators)

    def summaries(self) -> dict[str, EvaluatorSummary]:
        """What each evaluator scored over all cases so far."""
        return self._totals.summaries(self.figures())

    def accumulate(self, cases: Iterable[Case]) -> None:
        """Take in cases whose scores are known already, for the figures of all cases."""
        for case in cases if self._accumulators else ():
            for accumulator in _find_accumulators(self.evaluators_of(case), self._accumulators):
                score_or_error("", partial(_accumulated, accumulator, case))

    def evaluate(
        self, results: Sequence[CaseResult], *, stored: bool = False
    ) -> Sequence[CaseResult]:
        """The results with the score of every evaluator, in their order.

        Results that are `stored` have their scores and are only counted. A case without a
        candidate, because its target failed, is an error already.
        """
        if stored:
            self.accumulate(each.case for each in results)
        else:
            results = self._evaluate(results)
        self._totals.add(results)
        return results

    def _evaluate(self, results: Sequence[CaseResult]) -> list[CaseResult]:
        pending = [
            None
            if result.case.input is CaseInput.FAILED
            else [(each, self._start(each, result)) for each in self.evaluators_of(result.case)]
            for result in results
        ]
        return [
            result
            if scores is None
            else with_evaluations(
                result, tuple(EvaluatorResult.of(each, score()) for each, score in scores)
            )
            for result, scores in zip(results, pending, strict=True)
        ]

    def score(self, case: Case) -> tuple[EvaluatorResult, ...]:
        """The score of every evaluator for one case that was not compared."""
        pending = [(each, self._start(each, case)) for each in self.evaluators_of(case)]
        return tuple(EvaluatorResult.of(each, score()) for each, score in pending)

    def evaluators_of(self, case: Case) -> Sequence[ConfiguredEvaluator]:
        """The evaluators of a case."""
        return self._own.get(case.id, self._evaluators)

    def _start(self, configured: ConfiguredEvaluator, subject: CaseResult | Case) -> _Pending:
        """Start a judge now; anything else runs when its score is wanted."""
        case = subject.case if isinstance(subject, CaseResult) else subject
        name, evaluator = configured.name, configured.evaluator
        judge = self._judges.get(id(evaluator))
        if judge is not None:
            score = partial(score_or_error, name, partial(judge, case))
            return score if self._pool is None else self._pool.submit(score).result
        accumulator = self._accumulators.get(id(evaluator))
        if accumulator is not None:
            return partial(score_or_error, name, partial(_accumulated, accumulator, case))
        if hasattr(evaluator, "combine"):
            return self._start_combined(name, cast("Combiner", evaluator), subject)
        return partial(
            score_or_error, name, partial(self._evaluated, cast("Evaluator", evaluator), subject)
        )

    def _start_combined(
        self, name: str, combiner: Combiner, subject: CaseResult | Case
    ) -> _Pending:
        parts = [(part, self._start(part, subject)) for part in combiner.evaluators]

        def combine() -> Score:
            results = [EvaluatorResult.of(part, score()) for part, score in parts]
            return score_or_error(name, partial(combiner.combine, results))

        return combine

    def _evaluated(self, evaluator: Evaluator, subject: CaseResult | Case) -> Score:
        if isinstance(subject, CaseResult):
            case = subject.case
            if isinstance(evaluator, FieldEvaluator) and evaluator.rules == self._rules:
                return evaluator.score_outcomes(subject.outcomes, subject.attributes, case)
        else:
            case = subject
        unreadable = case.input is not CaseInput.OK
        return evaluator.evaluate(case.expected, case.candidate, unreadable=unreadable)


def with_evaluations(result: CaseResult, evaluations: tuple[EvaluatorResult, ...]) -> CaseResult:
    """The result of a case that was evaluated: its score and verdict are the evaluators'."""
    overall = case_score(evaluations)
    stats = result.stats
    if any(each.weight for each in evaluations):
        if overall.status is Status.ERROR or stats.errors_count:
            errors = max(1, stats.errors_count)
            stats = stats._replace(score=None, verdict=None, errors_count=errors)
        else:
            stats = stats._replace(
                score=overall.score,
                verdict=overall.verdict,
                hits=len(overall.hits),
                misses=len(overall.misses),
                vacuous=overall.vacuous,
            )
    return replace(result, stats=stats, evaluator_results=evaluations, overall=overall)


@contextmanager
def open_evaluators(
    evaluators: Sequence[ConfiguredEvaluator],
    own: Mapping[str, Sequence[ConfiguredEvaluator]] | None = None,
    *,
    concurrency: int = 1,
    rules: Rules | None = None,
) -> Iterator[EvaluatorRunner]:
    """Start all judges, and stop them when the run is over."""
    own = own or {}
    judges = {id(judge): judge for _, judge in _find_judges(_all_evaluators(evaluators, own))}
    with ExitStack() as stack:
        pool = ThreadPoolExecutor(max(1, concurrency), "judge") if judges else None
        if pool is not None:
            # Shut down after the judges, which end whatever an interrupted run still waits for.
            stack.callback(pool.shutdown, cancel_futures=True)
        opened = {key: stack.enter_context(judge.opened()) for key, judge in judges.items()}
        yield EvaluatorRunner(evaluators, own, opened, pool, rules)


def _all_evaluators(
    evaluators: Sequence[ConfiguredEvaluator], own: Mapping[str, Sequence[ConfiguredEvaluator]]
) -> list[ConfiguredEvaluator]:
    return [*evaluators, *(each for single in own.values() for each in single)]


def _find_accumulators(
    evaluators: Iterable[ConfiguredEvaluator], accumulators: Accumulators
) -> Iterator[Accumulator]:
    """The accumulators of some evaluators, including those inside combiners."""
    for each in evaluators:
        accumulator = accumulators.get(id(each.evaluator))
        if accumulator is not None:
            yield accumulator
        elif hasattr(each.evaluator, "combine"):
            yield from _find_accumulators(cast("Combiner", each.evaluator).evaluators, accumulators)


def _accumulated(accumulator: Accumulator, case: Case) -> Score:
    unreadable = case.input is not CaseInput.OK
    return accumulator.add(case.expected, case.candidate, unreadable=unreadable)


def _find_judges(
    evaluators: Sequence[ConfiguredEvaluator], prefix: str = ""
) -> Iterator[tuple[str, Judge]]:
    """All judges with their names, including those inside combiners; names may repeat."""
    for each in evaluators:
        if hasattr(each.evaluator, "opened"):
            yield f"{prefix}{each.name}", cast("Judge", each.evaluator)
        elif hasattr(each.evaluator, "combine"):
            inner = cast("Combiner", each.evaluator).evaluators
            yield from _find_judges(inner, f"{prefix}{each.name}.")


def has_judges(evaluators: Sequence[ConfiguredEvaluator]) -> bool:
    """Whether an external program or model is asked, which may take its time."""
    return any(True for _ in _find_judges(evaluators))


def unready_judges(evaluators: Sequence[ConfiguredEvaluator]) -> list[Problem]:
    """Why judges could not judge a single case, found out before the first."""
    reasons = ((name, judge.unready()) for name, judge in _find_judges(evaluators))
    return [Problem(f"{name}: {reason}") for name, reason in reasons if reason]


class EvaluatorTotals:
    """What each evaluator scored over all cases, by its name."""

    __slots__ = ("_errors", "_scores", "_verdicts")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._scores: dict[str, ExactSum] = {}
        self._errors: dict[str, int] = {}
        self._verdicts: dict[str, dict[Verdict, int]] = {}
        for name in names:
            self._start(name)

    def _start(self, name: str) -> None:
        self._scores[name], self._errors[name] = ExactSum(), 0
        self._verdicts[name] = dict.fromkeys(Verdict, 0)

    def add(self, results: Iterable[CaseResult]) -> None:
        """Add evaluated cases."""
        for each in (each for result in results for each in result.evaluator_results):
            score = each.score
            if each.name not in self._scores:
                self._start(each.name)
            if score.score is None:
                self._errors[each.name] += 1
                continue
            self._scores[each.name] += ExactSum.of([(score.score, 1)])
            if score.verdict is not None:
                self._verdicts[each.name][score.verdict] += 1

    def summaries(
        self, figures: Mapping[str, JsonObject] | None = None
    ) -> dict[str, EvaluatorSummary]:
        """The totals of each evaluator, with the figures that it has for all cases together."""
        known = figures or {}
        return {
            name: EvaluatorSummary(
                mean_score=scores.mean,
                scored=scores.number,
                errors=self._errors[name],
                verdicts=VerdictCounts(*(self._verdicts[name][verdict] for verdict in Verdict)),
                figures=known.get(name, {}),
            )
            for name, scores in self._scores.items()
        }
