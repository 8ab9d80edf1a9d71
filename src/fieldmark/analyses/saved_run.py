"""A saved run: open it, and compute its metrics again from its outcomes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Final, TypeAlias

from fieldmark.analyses.run_result import RunResult
from fieldmark.errors import ConfigError
from fieldmark.metrics.bootstrap import run_intervals
from fieldmark.metrics.case_sample import CaseSample
from fieldmark.metrics.case_score import CaseCounter, CaseStats
from fieldmark.metrics.confidence import ConfidenceTally
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.quality import quality
from fieldmark.metrics.summary import (
    BY_CASE_EVALUATOR,
    QUALITY_EVALUATOR,
    SAFETY_JUDGE,
    AppliedConvention,
    Resampling,
    RunIntervals,
    Summary,
    summarize,
)
from fieldmark.metrics.tally import Tally
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING, JsonObject
from fieldmark.model.kernel import unparsed
from fieldmark.model.outcomes import AttributeTable
from fieldmark.rules.rules_file import find_refused_rule
from fieldmark.runs.attribute_table import StoredAttributes
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.failed_cases import add_results
from fieldmark.runs.remote_runs import local_copy
from fieldmark.runs.run_options import resampling, restored_options
from fieldmark.runs.stored_run import StoredRun, open_run
from fieldmark.runs.warnings import with_confidence
from fieldmark.values.equality import equal

RunLike: TypeAlias = RunResult | StoredRun | str | Path
"""A run directory, or the result of a saved run."""

AttributeWeights: TypeAlias = Mapping[str, tuple[float, bool]]
"""The weights of attributes by path, and whether they are required."""

_JUDGED: Final = frozenset({SAFETY_JUDGE, QUALITY_EVALUATOR, BY_CASE_EVALUATOR})
"""The options of runs whose evaluators determine a part of the statistics of a case."""


def stored_run(run: RunLike) -> StoredRun:
    """Open a run; a result that was not saved is an error."""
    if isinstance(run, StoredRun):
        return run
    if isinstance(run, RunResult):
        if run.path is None:
            hint = "save it with fm.score(..., out=directory)"
            raise ConfigError.of("the run was not saved", hint=hint)
        run = run.path
    return open_run(local_copy(run))


def stored_rules(run: StoredRun) -> JsonObject | None:
    """Return the rules of a run, if it contains them.

    Runs are untrusted: rules that name a model or a file, as fieldmark never stores them, are not
    used.
    """
    rules = run.manifest.rules
    return None if rules is None or find_refused_rule(rules) is not None else rules


def attribute_weights(run: StoredRun) -> AttributeWeights:
    """Return the weights of the attributes of a run."""
    weights: dict[str, tuple[float, bool]] = {}
    for attribute in run.attributes.values():
        weights.setdefault(attribute.path, (attribute.weight, attribute.required))
    return weights


class RecountedRun:
    """The cases of a saved run, counted by its own convention or another.

    `weights` are the weights of another run. Runs that share a `table` number attributes equally.
    """

    __slots__ = (
        "_counter",
        "_is_judged",
        "attributes",
        "confidence",
        "convention",
        "failed",
        "run",
        "table",
        "tally",
    )

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
        rated = run.summary is not None and run.summary.confidence is not None
        self.confidence: ConfidenceTally | None = None
        if rated:
            self.confidence = ConfidenceTally()
        self.failed: set[str] = set()
        self._counter = CaseCounter(self.convention, self.table)
        self._is_judged = not _JUDGED.isdisjoint(run.manifest.convention.options)
        stored = dict(run.attributes)
        for number, attribute in stored.items():
            if weights and attribute.path in weights:
                weight, required = weights[attribute.path]
                stored[number] = replace(attribute, weight=weight, required=required)
        self.attributes = StoredAttributes(stored, self.table)

    def cases(self) -> Iterator[CaseResult]:
        """Yield the cases that did not fail in order, and collect the ids of others in `failed`.

        Their documents may be unparsed.
        """
        for case in self.all_cases(unparsed=True):
            if case.stats.failed:
                self.failed.add(case.id)
            else:
                yield case

    def all_cases(self, *, unparsed: bool = False) -> Iterator[CaseResult]:
        """Return all cases in order, counted again."""
        rows = self.run.rows(self.attributes, unparsed=unparsed, prepare=self.counted)
        return map(itemgetter(1), rows)

    def counted(self, case: CaseResult) -> CaseResult:
        """Count a case again."""
        case.stats, case.convention = self._recounted(case), self.convention
        return case

    def add(self, case: CaseResult) -> None:
        """Add a case to the totals of the run."""
        add_results(self.tally, [case])
        if self.confidence is not None and not case.stats.failed:
            self.confidence.add(case.outcomes, case.attributes, case.confidences)

    def summary(self, convention: AppliedConvention | None = None) -> Summary:
        """Return the metrics of all added cases, labeled with a convention."""
        applied = convention or self.run.manifest.convention
        summary = summarize(self.tally, self.convention, applied=applied)
        stored = self.run.summary
        if self.confidence is None or stored is None or stored.confidence is None:
            return summary
        return with_confidence(summary, self.confidence, stored.confidence.options)

    def _recounted(self, case: CaseResult) -> CaseStats:
        """Count a case again; what comes from evaluators does not change."""
        if case.case.input is CaseInput.FAILED:
            return case.stats
        unreadable = case.case.input is not CaseInput.OK
        if not (self._is_judged or case.evaluator_results):
            return self._counter.stats(case.outcomes, unreadable=unreadable)
        stored, options = case.stats, self.run.manifest.convention.options
        safety = stored.safety if SAFETY_JUDGE in options else None
        stats = self._counter.stats(case.outcomes, unreadable=unreadable, safety=safety)
        stats = stats._replace(failing=stored.failing)
        if SAFETY_JUDGE in options and stored.errors_count > stats.errors_count:
            # Safety could not be judged.
            stats = stats._replace(score=None, verdict=None, errors_count=stored.errors_count)
        if QUALITY_EVALUATOR in options:
            before, after = (
                quality(stored.quality, convention.counting, stored.safety).rqs
                for convention in (self.run.convention, self.convention)
            )
            # Without a candidate, or if a comparison failed, the score does not follow from the
            # formula.
            rqs = after if stored.rqs == before else stored.rqs
            stats = stats._replace(quality=stored.quality, safety=stored.safety, rqs=rqs)
        if BY_CASE_EVALUATOR in options:
            stats = stats._replace(
                precision=stored.precision,
                recall=stored.recall,
                f1=stored.f1,
                evaluator_rates=True,
            )
        if not any(result.weight for result in case.evaluator_results):
            return stats
        if case.score is None:
            return stats._replace(score=None, verdict=None, errors_count=max(1, stats.errors_count))
        return stats._replace(
            score=case.score,
            verdict=case.verdict,
            hits=stored.hits,
            misses=stored.misses,
            errors_count=stored.errors_count,
            vacuous=stored.vacuous,
        )


def paired_cases(
    runs: Sequence[Iterable[CaseResult]],
) -> Iterator[tuple[CaseResult | None, ...]]:
    """Yield the cases of several runs by id; a run that does not have a case gives `None`.

    Cases in the same order in all runs are not held in memory.
    """
    waiting: dict[str, list[deque[CaseResult]]] = {}
    for cases in zip_longest(*runs):
        ids = [None if case is None else case.case.id for case in cases]
        if ids.count(ids[0]) == len(ids):
            yield cases
            continue
        for index, case in enumerate(cases):
            if case is None:
                continue
            queues = waiting.setdefault(case.id, [deque() for _ in runs])
            queues[index].append(case)
            if all(queues):
                yield tuple(queue.popleft() for queue in queues)
                if not any(queues):
                    del waiting[case.id]
    for queues in waiting.values():
        yield from zip_longest(*queues)


def has_same_expected(first: CaseResult, second: CaseResult) -> bool:
    """Whether two cases have the same ground truth, as far as it was saved."""
    documents = [
        None if case.case.unparsed is None else unparsed(case.case.unparsed[0])
        for case in (first, second)
    ]
    texts = [None if document is None else document.canonical for document in documents]
    if texts[0] is not None and texts[0] == texts[1]:
        return True
    expected, second_expected = first.expected, second.expected
    return expected is MISSING or second_expected is MISSING or equal(expected, second_expected)


def stored_intervals(run: StoredRun) -> RunIntervals:
    """Compute the confidence intervals of a run that was saved without them."""
    recounted = RecountedRun(run)
    sample = CaseSample(recounted.table)
    for case in recounted.cases():
        recounted.add(case)
        if not case.stats.failed:
            sample.add(case.id, case.outcomes, case.stats)
    return run_intervals(
        sample, recounted.summary(), recounted.convention.counting, resampling_of(run)
    )


def resampling_of(run: StoredRun) -> Resampling:
    """Return how the cases of a run were resampled, or are if it has no intervals."""
    if run.summary is not None and run.summary.intervals is not None:
        return run.summary.intervals.resampling
    return resampling(restored_options(run.manifest.options or {}))
