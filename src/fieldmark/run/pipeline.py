"""Read, pair, compare, count, write: one pass over any number of cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from fieldmark.metrics.case_score import CaseCounter, CaseStats
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.tally import Tally
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.outcomes import Outcomes
from fieldmark.plan import Plan
from fieldmark.run.guard import guarded

__all__ = ["Batch", "Known", "Watcher", "run_cases"]


_READ: Final = frozenset({CaseInput.OK})


class Batch(NamedTuple):
    """Some finished cases with their outcomes and their figures, in step."""

    cases: Sequence[Case]
    blocks: Sequence[Outcomes]
    stats: Sequence[CaseStats]


Known: TypeAlias = Callable[[int, Sequence[Case]], "Sequence[Outcomes] | None"]
"""Gives the outcomes of a batch, by its number and its cases, if they are known."""

Watcher: TypeAlias = Callable[[Batch], None]
"""Is shown every finished batch: writes results, moves a progress bar."""


def run_cases(
    batches: Iterable[Sequence[Case]],
    plan: Plan,
    convention: Convention,
    watchers: Sequence[Watcher] = (),
    *,
    known: Known | None = None,
    counter: CaseCounter | None = None,
) -> Tally:
    """Compare and count every case; only the sums stay in memory.

    Where `known` has the outcomes of a batch already, they are not found out again. A `counter`
    that served before, with the same plan and convention, knows the figures of many cases.
    """
    counter = CaseCounter(convention, plan.table) if counter is None else counter
    tally = Tally(plan.table)
    for number, batch in enumerate(batches):
        cases = _scorable(batch, tally)
        done = None if known is None else known(number, cases)
        blocks = guarded(plan, cases) if done is None else done
        if {case.input for case in cases} <= _READ:
            stats = counter.all(blocks)
            tally.add_all(blocks, stats)
        else:
            stats = [_count(counter, tally, *each) for each in zip(cases, blocks, strict=True)]
        for watch in watchers:
            watch(Batch(cases, blocks, stats))
    return tally


def _count(counter: CaseCounter, tally: Tally, case: Case, block: Outcomes) -> CaseStats:
    """Count one case of a batch in which some candidate could not be read."""
    stats = counter.stats(block, unreadable=case.input is not CaseInput.OK)
    tally.add(block, stats, case.input)
    return stats


def _scorable(batch: Sequence[Case], tally: Tally) -> Sequence[Case]:
    """The cases whose truth can be read; the others are counted and left out."""
    inputs = {case.input for case in batch}
    if CaseInput.INVALID_TRUTH not in inputs:
        return batch
    kept = [case for case in batch if case.input is not CaseInput.INVALID_TRUTH]
    for _ in range(len(batch) - len(kept)):
        tally.add_invalid_truth()
    return kept
