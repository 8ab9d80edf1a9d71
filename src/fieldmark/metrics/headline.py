"""The figures that every run has and that lists, intervals and comparisons of runs show."""

from __future__ import annotations

from typing import Final

__all__ = ["HEADLINE_FIGURES", "MAIN_FIGURE"]

HEADLINE_FIGURES: Final = (
    "mean_score",
    "macro_f1_by_attribute",
    "macro_f1_by_case",
    "micro_f1",
)

MAIN_FIGURE: Final = HEADLINE_FIGURES[0]
"""The figure that a run is judged by where none is named."""
