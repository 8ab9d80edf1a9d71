"""Compare two JSON values."""

from __future__ import annotations

from collections.abc import Mapping

from fieldmark.api.case_result import CaseResult
from fieldmark.api.settings import RulesLike, Settings, settle
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.model.case import Case
from fieldmark.model.json import JsonValue
from fieldmark.plan import compile_plan

__all__ = ["compare"]


def compare(
    expected: JsonValue,
    candidate: JsonValue,
    *,
    rules: RulesLike = None,
    convention: str = "confusion",
    options: Mapping[str, JsonValue] | None = None,
) -> CaseResult:
    """Compare a candidate with the truth, field by field.

    >>> import fieldmark as fm
    >>> fm.compare({"total": 100.0}, {"total": 100.02}, rules={
    ...     "total": {"match": "numeric_tolerance", "tolerance": 0.05}}).score
    1.0
    """
    return compare_under(settle(rules, convention=convention, options=options), expected, candidate)


def compare_under(settings: Settings, expected: JsonValue, candidate: JsonValue) -> CaseResult:
    """Compare one pair under settings that were made before."""
    plan = compile_plan(settings.rules)
    block = plan.compare(expected, candidate)
    stats = CaseCounter(settings.convention, plan.table).stats(block)
    return CaseResult(Case("1", expected, candidate), block, stats, plan.table, settings.convention)
