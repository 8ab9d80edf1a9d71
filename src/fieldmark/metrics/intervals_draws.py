"""The headline figures of many draws of cases at once: a row a draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.metrics.intervals_rows import STEP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["HEADLINE", "Draws"]

HEADLINE: Final = ("mean_score", "macro_f1_by_attribute", "macro_f1_by_case", "micro_f1")
"""The figures that every run has, the one that stands for it first."""


class Draws:
    """Takes in the counts of attributes, some at a time, and sums them over attributes.

    The rules for what is undefined are those of `metrics.rates` and `metrics.averages`.
    """

    __slots__ = ("_f1s", "_fn", "_fp", "_number", "_tp")

    def __init__(self, draws: int) -> None:
        import numpy as np

        self._tp, self._fp, self._fn = (np.zeros(draws) for _ in range(3))
        self._f1s, self._number = np.zeros(draws), np.zeros(draws)

    def attributes(self, tp: Floats, fp: Floats, fn: Floats) -> Floats:
        """The F1 of each attribute in each draw; NaN where there was nothing to find or found.

        An F1 that is undefined although something is wrong counts 0, as in a mean.
        """
        import numpy as np

        f1 = _ratio(2 * tp, 2 * tp + fp + fn)
        self._tp += tp.sum(1)
        self._fp += fp.sum(1)
        self._fn += fn.sum(1)
        self._f1s += np.nansum(f1, axis=1)
        self._number += (~np.isnan(f1)).sum(1)
        return f1

    def headline(self, means: Floats) -> dict[str, Floats]:
        """The figures of each draw by their names, when all attributes were taken in."""
        score, scored, f1, f1s = means.T
        found = (
            _ratio(score / STEP, scored),
            _ratio(self._f1s, self._number),
            _ratio(f1 / STEP, f1s),
            _ratio(2 * self._tp, 2 * self._tp + self._fp + self._fn),
        )
        return dict(zip(HEADLINE, found, strict=True))

    def rates(self) -> dict[str, Floats]:
        """Precision and recall over all fields."""
        return {
            "micro_precision": _ratio(self._tp, self._tp + self._fp),
            "micro_recall": _ratio(self._tp, self._tp + self._fn),
        }


def _ratio(part: Floats, whole: Floats) -> Floats:
    import numpy as np

    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)
