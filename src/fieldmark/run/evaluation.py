"""Cases through all evaluators: compared and counted like any run, then judged one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from fieldmark.evaluators.base import EvaluatorResult, Score, Status
from fieldmark.evaluators.composite import case_score
from fieldmark.metrics.averages import ExactSum
from fieldmark.metrics.case_score import CaseCounter, CaseStats
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.summary import EvaluatorSummary
from fieldmark.metrics.tally import Tally, VerdictCounts
from fieldmark.model.case import Case, CaseInput, Verdict
from fieldmark.model.json import JsonObject
from fieldmark.model.outcomes import Outcomes
from fieldmark.plan import Plan
from fieldmark.run.guard import guarded
from fieldmark.run.judged_replay import JudgedReplay, Remembered
from fieldmark.run.panel import Panel
from fieldmark.run.pipeline import Batch

__all__ = ["EvaluatorTally", "Judged", "Observer", "run_evaluation"]

_LEFT_OUT = frozenset({CaseInput.INVALID_TRUTH, CaseInput.FAILED})


class Judged(NamedTuple):
    """Some finished cases: their figures, what each evaluator said, and the score of each case.

    `failed` are cases for which nobody could produce a candidate: they have no figures. `all` are
    both kinds in their order. The truth of `unread` could not be read.
    """

    batch: Batch
    results: Sequence[tuple[EvaluatorResult, ...]]
    scores: Sequence[Score]
    failed: Sequence[Case] = ()
    all: Sequence[Case] = ()
    unread: Sequence[Case] = ()


Observer: TypeAlias = Callable[[Judged], None]
"""Is shown finished cases: writes results, moves a progress bar."""


def run_evaluation(
    batches: Iterable[Sequence[Case]],
    plan: Plan,
    convention: Convention,
    panel: Panel,
    observers: Sequence[Observer] = (),
    *,
    known: JudgedReplay | None = None,
) -> Tally:
    """Compare, count and judge every case; only sums stay in memory.

    Where `known` has a batch already, nobody is asked again.
    """
    counter = CaseCounter(convention, plan.table)
    tally = Tally(plan.table)
    for number, batch in enumerate(batches):
        done = None if known is None else known(number)
        if done is None:
            judged = _judged(batch, plan, counter, panel)
        else:
            panel.gather(done.cases)
            judged = _again(batch, done, counter)
        _count(batch, judged, tally)
        for observe in observers:
            observe(judged)
    return tally


def _judged(batch: Sequence[Case], plan: Plan, counter: CaseCounter, panel: Panel) -> Judged:
    cases = [case for case in batch if case.input not in _LEFT_OUT]
    blocks = guarded(plan, cases)
    results = panel.judge_all(cases)
    scores = [case_score(each) for each in results]
    stats = [_stats(counter, *each) for each in zip(cases, blocks, scores, results, strict=True)]
    failed = [case for case in batch if case.input is CaseInput.FAILED]
    everyone = [case for case in batch if case.input is not CaseInput.INVALID_TRUTH]
    return Judged(Batch(cases, blocks, stats), results, scores, failed, everyone, _unread(batch))


def _unread(batch: Sequence[Case]) -> list[Case]:
    return [case for case in batch if case.input is CaseInput.INVALID_TRUTH]


def _again(cases: Sequence[Case], done: Remembered, counter: CaseCounter) -> Judged:
    """What was found out before, with the figures counted again."""
    rows = zip(done.cases, done.blocks, done.scores, done.results, strict=True)
    stats = [_stats(counter, *each) for each in rows]
    batch = Batch(done.cases, done.blocks, stats)
    return Judged(batch, done.results, done.scores, done.failed, done.all, _unread(cases))


def _stats(
    counter: CaseCounter,
    case: Case,
    block: Outcomes,
    score: Score,
    results: Sequence[EvaluatorResult],
) -> CaseStats:
    """The figures of a case, scored by its evaluators where it has some."""
    stats = counter.stats(block, unreadable=case.input is not CaseInput.OK)
    if not any(result.weight for result in results):
        return stats
    if score.status is Status.ERROR or stats.errors_count:
        errors = max(1, stats.errors_count)
        return stats._replace(score=None, verdict=None, errors_count=errors)
    return stats._replace(
        score=score.score,
        verdict=score.verdict,
        hits=len(score.hits),
        misses=len(score.misses),
        vacuous=score.vacuous,
    )


def _count(batch: Sequence[Case], judged: Judged, tally: Tally) -> None:
    for case, block, stats in zip(*judged.batch, strict=True):
        tally.add(block, stats, case.input)
    for _ in judged.failed:
        tally.add_failed()
    for _ in range(len(batch) - len(judged.batch.cases) - len(judged.failed)):
        tally.add_invalid_truth()
    # Scores differ from case to case, so cases that wait to be counted together only take room.
    tally.settle()


class EvaluatorTally:
    """What each evaluator said over all cases, by its name."""

    __slots__ = ("_errors", "_scores", "_verdicts")

    def __init__(self, names: Iterable[str]) -> None:
        self._scores = dict.fromkeys(names, ExactSum())
        self._errors = dict.fromkeys(self._scores, 0)
        self._verdicts = {name: dict.fromkeys(Verdict, 0) for name in self._scores}

    def __call__(self, judged: Judged) -> None:
        """Add finished cases."""
        for results in judged.results:
            for result in results:
                self._add(result.name, result.score)

    def _add(self, name: str, score: Score) -> None:
        if name not in self._scores:
            self._scores[name], self._errors[name] = ExactSum(), 0
            self._verdicts[name] = dict.fromkeys(Verdict, 0)
        if score.score is None:
            self._errors[name] += 1
            return
        self._scores[name] += ExactSum.of([(score.score, 1)])
        if score.verdict is not None:
            self._verdicts[name][score.verdict] += 1

    def summaries(
        self, figures: Mapping[str, JsonObject] | None = None
    ) -> dict[str, EvaluatorSummary]:
        """What each evaluator said, beside the figures that it has for all cases together."""
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
