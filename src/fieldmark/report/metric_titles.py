"""Names of metrics and slices for people, and the formula of the response quality score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from fieldmark.metrics.conventions import CountingOptions, RqsForm
from fieldmark.metrics.quality import QualityCounts, quality
from fieldmark.metrics.rates import Interval
from fieldmark.metrics.summary import EvaluatorSummary, Summary
from fieldmark.values.text import plural

METRIC_TITLES: Final[Mapping[str, str]] = {
    "mean_score": "mean score",
    "macro_f1_by_attribute": "macro F1 by attribute",
    "macro_f1_by_case": "macro F1 by case",
    "micro_f1": "micro F1",
    "rqs": "RQS",
    "completeness": "completeness",
    "hallucination": "hallucination",
    "accuracy": "accuracy",
    "safety": "safety",
}

SHORT_TITLES: Final[Mapping[str, str]] = {
    "mean_score": "Score",
    "macro_f1_by_attribute": "F1 attr",
    "macro_f1_by_case": "F1 case",
    "micro_f1": "F1 micro",
    "rqs": "RQS",
}
"""The titles of columns, for metrics that tables of runs and slices show."""

NO_VALUE: Final = "(none)"
"""The name of the slice of cases without a value."""


def flag_text(flags: Iterable[str]) -> str:
    """Return why a metric says less than it seems to, or an empty string.

    >>> flag_text(["accuracy_vacuous", "not_evaluated"])
    'accuracy vacuous, not evaluated'
    """
    return ", ".join(flag.replace("_", " ") for flag in flags)


def vacuous_text(cases: int) -> str:
    """Return the number of vacuous cases beside a mean, or an empty string.

    >>> vacuous_text(9), vacuous_text(0)
    ('9 vacuous cases', '')
    """
    return plural(cases, "vacuous case") if cases else ""


def bounds_text(bounds: Interval | None, intro: str = "with failed cases") -> str:
    """Return the bounds of a metric with the failed cases that it leaves out, or an empty string.

    >>> bounds_text((0.41, 0.9)), bounds_text((0.9, 0.9))
    ('with failed cases 0.410 to 0.900', 'with failed cases 0.900')
    """
    if bounds is None:
        return ""
    return f"{intro} {range_text(bounds)}"


def range_text(bounds: Interval | None) -> str:
    """Return bounds as text, a single number if they are equal, or an empty string.

    >>> range_text((0.41, 0.9)), range_text((0.9, 0.9)), range_text(None)
    ('0.410 to 0.900', '0.900', '')
    """
    if bounds is None:
        return ""
    low, high = (f"{bound:.3f}" for bound in bounds)
    return low if low == high else f"{low} to {high}"


def failed_text(summary: Summary) -> str:
    """Return how many cases failed, or an empty string."""
    bounds = summary.bounds
    if bounds is None or not bounds.failed:
        return ""
    return f"{bounds.failed:,} of {plural(bounds.of, 'case')} failed"


def failed_note(summary: Summary) -> str:
    """Return which cases the metrics of a run leave out, or an empty string."""
    failed, bounds = failed_text(summary), summary.bounds
    if not failed or bounds is None:
        return ""
    if bounds.low is None:
        return f"{failed} and are in no metric, whose bounds are not known"
    note = f"{failed} and are in no metric; the bounds say what metrics might be with them"
    others = [
        name
        for name, has_metrics in (
            ("confidences", summary.confidence is not None),
            ("detections", bool(summary.detection)),
            ("evaluators' own metrics", any(own.metrics for own in summary.evaluators.values())),
        )
        if has_metrics
    ]
    return f"{note} (none are known for {' and '.join(others)})" if others else note


def metric_bounds(summary: Summary, name: str) -> Interval | None:
    """Return the bounds of a headline or quality metric of a run with failed cases."""
    return None if summary.bounds is None else summary.bounds.of_metric(name)


def evaluator_note(evaluator: EvaluatorSummary) -> str:
    """Return the note beside the mean score of an evaluator, or an empty string."""
    vacuous = "vacuous" if evaluator.is_vacuous else vacuous_text(evaluator.vacuous)
    return ", ".join(filter(None, (vacuous, bounds_text(evaluator.bounds))))


def metric_note(summary: Summary, name: str) -> str:
    """Return why a metric of a run says less than it seems to, or an empty string."""
    vacuous = vacuous_text(summary.vacuous_cases.get(name, 0))
    failed = failed_metric_text(summary, name)
    return ", ".join(filter(None, (flag_text(summary.flags.get(name, ())), vacuous, failed)))


def failed_metric_text(summary: Summary, name: str) -> str:
    """Return the bounds of a metric of a run with failed cases, or how many failed if unknown."""
    return bounds_text(metric_bounds(summary, name)) or failed_text(summary)


def slice_text(key: str, value: str) -> str:
    """Return the name of a slice for people.

    >>> slice_text("vendor", "Acme"), slice_text("vendor", "")
    ('vendor = Acme', 'vendor = (none)')
    """
    return f"{key} = {value or NO_VALUE}"


RQS_DIGITS: Final = 4
"""The digits of the response quality score, as in its documented example."""


def rqs_formula(counting: CountingOptions) -> str:
    """Return the formula of the response quality score with its weights and its maximum."""
    weights, minus = counting.rqs_weights, "\N{MINUS SIGN}"
    added = [
        f"{getattr(weights, name):g} · {name}" for name in ("accuracy", "completeness", "safety")
    ]
    last = f"{minus} {weights.hallucination:g} · hallucination"
    if counting.rqs_form is RqsForm.COMPLEMENT:
        last = f"+ {weights.hallucination:g} · (1 {minus} hallucination)"
    limit = quality(QualityCounts(), counting).rqs_max
    return f"RQS = {' + '.join(added)} {last}; at most {limit:.4g}"
