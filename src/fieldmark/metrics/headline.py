"""The metrics of a run in their order on the screen: the primary metric comes first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

HEADLINE_METRICS: Final = (
    "mean_score",
    "macro_f1_by_attribute",
    "macro_f1_by_case",
    "micro_f1",
)
"""The metrics that every run has, shown in lists, intervals and comparisons of runs."""

MAIN_METRIC: Final = HEADLINE_METRICS[0]
"""The default metric for judging a run: the mean of the primary score of its cases."""

MICRO_F1: Final = HEADLINE_METRICS[3]

QUALITY_METRICS: Final = ("completeness", "hallucination", "accuracy", "safety", "rqs")

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


def metrics_in_order(primary: str) -> tuple[str, ...]:
    """Return the names of all metrics: the primary metric, the mean score, then all other metrics.

    The quality metrics are the last ones, unless their score is the primary one.

    >>> metrics_in_order("rqs")[:3], metrics_in_order("macro_f1_by_case")[:2]
    (('rqs', 'mean_score', 'completeness'), ('macro_f1_by_case', 'mean_score'))
    """
    lead = primary if primary in METRIC_TITLES else MAIN_METRIC
    groups = (HEADLINE_METRICS, QUALITY_METRICS)
    first, second = groups[::-1] if lead in QUALITY_METRICS else groups
    return tuple(dict.fromkeys((lead, MAIN_METRIC, *first, *second)))


def flag_text(flags: Iterable[str]) -> str:
    """Return why a metric says less than it seems to, or an empty string.

    >>> flag_text(["accuracy_vacuous", "not_evaluated"])
    'accuracy vacuous, not evaluated'
    """
    return ", ".join(flag.replace("_", " ") for flag in flags)
