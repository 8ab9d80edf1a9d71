"""Stored runs, counted again: their outcomes under a convention become figures once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from fieldmark.errors import ConfigError
from fieldmark.metrics.bootstrap import run_intervals
from fieldmark.metrics.case_sample import CaseSample
from fieldmark.metrics.case_score import CaseCounter, CaseStats
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.summary import AppliedConvention, RunIntervals, Summary, summarise
from fieldmark.metrics.tally import Tally
from fieldmark.model.case import CaseInput
from fieldmark.model.outcomes import AttributeTable
from fieldmark.model.rule import Depth, Rules
from fieldmark.run.run_result import RunResult
from fieldmark.store.run_reader import StoredRun, open_run
from fieldmark.wire.attributes import StoredAttributes
from fieldmark.wire.case_result import CaseResult

__all__ = [
    "AttributeWeights",
    "RecountedRun",
    "RunLike",
    "attribute_weights",
    "stored_intervals",
    "stored_run",
]

RunLike: TypeAlias = "RunResult | StoredRun | str | Path"
"""A run as callers name it: its folder, or what `score` returned if it was saved."""

AttributeWeights: TypeAlias = Mapping[str, tuple[float, bool]]
"""The weight of attributes by path, and whether they are required."""


def stored_run(run: RunLike) -> StoredRun:
    """The run that a caller names; one that was not saved is refused."""
    if isinstance(run, StoredRun):
        return run
    if isinstance(run, RunResult):
        if run.path is None:
            hint = "Keep its results: fm.score(..., out=folder)."
            raise ConfigError.of("The run was not kept.", hint=hint)
        run = run.path
    return open_run(run)


def attribute_weights(run: StoredRun) -> AttributeWeights:
    """The weights that attributes have in a run."""
    found: dict[str, tuple[float, bool]] = {}
    for attribute in run.attributes.values():
        found.setdefault(attribute.path, (attribute.weight, attribute.required))
    return found


class RecountedRun:
    """The cases of a stored run, counted under its own convention or another.

    `weights` gives attributes the weights that they have in another run. Runs that share a `table`
    have the same numbers for the same attributes.
    """

    __slots__ = ("_attributes", "_counter", "convention", "failed", "run", "table", "tally")

    def __init__(
        self,
        run: StoredRun,
        convention: Convention | None = None,
        weights: AttributeWeights | None = None,
        table: AttributeTable | None = None,
    ) -> None:
        self.run = run
        self.convention = convention or run.convention
        self.table = AttributeTable() if table is None else table
        self.tally = Tally(self.table)
        self.failed: set[str] = set()
        self._counter = CaseCounter(self.convention, self.table)
        stored = dict(run.attributes)
        for number, attribute in stored.items():
            if weights and attribute.path in weights:
                weight, required = weights[attribute.path]
                stored[number] = replace(attribute, weight=weight, required=required)
        self._attributes = StoredAttributes(stored, self.table)

    def cases(self) -> Iterator[CaseResult]:
        """Every case that was compared, in order; `failed` names those that could not be."""
        for case in self.all_cases():
            if case.case.input is CaseInput.FAILED:
                self.failed.add(case.id)
            else:
                yield case

    def all_cases(self) -> Iterator[CaseResult]:
        """Every case in order, with its figures counted again."""
        for _, case in self.run.rows(self._attributes):
            if case.case.input is not CaseInput.FAILED:
                case.stats, case.convention = self._recounted(case), self.convention
            yield case

    def add(self, case: CaseResult) -> None:
        """Count a case in the totals of the run."""
        self.tally.add(case.outcomes, case.stats, case.case.input)

    def summary(self, convention: AppliedConvention | None = None) -> Summary:
        """Every figure of the cases that were added, under the run's convention or another."""
        applied = convention or self.run.manifest.convention
        depth = Depth(str(applied.options.get("depth", Depth.LEAF)))
        summary = summarise(self.tally, self.convention, rules=Rules(depth=depth))
        return replace(summary, convention=applied)

    def _recounted(self, case: CaseResult) -> CaseStats:
        """The figures of a case; a score that evaluators gave stays as it is."""
        unreadable = case.case.input is not CaseInput.OK
        stats = self._counter.stats(case.outcomes, unreadable=unreadable)
        if not any(result.weight for result in case.evaluator_results):
            return stats
        if case.score is None:
            return stats._replace(score=None, verdict=None, errors_count=max(1, stats.errors_count))
        return stats._replace(
            score=case.score,
            verdict=case.verdict,
            hits=case.stats.hits,
            misses=case.stats.misses,
        )


def stored_intervals(run: StoredRun) -> RunIntervals:
    """Confidence intervals around the figures of a run that was stored without them."""
    recounted = RecountedRun(run)
    sample = CaseSample(recounted.table)
    for case in recounted.cases():
        recounted.add(case)
        sample.add(case.id, case.outcomes, case.stats)
    return run_intervals(sample, recounted.summary(), recounted.convention.counting)
