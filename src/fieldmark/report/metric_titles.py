"""Names of metrics and slices for people, and the formula of the response quality score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from fieldmark.metrics.conventions import CountingOptions, RqsForm
from fieldmark.metrics.quality import QualityCounts, quality
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


def evaluator_note(evaluator: EvaluatorSummary) -> str:
    """Return the note beside the mean score of an evaluator, or an empty string."""
    return "vacuous" if evaluator.is_vacuous else vacuous_text(evaluator.vacuous)


def metric_note(summary: Summary, name: str) -> str:
    """Return why a metric of a run says less than it seems to, or an empty string."""
    vacuous = vacuous_text(summary.vacuous_cases.get(name, 0))
    return ", ".join(filter(None, (flag_text(summary.flags.get(name, ())), vacuous)))


def slice_text(key: str, value: str) -> str:
    """Return the name of a slice for people.

    >>> slice_text("vendor", "Acme"), slice_text("vendor", "")
    ('vendor = Acme', 'vendor = (none)')
    """
    return f"{key} = {value or NO_VALUE}"


RQS_DIGITS: Final = 4
"""The digits of the response quality score, which are those of its documented example."""


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
