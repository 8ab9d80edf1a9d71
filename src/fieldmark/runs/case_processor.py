"""Comparison and counting of cases, one segment at a time, in any process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fieldmark.errors import with_hint
from fieldmark.evaluators.base import EvaluatorResult, Score
from fieldmark.metrics.bootstrap import run_intervals
from fieldmark.metrics.case_sample import CaseSample, Threshold
from fieldmark.metrics.case_score import ERRORS_COUNT, CaseCounter
from fieldmark.metrics.completions import without_candidate
from fieldmark.metrics.confidence import ConfidenceTally, pooled_confidence
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.slices import SliceKey, check_slice_count
from fieldmark.metrics.summary import Summary, summarize
from fieldmark.metrics.tally import Tally
from fieldmark.model.case import Case, CaseInput, all_read
from fieldmark.model.outcomes import AttributeTable, Outcomes
from fieldmark.model.rule import Rules
from fieldmark.plan import Plan
from fieldmark.runs.case_result import (
    CaseColumns,
    CaseResult,
    CaseResults,
    case_columns,
    with_confidences,
)
from fieldmark.runs.error_boundary import compare_cases
from fieldmark.runs.failed_cases import add_results
from fieldmark.runs.warnings import CaseWarnings
from fieldmark.values.text import did_you_mean

if TYPE_CHECKING:
    from fieldmark.runs.error_boundary import SafetyRunner

SEGMENT: Final = 512
"""The maximum number of cases that are compared, written and counted together."""
_SEGMENT_BYTES: Final = 1 << 20
"""The approximate size of a segment as JSON; Python objects take about eight times as much."""
_SLICE_SAMPLED: Final = 256
"""The maximum size of the sample of a slice."""


def segment_size(case_bytes: int) -> int:
    """Return how many cases of about this size fit in a segment, which is held in memory.

    >>> segment_size(1_000), segment_size(100_000), segment_size(10**9)
    (512, 10, 1)
    """
    return max(1, min(SEGMENT, _SEGMENT_BYTES // max(1, case_bytes)))


def segments(batches: Iterable[Sequence[Case]], size: int = SEGMENT) -> Iterator[list[Case]]:
    """Yield the same cases in lists of this size; only the last one may be shorter.

    >>> cases = [Case(name, 1) for name in "abcde"]
    >>> [len(segment) for segment in segments([cases[:4], cases[4:]], size=2)]
    [2, 2, 1]
    """
    waiting: list[Case] = []
    for batch in batches:
        waiting += batch
        start = 0
        while len(waiting) - start >= size:
            yield waiting[start : start + size]
            start += size
        del waiting[:start]
    if waiting:
        yield waiting


def split_unreadable(segment: list[Case]) -> tuple[list[Case], list[Case]]:
    """Return the cases with valid ground truth, and the cases with invalid ground truth."""
    if all_read(segment):
        return segment, []
    unreadable = [case for case in segment if case.input is CaseInput.INVALID_TRUTH]
    return [case for case in segment if case.input is not CaseInput.INVALID_TRUTH], unreadable


class CaseProcessor:
    """Turns cases into results with one convention.

    `own` contains the plans of single cases by id; all other cases use the shared plan. All plans
    share one attribute table. `safety` judges the predictions, if they are judged. With
    `confidences`, results have the confidences of their fields.
    """

    __slots__ = ("_confidences", "_convention", "_counter", "_own", "_safety", "plan")

    def __init__(
        self,
        plan: Plan,
        convention: Convention,
        own: Mapping[str, Plan] | None = None,
        safety: SafetyRunner | None = None,
        *,
        confidences: bool = False,
    ) -> None:
        self.plan = plan
        self._confidences = confidences
        self._safety = safety
        self._own = own or {}
        self._convention = convention
        self._counter = CaseCounter(convention, plan.table)

    def process(self, cases: Sequence[Case]) -> Sequence[CaseResult]:
        """Compare and count cases with valid ground truth."""
        results = self._process(cases)
        if self._confidences:
            results = list(map(with_confidences, results))
        if self._safety is None:
            return results
        judged = self._safety.judge(cases)
        return [
            result if safety is None else self._with_safety(result, safety)
            for result, safety in zip(results, judged, strict=True)
        ]

    def _with_safety(self, result: CaseResult, safety: EvaluatorResult) -> CaseResult:
        """Return the result with its safety; if it could not be judged, the case is an error."""
        stats = result.stats
        if safety.score.score is None:
            errors = max(1, stats.errors_count)
            stats = stats._replace(score=None, verdict=None, errors_count=errors)
        else:
            stats = self._counter.stats(result.outcomes, safety=safety.score.score)
            stats = stats._replace(failing=safety.score.failing)
        return replace(result, stats=stats, evaluator_results=(safety,))

    def _process(self, cases: Sequence[Case]) -> Sequence[CaseResult]:
        table, convention = self.plan.table, self._convention
        if all_read(cases):
            outcomes = self._compare(cases)
            columns = CaseColumns(cases, outcomes, self._counter.all(outcomes))
            return CaseResults(columns, table, convention)
        results: list[CaseResult] = []
        for case, own in zip(cases, self._compare(cases), strict=True):
            if case.input is CaseInput.FAILED:
                results.append(self._failed(case, own))
            else:
                counted = self._counter.stats(own, unreadable=case.input is not CaseInput.OK)
                results.append(CaseResult(case, own, counted, table, convention))
        return results

    def _failed(self, case: Case, outcomes: Outcomes) -> CaseResult:
        """Return the result of a case whose target failed: all its fields did."""
        failed = without_candidate(outcomes)
        stats = self._counter.stats(failed)
        stats = stats._replace(
            score=None, verdict=None, errors_count=max(1, stats.errors_count), vacuous=False
        )
        error = Score.error(case.note)
        return CaseResult(case, failed, stats, self.plan.table, self._convention, overall=error)

    def _compare(self, cases: Sequence[Case]) -> Sequence[Outcomes]:
        """Compare each case with its plan, all cases of a plan together."""
        if not self._own:
            return compare_cases(self.plan, cases)
        by_plan: dict[int, tuple[Plan, list[Case]]] = {}
        for case in cases:
            plan = self._own.get(case.id, self.plan)
            by_plan.setdefault(id(plan), (plan, []))[1].append(case)
        compared = {key: iter(compare_cases(*group)) for key, group in by_plan.items()}
        return [next(compared[id(self._own.get(case.id, self.plan))]) for case in cases]


class GroupTotals:
    """The sums over some cases, and a sample of them for confidence intervals."""

    __slots__ = ("confidence", "sample", "tally")

    def __init__(
        self,
        table: AttributeTable,
        *,
        sampled: bool,
        threshold: Threshold | None = None,
        confidence: ConfidenceTally | None = None,
    ) -> None:
        self.tally = Tally(table)
        self.confidence = confidence
        self.sample = CaseSample(table, threshold=threshold) if sampled else None

    def add(
        self,
        results: Sequence[CaseResult],
        unreadable: Sequence[Case] = (),
        *,
        has_errors: bool | None = None,
    ) -> None:
        """Add results, and `unreadable` cases with invalid ground truth.

        `has_errors` says whether some of the results have errors, if this is known.
        """
        tally = self.tally
        for _ in unreadable:
            tally.add_invalid_truth()
        columns = case_columns(results)
        if has_errors is None:
            has_errors = any(map(ERRORS_COUNT, columns.stats))
        if all_read(columns.cases) and not has_errors:
            tally.add_all(columns.outcomes, columns.stats)
        else:
            add_results(tally, results)
            results = [result for result in results if not result.stats.failed]
            columns = case_columns(results)
        if self.confidence is not None:
            for result in results:
                self.confidence.add(result.outcomes, result.attributes, result.confidences)
        if self.sample is not None:
            ids = [case.id for case in columns.cases]
            self.sample.add_all(ids, columns.outcomes, columns.stats)

    def merge(self, other: GroupTotals) -> None:
        """Add the totals of other cases."""
        self.tally.merge(other.tally)
        if self.confidence is not None and other.confidence is not None:
            self.confidence.merge(other.confidence)
        if self.sample is not None and other.sample is not None:
            self.sample.merge(other.sample)


class SliceTotals:
    """The totals of each slice of the cases by the given keys, by name."""

    __slots__ = ("_confidences", "_keys", "_sampled", "_table", "slices")

    def __init__(
        self,
        table: AttributeTable,
        keys: Sequence[SliceKey],
        *,
        sampled: bool,
        confidences: bool = False,
    ) -> None:
        self._table = table
        self._keys = keys
        self._sampled = sampled
        self._confidences = confidences
        self.slices: dict[str, GroupTotals] = {}

    def add(self, results: Sequence[CaseResult], unreadable: Sequence[Case]) -> None:
        """Add cases to their slices."""
        members: dict[str, tuple[list[CaseResult], list[Case]]] = {}
        for result in results:
            for name in self._names(result.case):
                members.setdefault(name, ([], []))[0].append(result)
        for case in unreadable:
            for name in self._names(case):
                members.setdefault(name, ([], []))[1].append(case)
        for name, (own, invalid) in members.items():
            totals = self.totals(name)
            totals.add(own, invalid)
            totals.tally.settle()  # so that memory does not grow with the number of slices

    def merge(self, other: SliceTotals) -> None:
        """Add the slices of the next part of the run."""
        for name, totals in other.slices.items():
            self.totals(name).merge(totals)

    def summaries(self, summary: Summary, convention: Convention) -> dict[str, Summary]:
        """Return the metrics of each slice of a run, with intervals if the run has them.

        Slices are in the order of the keys, then by name.
        """
        summaries: dict[str, Summary] = {}
        for key in self._keys:
            for name in sorted(
                slice_name for slice_name in self.slices if slice_name.startswith(f"{key.text}=")
            ):
                totals = self.slices[name]
                own = summarize(totals.tally, convention, applied=summary.convention)
                if totals.sample is not None and summary.intervals is not None:
                    resampling = summary.intervals.resampling
                    intervals = run_intervals(totals.sample, own, convention.counting, resampling)
                    own = replace(own, intervals=intervals)
                if totals.confidence is not None and summary.confidence is not None:
                    confidence = pooled_confidence(totals.confidence, summary.confidence.options)
                    own = replace(own, confidence=confidence)
                summaries[name] = own
        return summaries

    def warnings(self, attributes: Sequence[str]) -> Iterator[str]:
        """Yield a warning for each key that no case has, with the most similar attribute."""
        for key in self._keys:
            names = {name for name in self.slices if name.startswith(f"{key.text}=")}
            if names == {f"{key.text}="}:
                similar = did_you_mean(key.text, [] if key.in_metadata else attributes)
                yield with_hint(f"no case has a value to slice by {key.text!r}", similar)

    def _names(self, case: Case) -> Iterator[str]:
        for key in self._keys:
            yield from key.names(case)

    def totals(self, name: str) -> GroupTotals:
        """Return the totals of a slice, which is added if it is new."""
        totals = self.slices.get(name)
        if totals is None:
            threshold = Threshold(_SLICE_SAMPLED) if self._sampled else None
            confidence = ConfidenceTally(by_attribute=False) if self._confidences else None
            totals = GroupTotals(
                self._table, sampled=self._sampled, threshold=threshold, confidence=confidence
            )
            self.slices[name] = totals

            check_slice_count(self.slices, self._keys)
        return totals


class RunTotals(GroupTotals):
    """Everything that is summed over cases; the totals of two parts of a run can be merged.

    The cases are also grouped into slices if there are keys for them.
    """

    __slots__ = ("slices", "warnings")

    def __init__(
        self,
        table: AttributeTable,
        *,
        values: bool,
        sampled: bool,
        threshold: Threshold | None = None,
        rule_sets: Sequence[Rules] = (),
        by: Sequence[SliceKey] = (),
        confidences: bool = False,
    ) -> None:
        confidence = ConfidenceTally() if confidences else None
        super().__init__(table, sampled=sampled, threshold=threshold, confidence=confidence)
        self.warnings = CaseWarnings(values=values, rule_sets=rule_sets)
        self.slices = (
            SliceTotals(table, by, sampled=sampled, confidences=confidences) if by else None
        )

    def add(
        self,
        results: Sequence[CaseResult],
        unreadable: Sequence[Case] = (),
        *,
        has_errors: bool | None = None,
    ) -> None:
        """Add results, and `unreadable` cases with invalid ground truth."""
        if has_errors is None:
            has_errors = any(map(ERRORS_COUNT, case_columns(results).stats))
        self.warnings.add(results, unreadable, has_errors=has_errors)
        self.count(results, unreadable, has_errors=has_errors)

    def count(
        self,
        results: Sequence[CaseResult],
        unreadable: Sequence[Case] = (),
        *,
        has_errors: bool | None = None,
    ) -> None:
        """Add results without looking for warnings."""
        super().add(results, unreadable, has_errors=has_errors)
        if self.slices is not None:
            self.slices.add(results, unreadable)

    def merge(self, other: GroupTotals) -> None:
        """Add the totals of the next part of the run."""
        super().merge(other)
        if isinstance(other, RunTotals):
            self.warnings.merge(other.warnings)
            if self.slices is not None and other.slices is not None:
                self.slices.merge(other.slices)
