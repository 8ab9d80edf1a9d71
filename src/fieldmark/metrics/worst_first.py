"""The order of lists of attributes and of cases: sort keys that put the worst first."""

from __future__ import annotations

__all__ = ["attribute_sort_key", "case_sort_key"]


def attribute_sort_key(
    path: str, f1: float | None, mistakes: int, errors: int
) -> tuple[float, int, str]:
    """By F1, then by the number of mistakes, then by path.

    An undefined F1 is the worst if something is wrong or failed, and the best if nothing is.

    >>> sorted([("a", 1.0, 0, 0), ("b", None, 2, 0), ("c", None, 0, 0)],
    ...        key=lambda row: attribute_sort_key(*row))[0][0]
    'b'
    """
    if f1 is None:
        f1 = 0.0 if mistakes or errors else 2.0
    return f1, -mistakes, path


def case_sort_key(score: float | None, mistakes: int, position: int) -> tuple[float, int, int]:
    """By score, then by the number of mistakes, then in the order of the run.

    A case that could not be scored comes before all others.
    """
    return -1.0 if score is None else score, -mistakes, position
