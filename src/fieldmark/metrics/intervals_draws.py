"""The headline figures of many draws of cases at once: a row a draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.metrics.intervals_rows import STEP
from fieldmark.metrics.options import CountingHalf, RqsForm
from fieldmark.metrics.quality import QualityCounts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["HEADLINE", "QUALITY", "Draws", "quality_draws"]

HEADLINE: Final = ("mean_score", "macro_f1_by_attribute", "macro_f1_by_case", "micro_f1")
"""The figures that every run has, the one that stands for it first."""

QUALITY: Final = ("completeness", "hallucination", "accuracy", "rqs")
"""The figures of response quality that vary with the cases."""


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
        defined = ~np.isnan(f1)
        self._f1s += np.add.reduce(f1, axis=1, where=defined)
        self._number += defined.sum(1)
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


def quality_draws(buckets: Floats, counting: CountingHalf, safety: float) -> dict[str, Floats]:
    """The figures of quality of each draw, from its keys by bucket, as `metrics.quality` has them.

    Safety is taken as it is.
    """
    import numpy as np

    keys = dict(zip(QualityCounts._fields, buckets.T, strict=True))
    both, invented = keys["both_non_null"], keys["extra"] + keys["unexpected"]
    expected = both + keys["missing"]
    completeness = _ratio(both, expected, 1.0)
    hallucination = _ratio(invented, invented + expected + keys["both_null"], 0.0)
    accuracy = _ratio(keys["matched"], both - keys["ignored"] - keys["failed"], 1.0)
    weights = counting.rqs_weights
    complement = counting.rqs_form is RqsForm.COMPLEMENT
    good = weights.accuracy * accuracy + weights.completeness * completeness
    good += weights.safety * safety
    good += weights.hallucination * (float(complement) - hallucination)
    found = (completeness, hallucination, accuracy, np.clip(good, 0.0, 1.0))
    return dict(zip(QUALITY, found, strict=True))


def _ratio(part: Floats, whole: Floats, undefined: float = float("nan")) -> Floats:
    import numpy as np

    return np.divide(part, whole, out=np.full_like(part, undefined), where=whole > 0)
