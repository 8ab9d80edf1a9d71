"""What cases add up to, apart from their cells: records of whole numbers that join with `+`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from fieldmark.metrics.averages import ExactSum, MacroSums
from fieldmark.metrics.case_score import CaseStats
from fieldmark.model.case import CaseInput, Verdict

__all__ = ["CaseTotals", "RunSums", "VerdictCounts", "f1_in_a_mean"]

CountedStats: TypeAlias = tuple[CaseStats, int]
"""The figures of a case, and how many cases have them."""


class CaseTotals(NamedTuple):
    """How many cases there were and what became of them.

    `total` counts the rows of the truth; `unexpected` are candidates beside these.
    """

    total: int = 0
    scored: int = 0
    perfect: int = 0
    errors: int = 0
    missing: int = 0
    unparseable: int = 0
    invalid_truth: int = 0
    unexpected: int = 0

    def __add__(self, other: object) -> CaseTotals:
        if not isinstance(other, CaseTotals):
            return NotImplemented
        return CaseTotals(*(one + two for one, two in zip(self, other, strict=True)))

    @classmethod
    def of_input(cls, read: CaseInput) -> CaseTotals:
        """What the input of one case adds, beside its figures."""
        return cls(
            missing=int(read is CaseInput.MISSING),
            unparseable=int(read is CaseInput.PARSE_ERROR),
            invalid_truth=int(read is CaseInput.INVALID_TRUTH),
        )


class VerdictCounts(NamedTuple):
    """How many cases passed, partly passed and failed."""

    passed: int = 0
    partial: int = 0
    failed: int = 0

    def __add__(self, other: object) -> VerdictCounts:
        if not isinstance(other, VerdictCounts):
            return NotImplemented
        return VerdictCounts(*(one + two for one, two in zip(self, other, strict=True)))


class RunSums(NamedTuple):
    """All sums over cases; `+` joins two parts of a run."""

    cases: CaseTotals = CaseTotals()
    verdicts: VerdictCounts = VerdictCounts()
    scores: ExactSum = ExactSum()
    by_case: MacroSums = MacroSums()
    safety: ExactSum = ExactSum()
    consistency: ExactSum = ExactSum()

    def __add__(self, other: object) -> RunSums:
        if not isinstance(other, RunSums):
            return NotImplemented
        return RunSums(
            self.cases + other.cases,
            self.verdicts + other.verdicts,
            self.scores + other.scores,
            self.by_case + other.by_case,
            self.safety + other.safety,
            self.consistency + other.consistency,
        )

    @classmethod
    def of(cls, counted: Sequence[CountedStats]) -> RunSums:
        """The sums over some cases; one without a score stays out of every mean by case."""
        scored = [(stats, times) for stats, times in counted if stats.score is not None]
        return cls(
            cases=CaseTotals(
                total=_number(counted),
                scored=_number(scored),
                perfect=_number(each for each in scored if _is_perfect(each[0])),
                errors=_number(each for each in counted if each[0].errors_count),
            ),
            verdicts=VerdictCounts(*(_verdicts(counted, verdict) for verdict in Verdict)),
            scores=_sum((stats.score, times) for stats, times in scored),
            by_case=_by_case(scored),
            safety=_sum((stats.safety, times) for stats, times in counted),
        )


def _by_case(scored: Sequence[CountedStats]) -> MacroSums:
    return MacroSums(
        _sum((stats.precision, times) for stats, times in scored),
        _sum((stats.recall, times) for stats, times in scored),
        _sum((f1_in_a_mean(stats), times) for stats, times in scored),
    )


def f1_in_a_mean(stats: CaseStats) -> float | None:
    """An undefined F1 is 0 where something was missed or invented, and left out elsewhere."""
    if stats.f1 is None and (stats.counts.fp or stats.counts.fn):
        return 0.0
    return stats.f1


def _is_perfect(stats: CaseStats) -> bool:
    return not stats.misses and not stats.errors_count and stats.verdict is not Verdict.FAIL


def _number(counted: Iterable[CountedStats]) -> int:
    return sum(times for _, times in counted)


def _verdicts(counted: Sequence[CountedStats], verdict: Verdict) -> int:
    return sum(times for stats, times in counted if stats.verdict is verdict)


def _sum(values: Iterable[tuple[float | None, int]]) -> ExactSum:
    """The sum of the defined values; equal ones are put together first, for many are equal."""
    times_of: dict[float, int] = {}
    for value, times in values:
        if value is not None:
            times_of[value] = times_of.get(value, 0) + times
    return ExactSum.of(times_of.items())
