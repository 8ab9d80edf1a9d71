"""The metrics of a case for its tabs: completeness, hallucination, accuracy, safety and RQS.

The same data is shown for a compared pair, for a stored case, and in the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fieldmark.compare.auto import comparator_for
from fieldmark.metrics.conventions import CountingOptions
from fieldmark.metrics.quality import (
    Quality,
    QualityBuckets,
    QualityMetrics,
    bucket_table,
    rqs_parts,
)
from fieldmark.metrics.summary import QUALITY_EVALUATOR, QualitySummary, Summary
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.outcome import Outcome, fact
from fieldmark.model.rule import Rules
from fieldmark.report.html.value_encoding import columnar, truncate
from fieldmark.report.metric_titles import failed_metric_text
from fieldmark.runs.case_result import CaseResult, FieldResult
from fieldmark.values.paths import PathError, covers, parse_path
from fieldmark.values.records import to_json

MAX_KEYS: Final = 2_000
"""The number of keys in each list on a page."""
_LISTED: Final = ("aio_missing_or_null", "extra_keys", "gt_null_aio_has_value")
_VALUE: Final = "value"
_AUTO: Final = "auto"
_SAFETY: Final = "safety"
_CODES: Final = {outcome.label: int(outcome) for outcome in Outcome}
_UNSCORED: Final = frozenset({Outcome.IGNORED.label, Outcome.ERROR.label})
_FIELD_COLUMNS: Final = (
    "path", "strategy", "detected", "outcome", "similarity", "threshold", "note",
)  # fmt: skip


def case_metrics(
    case: CaseResult, rules: Rules | None = None, *, limit: int = MAX_KEYS
) -> JsonObject:
    """Return the metrics of a case with the keys behind them, at most `limit` in each list.

    Without the rules, the thresholds of fields are unknown. `more` is the number of keys that are
    left out by list; matches are left out before mistakes.
    """
    quality, counting = case.quality, case.convention.counting
    sizes = case.stats.quality
    keys = _paths_by_bucket(case)
    compared = [
        field
        for field in case.iter_fields()
        if field.expected_presence == field.candidate_presence == _VALUE
    ]
    mistakes_first = sorted(compared, key=lambda field: field.outcome == Outcome.MATCH.label)
    listed = {id(field) for field in mistakes_first[:limit]}
    strategies: dict[str, int] = {}
    fields = columnar(
        _FIELD_COLUMNS,
        [_field(field, rules, strategies) for field in compared if id(field) in listed],
    )
    more = {name: len(paths) - limit for name, paths in keys.items() if len(paths) > limit}
    if len(compared) > limit:
        more["fields"] = len(compared) - limit
    bounds: JsonObject = {} if case.bounds is None else {"bounds": to_json(case.bounds)}
    view: JsonObject = {
        **bounds,
        "completeness": quality.completeness,
        "hallucination": quality.hallucination,
        "accuracy": quality.accuracy,
        "safety": quality.safety,
        "rqs": quality.rqs,
        "rqs_max": quality.rqs_max,
        "parts": _parts(quality, counting),
        "judged": "not_evaluated" not in quality.flags.get(_SAFETY, ()),
        "sizes": {
            "present": sizes.both_non_null,
            "expected": sizes.expected_non_null,
            "extra": sizes.extra + sizes.unexpected,
            "distinct": sizes.distinct,
            "matched": sizes.matched,
            "compared": sizes.scorable,
        },
        "keys": {name: list[JsonValue](paths[:limit]) for name, paths in keys.items() if paths},
        "strategies": _strategies(compared, strategies),
        "fields": fields,
        "safety_judge": _safety(case),
    }
    return {**view, "more": dict(more)} if more else view


def run_quality(summary: Summary, comparators: Mapping[str, str]) -> JsonObject:
    """Return the sums of a run in the same form, with the attributes of each strategy pooled."""
    quality = summary.quality
    buckets = quality.buckets
    strategies: dict[str, list[int]] = {}
    for path, counts in summary.attributes.items():
        totals = strategies.setdefault(comparators.get(path, ""), [0, 0])
        totals[0] += counts.tp
        totals[1] += (
            counts.tp + counts.errors_by_type.wrong_value + counts.errors_by_type.format_error
        )
    extra = buckets.extra_keys + buckets.gt_null_aio_has_value
    return {
        "completeness": quality.completeness,
        "hallucination": quality.hallucination,
        "accuracy": quality.accuracy,
        "safety": quality.safety,
        "rqs": quality.rqs,
        "rqs_max": quality.rqs_max,
        "parts": _parts(quality, summary.rqs_counting),
        "judged": "not_evaluated" not in quality.flags.get(_SAFETY, ()),
        "sizes": {
            "present": buckets.both_non_null,
            "expected": buckets.gt_non_null,
            "extra": extra,
            "distinct": extra + buckets.gt_non_null + buckets.both_null,
            "missing": buckets.aio_missing_or_null,
        },
        "strategies": [
            {"strategy": name, "matched": matched, "compared": compared}
            for name, (matched, compared) in strategies.items()
            if compared
        ],
        "averaged": QUALITY_EVALUATOR in summary.convention.options,
        "rqs_failed": failed_metric_text(summary, "rqs"),
    }


def _parts(quality: Quality | QualitySummary, counting: CountingOptions) -> list[JsonValue]:
    """Return the parts of the response quality score; none if an error makes it unknown."""
    completeness, hallucination, accuracy, safety = quality[:4]
    if completeness is None or hallucination is None or accuracy is None or safety is None:
        return []
    metrics = QualityMetrics(completeness, hallucination, accuracy)
    return [
        {"name": part.name, "weight": part.weight, "value": part.value, "product": part.product}
        for part in rqs_parts(metrics, counting, safety)
    ]


def _paths_by_bucket(case: CaseResult) -> dict[str, list[str]]:
    """Return the missing and the extra keys of a case, by the names of the requirements."""
    table = bucket_table(case.convention.counting.ignore_scope)
    paths: dict[str, list[str]] = {name: [] for name in _LISTED}
    for record in case.outcomes.records(case.attributes):
        code = fact(record.outcome, record.expected_presence, record.candidate_presence)
        sizes: QualityBuckets = table[code].buckets()
        for name in _LISTED:
            if getattr(sizes, name):
                paths[name].append(record.path)
    return paths


def _field(field: FieldResult, rules: Rules | None, strategies: dict[str, int]) -> list[JsonValue]:
    """Return the row of a compared field, with the number of its strategy."""
    strategy, detected = _strategy(field)
    without_threshold = detected and strategy != "semantic"
    return [
        field.path,
        strategies.setdefault(strategy, len(strategies)),
        detected,
        _CODES[field.outcome],
        None if field.similarity is None else round(field.similarity, 6),
        None if rules is None or without_threshold else _threshold(field, rules),
        truncate(field.note),
    ]


def _strategy(field: FieldResult) -> tuple[str, bool]:
    """Return the strategy of a field, and whether it was detected from the expected value."""
    if field.comparator == _AUTO and field.expected is not MISSING:
        return comparator_for(field.expected), True
    return field.comparator, False


def _strategies(compared: Sequence[FieldResult], numbers: Mapping[str, int]) -> list[JsonValue]:
    """Return every strategy with its matches and its compared fields, also omitted fields."""
    totals: dict[str, list[int]] = {name: [0, 0] for name in numbers}
    for field in compared:
        counts = totals.setdefault(_strategy(field)[0], [0, 0])
        if field.outcome not in _UNSCORED:
            counts[0] += field.outcome == Outcome.MATCH.label
            counts[1] += 1
    return [
        {"strategy": name, "matched": matched, "compared": compared}
        for name, (matched, compared) in totals.items()
    ]


def _threshold(field: FieldResult, rules: Rules) -> float | None:
    comparator = rules.default
    try:
        attribute = parse_path(field.attribute)
        for rule in rules.fields:
            if rule.comparator is not None and covers(parse_path(rule.path), attribute):
                comparator = rule.comparator
    except PathError:
        return None
    threshold = getattr(comparator, "threshold", None)
    return float(threshold) if isinstance(threshold, int | float) else None


def _safety(case: CaseResult) -> JsonObject | None:
    """Return the result of the safety judge, if there was one."""
    judged = next((result for result in case.evaluator_results if result.type == _SAFETY), None)
    if judged is None:
        return None
    return {
        "status": judged.score.status,
        "reasoning": truncate(judged.score.reasoning) if case.has_values else "",
        "warnings": list(judged.score.warnings),
    }
