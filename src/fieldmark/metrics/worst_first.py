"""The order of scores, and of attributes and cases in lists: worst first.

Scores that differ by less than float arithmetic can tell are ties, in every ranking.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fieldmark.metrics.summary import AttributeSummary

_DIGITS: Final = 9
"""Decimals that count in a comparison of scores; further ones depend on the order of additions."""


def sortable(score: float) -> float:
    """Return a score for comparisons with other scores, so that equal scores are ties.

    >>> sortable(0.7374999999999999) == sortable(0.7375)
    True
    """
    return round(score, _DIGITS)


def worst_attributes(
    attributes: Mapping[str, AttributeSummary],
) -> list[tuple[str, AttributeSummary]]:
    """Sort attributes by F1, then by the number of mistakes, then by path.

    Attributes with nothing to count come last, unless their comparison failed: then they come
    first, like an F1 that is undefined although something is wrong.
    """

    def sort_key(item: tuple[str, AttributeSummary]) -> tuple[bool, float, int, str]:
        path, metrics = item
        counted = metrics.tp or metrics.fp or metrics.fn or metrics.errors
        return not counted, sortable(metrics.f1 or 0.0), -metrics.errors_by_type.total, path

    return sorted(attributes.items(), key=sort_key)


def case_sort_key(score: float | None, mistakes: int, position: int) -> tuple[float, int, int]:
    """Sort by score, then by the number of mistakes, then in the order of the run.

    A case that could not be scored comes before all others.
    """
    return -1.0 if score is None else sortable(score), -mistakes, position
