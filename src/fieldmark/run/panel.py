"""The evaluators of a run at work: each case goes to all of them, and every answer is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
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
    dataset_figures,
    start_accumulators,
)
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.json import JsonObject
from fieldmark.run.guard import guarded_score

__all__ = ["Panel", "open_panel", "unready_judges"]

_Asked: TypeAlias = Callable[[], Score]


class Panel:
    """Scores cases with all of their evaluators; judges are asked side by side.

    `own` are the evaluators of single cases, by id; all other cases get those of the file.
    """

    __slots__ = ("_gathering", "_judging", "_members", "_own", "_pool")

    def __init__(
        self,
        members: Sequence[ConfiguredEvaluator],
        own: Mapping[str, Sequence[ConfiguredEvaluator]],
        judging: Mapping[int, CaseScorer],
        pool: ThreadPoolExecutor | None,
    ) -> None:
        self._members = members
        self._own = own
        self._judging = judging
        self._pool = pool
        self._gathering: Accumulators = start_accumulators(_all(members, own))

    @property
    def asks_judges(self) -> bool:
        """Whether someone outside is asked, who may take time."""
        return bool(self._judging)

    @property
    def gathers(self) -> bool:
        """Whether some evaluator has figures for all cases together."""
        return bool(self._gathering)

    def figures(self) -> dict[str, JsonObject]:
        """The figures for all cases so far, by the names of the evaluators that have some."""
        return dataset_figures(_all(self._members, self._own), self._gathering)

    def gather(self, cases: Iterable[Case]) -> None:
        """Take in cases whose scores are known already, for the figures of all cases."""
        for case in cases if self._gathering else ():
            for place in _places(self.members_of(case), self._gathering):
                guarded_score("", partial(_added, place, case))

    def judge_all(self, cases: Sequence[Case]) -> list[tuple[EvaluatorResult, ...]]:
        """What every evaluator says of some cases, in their order and in that of the evaluators."""
        asked = [[self._ask(member, case) for member in self.members_of(case)] for case in cases]
        return [
            tuple(
                EvaluatorResult.of(member, answer())
                for member, answer in zip(self.members_of(case), answers, strict=True)
            )
            for case, answers in zip(cases, asked, strict=True)
        ]

    def members_of(self, case: Case) -> Sequence[ConfiguredEvaluator]:
        """The evaluators of a case."""
        return self._own.get(case.id, self._members)

    def _ask(self, member: ConfiguredEvaluator, case: Case) -> _Asked:
        """Start whatever takes its time; the rest is done when the answer is wanted."""
        evaluator = member.evaluator
        judging = self._judging.get(id(evaluator))
        if judging is not None:
            return self._started(member, judging, case)
        place = self._gathering.get(id(evaluator))
        if place is not None:
            return lambda: guarded_score(member.name, lambda: _added(place, case))
        if hasattr(evaluator, "combine"):
            return self._combined(member, cast("Combiner", evaluator), case)
        return lambda: guarded_score(
            member.name, lambda: _scored(cast("Evaluator", evaluator), case)
        )

    def _started(self, member: ConfiguredEvaluator, judging: CaseScorer, case: Case) -> _Asked:
        def ask() -> Score:
            return guarded_score(member.name, lambda: judging(case))

        if self._pool is None:
            return ask
        future: Future[Score] = self._pool.submit(ask)
        return future.result

    def _combined(self, member: ConfiguredEvaluator, combiner: Combiner, case: Case) -> _Asked:
        parts = [(part, self._ask(part, case)) for part in combiner.evaluators]

        def combine() -> Score:
            results = [EvaluatorResult.of(part, answer()) for part, answer in parts]
            return guarded_score(member.name, lambda: combiner.combine(results))

        return combine


@contextmanager
def open_panel(
    members: Sequence[ConfiguredEvaluator],
    own: Mapping[str, Sequence[ConfiguredEvaluator]] | None = None,
    *,
    concurrency: int = 1,
) -> Iterator[Panel]:
    """Start all judges, and end them when the run is over."""
    own = own or {}
    judges = _judges(_all(members, own))
    with ExitStack() as stack:
        once = {id(judge): judge for _, judge in judges}
        pool = ThreadPoolExecutor(max(1, concurrency), "judge") if once else None
        if pool is not None:
            # Left after the judges, who end what a run that was broken off still waits for.
            stack.callback(pool.shutdown, cancel_futures=True)
        judging = {key: stack.enter_context(judge.opened()) for key, judge in once.items()}
        yield Panel(members, own, judging, pool)


def _all(
    members: Sequence[ConfiguredEvaluator], own: Mapping[str, Sequence[ConfiguredEvaluator]]
) -> list[ConfiguredEvaluator]:
    return [*members, *(member for each in own.values() for member in each)]


def _places(
    members: Iterable[ConfiguredEvaluator], gathering: Accumulators
) -> Iterator[Accumulator]:
    """Where a case with these evaluators is gathered, those inside of combiners included."""
    for member in members:
        place = gathering.get(id(member.evaluator))
        if place is not None:
            yield place
        elif hasattr(member.evaluator, "combine"):
            yield from _places(cast("Combiner", member.evaluator).evaluators, gathering)


def _added(place: Accumulator, case: Case) -> Score:
    return place.add(case.expected, case.candidate, unreadable=case.input is not CaseInput.OK)


def _judges(members: Sequence[ConfiguredEvaluator], above: str = "") -> Iterator[tuple[str, Judge]]:
    """All judges with their names, those inside of combiners too; names may repeat."""
    for member in members:
        evaluator = member.evaluator
        if hasattr(evaluator, "opened"):
            yield f"{above}{member.name}", cast("Judge", evaluator)
        elif hasattr(evaluator, "combine"):
            inner = cast("Combiner", evaluator).evaluators
            yield from _judges(inner, f"{above}{member.name}.")


def unready_judges(members: Sequence[ConfiguredEvaluator]) -> list[Problem]:
    """Why judges could not judge a single case, found out before the first."""
    complaints = ((name, judge.unready()) for name, judge in _judges(members))
    return [Problem(f"{name}: {reason}") for name, reason in complaints if reason]


def _scored(evaluator: Evaluator, case: Case) -> Score:
    unreadable = case.input is not CaseInput.OK
    return evaluator.evaluate(case.expected, case.candidate, unreadable=unreadable)
