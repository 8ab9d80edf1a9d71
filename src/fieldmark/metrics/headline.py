"""The metrics that every run has, shown in lists, intervals and comparisons of runs."""

from __future__ import annotations

from typing import Final

__all__ = ["HEADLINE_METRICS", "MAIN_METRIC", "MICRO_F1"]

HEADLINE_METRICS: Final = (
    "mean_score",
    "macro_f1_by_attribute",
    "macro_f1_by_case",
    "micro_f1",
)

MAIN_METRIC: Final = HEADLINE_METRICS[0]
"""The default metric for judging a run."""

MICRO_F1: Final = HEADLINE_METRICS[3]
