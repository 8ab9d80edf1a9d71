"""The order of attributes and cases in lists: worst first."""

from __future__ import annotations

from collections.abc import Mapping

from fieldmark.metrics.summary import AttributeSummary

__all__ = ["case_sort_key", "worst_attributes"]


def worst_attributes(
    attributes: Mapping[str, AttributeSummary], *, by_cost: bool = False
) -> list[tuple[str, AttributeSummary]]:
    """Sort attributes by F1, then by the number of mistakes, then by path.

    An undefined F1 comes first if something is wrong or failed, and last otherwise. With `by_cost`,
    a mistake counts as often as it is a false positive or a false negative.
    """

    def sort_key(item: tuple[str, AttributeSummary]) -> tuple[float, int, str]:
        path, metrics = item
        mistakes = metrics.fp + metrics.fn if by_cost else metrics.errors_by_type.total
        f1 = metrics.f1
        if f1 is None:
            f1 = 0.0 if mistakes or metrics.errors else 2.0
        return f1, -mistakes, path

    return sorted(attributes.items(), key=sort_key)


def case_sort_key(score: float | None, mistakes: int, position: int) -> tuple[float, int, int]:
    """Sort by score, then by the number of mistakes, then in the order of the run.

    A case that could not be scored comes before all others.
    """
    return -1.0 if score is None else score, -mistakes, position
