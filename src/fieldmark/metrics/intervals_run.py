"""The intervals of a run: of every headline figure, and of the F1 of every attribute."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.metrics.intervals import (
    LEVEL,
    RESAMPLES,
    Interval,
    around,
    deviations,
    resampling_weights,
    wilson,
)
from fieldmark.metrics.intervals_draws import Draws
from fieldmark.metrics.intervals_record import RunIntervals
from fieldmark.metrics.intervals_rows import CaseMatrix, Columns
from fieldmark.metrics.intervals_sample import CaseSample
from fieldmark.metrics.options import CountingHalf
from fieldmark.metrics.quality import QualityCounts, quality
from fieldmark.metrics.summary import Summary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["run_intervals"]

_QUALITY: Final = ("completeness", "hallucination", "accuracy", "rqs")
_LIMITS: Final = (0.0, 1.0)


def run_intervals(
    sample: CaseSample,
    summary: Summary,
    counting: CountingHalf,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> RunIntervals:
    """How far each figure of a run may be off, by drawing its cases anew.

    Where the sample is a part of the run, its variation is scaled to the number of all cases.
    """
    rows = sample.rows()
    shares = _shares(summary)
    if not rows:
        return RunIntervals(figures=shares)
    matrix = CaseMatrix(rows, sample.table, counting)
    weights = resampling_weights(len(rows), resamples, seed)
    drawn = _Drawn(summary, matrix.rows, math.sqrt(matrix.rows / max(sample.cases, 1)))
    draws = Draws(len(weights))
    attributes: dict[str, Interval] = {}
    for columns in matrix.blocks():
        attributes |= drawn.attributes(columns, draws, weights)
    headline = {**draws.headline(weights @ matrix.means), **draws.rates()}
    headline |= _quality(weights @ matrix.buckets(), counting, summary)
    return RunIntervals(
        figures={**drawn.figures(headline), **shares}, attributes=dict(sorted(attributes.items()))
    )


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Turns figures of resamples into intervals around those of the run."""

    summary: Summary
    rows: int
    scale: float

    def attributes(self, columns: Columns, draws: Draws, weights: Floats) -> Mapping[str, Interval]:
        f1s = draws.attributes(weights @ columns.tp, weights @ columns.fp, weights @ columns.fn)
        present = ((columns.tp + columns.fp + columns.fn) > 0).sum(0)
        found: dict[str, Interval] = {}
        for place, path in enumerate(columns.paths):
            figure = self.summary.attributes.get(path)
            if figure is None or figure.f1 is None:
                continue
            own = self._interval(figure.f1, f1s[:, place], int(present[place]))
            if own is not None:
                found[path] = own
        return found

    def figures(self, headline: Mapping[str, Floats]) -> dict[str, Interval]:
        known = _estimates(self.summary)
        found: dict[str, Interval] = {}
        for name, values in headline.items():
            estimate = known[name]
            own = None if estimate is None else self._interval(estimate, values, self.rows)
            if own is not None:
                found[name] = own
        return found

    def _interval(self, estimate: float, values: Floats, cases: int) -> Interval | None:
        """What resamples span; where none of them varies, what so many cases can tell at most."""
        if estimate in _LIMITS:
            whole = round(cases / self.scale**2)
            return wilson(whole if estimate else 0, whole, LEVEL)
        off = deviations(values, cases)
        return None if off is None else around(estimate, (off[0] * self.scale, off[1] * self.scale))


def _estimates(summary: Summary) -> dict[str, float | None]:
    return {
        "mean_score": summary.mean_score,
        "macro_f1_by_attribute": summary.macro_f1_by_attribute,
        "macro_f1_by_case": summary.macro_f1_by_case,
        "micro_f1": summary.micro.f1,
        "micro_precision": summary.micro.precision,
        "micro_recall": summary.micro.recall,
        **{name: getattr(summary.quality, name) for name in _QUALITY},
    }


def _shares(summary: Summary) -> dict[str, Interval]:
    """The shares of scored cases that passed and that are perfect."""
    scored = summary.cases.scored
    found = {
        "passed": wilson(summary.verdicts.passed, sum(summary.verdicts)),
        "perfect": wilson(min(summary.cases.perfect, scored), scored),
    }
    return {name: interval for name, interval in found.items() if interval is not None}


def _quality(buckets: Floats, counting: CountingHalf, summary: Summary) -> dict[str, Floats]:
    """The figures of quality in each draw; safety is taken as it is."""
    import numpy as np

    safety = summary.quality.safety
    drawn = [quality(QualityCounts(*row), counting, safety) for row in buckets.astype(int).tolist()]
    return {name: np.array([getattr(each, name) for each in drawn]) for name in _QUALITY}
