"""A tally read under a convention becomes a summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fieldmark.metrics import rates
from fieldmark.metrics.averages import MacroMean, macro_mean
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.counts import Histogram, cost_table, total
from fieldmark.metrics.gate import Gate, check_gates
from fieldmark.metrics.options import CountingHalf
from fieldmark.metrics.quality import bucket_table, quality, quality_counts
from fieldmark.metrics.summary import (
    AttributeSummary,
    ConventionStamp,
    EvaluatorSummary,
    Macro,
    Micro,
    QualitySummary,
    Summary,
)
from fieldmark.metrics.sums import RunSums
from fieldmark.metrics.tally import FactsByPath, Tally
from fieldmark.metrics.taxonomy import errors_by_type
from fieldmark.model.counts import Counts
from fieldmark.model.outcome import FACTS, Outcome
from fieldmark.model.rule import Rules

__all__ = ["stamp", "summarise", "with_gates"]


def summarise(
    tally: Tally,
    convention: Convention,
    *,
    rules: Rules | None = None,
    evaluators: Mapping[str, EvaluatorSummary] | None = None,
    warnings: Sequence[str] = (),
) -> Summary:
    """Every figure of a run from its sums."""
    rules = Rules() if rules is None else rules
    counting = convention.counting
    facts, sums = tally.facts(), tally.sums()
    pooled = _pool(facts.values())
    attributes = _attributes(facts, counting)
    return Summary(
        convention=stamp(convention, rules),
        cases=sums.cases,
        verdicts=sums.verdicts,
        micro=_micro(pooled, counting),
        macro=_macro(attributes.values(), sums, counting),
        mean_score=sums.scores.mean,
        consistency=sums.consistency.mean,
        attributes=attributes,
        errors_by_type=errors_by_type(pooled),
        quality=_quality(pooled, sums, convention, rules),
        evaluators=dict(evaluators or {}),
        warnings=tuple(warnings),
    )


def with_gates(summary: Summary, gates: Sequence[Gate]) -> Summary:
    """The same summary with every gate checked against it."""
    return replace(summary, gates=check_gates(gates, summary.to_dict()))


def stamp(convention: Convention, rules: Rules) -> ConventionStamp:
    """Which reading figures come from."""
    return ConventionStamp(
        name=convention.name,
        version=convention.version,
        options=convention.options(rules),
        comparison_sha256=convention.comparison_sha256(rules),
        counting_sha256=convention.counting_sha256(rules),
    )


def _pool(parts: Iterable[Histogram]) -> Histogram:
    pooled: dict[int, int] = {}
    for facts in parts:
        for fact, times in facts.items():
            pooled[fact] = pooled.get(fact, 0) + times
    return pooled


def _micro(facts: Histogram, counting: CountingHalf) -> Micro:
    counts = total(facts, cost_table(counting))
    figures = rates.rates(counts, counting.zero)
    return Micro(**counts._asdict(), **figures._asdict())


def _attributes(facts: FactsByPath, counting: CountingHalf) -> dict[str, AttributeSummary]:
    costs = cost_table(counting)
    return {path: _attribute(own, costs, counting) for path, own in facts.items()}


def _attribute(
    facts: Histogram, costs: tuple[Counts, ...], counting: CountingHalf
) -> AttributeSummary:
    counts, errors = total(facts, costs), errors_by_type(facts)
    return AttributeSummary(
        **counts._asdict(),
        **rates.rates(counts, counting.zero)._asdict(),
        accuracy=rates.accuracy(counts, errors.total),
        errors=sum(n for fact, n in facts.items() if FACTS[fact].outcome is Outcome.ERROR),
        errors_by_type=errors,
    )


def _macro(attributes: Iterable[AttributeSummary], sums: RunSums, counting: CountingHalf) -> Macro:
    groups = [Counts(each.tp, each.tn, each.fp, each.fn) for each in attributes]
    by_attribute = macro_mean(groups, counting.zero)
    by_case = sums.by_case.mean()
    if not sums.cases.scored:
        by_attribute, by_case = _unless_vacuous(by_attribute), _unless_vacuous(by_case)
    return Macro(by_attribute=by_attribute, by_case=by_case)


def _unless_vacuous(mean: MacroMean) -> MacroMean:
    """Without a single scored case nothing was found to be perfect, not even vacuously."""
    return MacroMean(None, None, None, vacuous=True) if mean.vacuous else mean


def _quality(
    facts: Histogram, sums: RunSums, convention: Convention, rules: Rules
) -> QualitySummary:
    counting = convention.counting
    buckets = quality_counts(facts, bucket_table(counting.ignore_scope))
    figures = quality(buckets, counting, sums.safety.mean)
    return QualitySummary(
        **figures._asdict(),
        depth=rules.depth or convention.comparison.depth,
        buckets=buckets,
    )
