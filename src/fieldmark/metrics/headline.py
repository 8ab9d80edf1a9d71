"""The metrics of a run in their order on the screen: the primary metric comes first."""

from __future__ import annotations

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

_METRICS: Final = frozenset({*HEADLINE_METRICS, *QUALITY_METRICS})


def metrics_in_order(primary: str) -> tuple[str, ...]:
    """Return the names of all metrics: the primary metric, the mean score, then all other metrics.

    The quality metrics are the last ones, unless their score is the primary one.

    >>> metrics_in_order("rqs")[:3], metrics_in_order("macro_f1_by_case")[:2]
    (('rqs', 'mean_score', 'completeness'), ('macro_f1_by_case', 'mean_score'))
    """
    lead = primary if primary in _METRICS else MAIN_METRIC
    groups = (HEADLINE_METRICS, QUALITY_METRICS)
    first, second = groups[::-1] if lead in QUALITY_METRICS else groups
    return tuple(dict.fromkeys((lead, MAIN_METRIC, *first, *second)))
