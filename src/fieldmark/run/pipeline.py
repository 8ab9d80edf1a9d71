"""Read, pair, compare, count, write: one pass over any number of cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from fieldmark.metrics.case_score import CaseCounter, CaseStats
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.tally import Tally
from fieldmark.model.block import OutcomeBlock
from fieldmark.model.case import Case, CaseInput
from fieldmark.plan import Plan
from fieldmark.run.guard import guarded

__all__ = ["Watcher", "run_cases"]


class Watcher(Protocol):
    """Is shown every finished batch: writes results, moves a progress bar."""

    def __call__(
        self, cases: Sequence[Case], blocks: Sequence[OutcomeBlock], stats: Sequence[CaseStats]
    ) -> None:
        """Take note of cases, their outcomes and their figures, in step."""
        ...


def run_cases(
    batches: Iterable[Sequence[Case]],
    plan: Plan,
    convention: Convention,
    watchers: Sequence[Watcher] = (),
) -> Tally:
    """Compare and count every case; only the sums stay in memory."""
    counter = CaseCounter(convention, plan.table)
    tally = Tally(plan.table)
    for batch in batches:
        cases = _scorable(batch, tally)
        blocks = guarded(plan, cases)
        stats = [
            counter.stats(block, unreadable=case.input is not CaseInput.OK)
            for case, block in zip(cases, blocks, strict=True)
        ]
        for case, block, figures in zip(cases, blocks, stats, strict=True):
            tally.add(block, figures, case.input)
        for watch in watchers:
            watch(cases, blocks, stats)
    return tally


def _scorable(batch: Sequence[Case], tally: Tally) -> Sequence[Case]:
    """The cases whose truth can be read; the others are counted and left out."""
    kept = [case for case in batch if case.input is not CaseInput.INVALID_TRUTH]
    for _ in range(len(batch) - len(kept)):
        tally.add_invalid_truth()
    return kept
