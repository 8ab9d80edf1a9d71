"""The intervals of a run: of every headline figure, and of the F1 of every attribute."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.metrics.intervals import (
    LEVEL,
    RESAMPLES,
    Interval,
    around,
    product,
    resampling_weights,
    spans,
    wilson,
)
from fieldmark.metrics.intervals_draws import QUALITY, Draws, quality_draws
from fieldmark.metrics.intervals_record import RunIntervals
from fieldmark.metrics.intervals_rows import CaseMatrix, Columns
from fieldmark.metrics.intervals_sample import CaseSample
from fieldmark.metrics.options import CountingHalf
from fieldmark.metrics.summary import Summary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Weights: TypeAlias = NDArray[np.uint8]

__all__ = ["GROUPS", "run_intervals"]

GROUPS: Final = 512
"""Of more cases, as many are drawn together as it takes; they were put in order by chance."""
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
    together = -(-len(rows) // GROUPS)
    matrix = CaseMatrix(rows, sample.table, counting, together=together)
    weights = resampling_weights(matrix.rows, resamples, seed)
    drawn = _Drawn(summary, len(rows), math.sqrt(len(rows) / max(sample.cases, 1)))
    draws = Draws(len(weights))
    attributes: dict[str, Interval] = {}
    touched = iter(matrix.touched())
    for columns in matrix.blocks():
        attributes |= drawn.attributes(columns, draws, weights, touched)
    headline = {**draws.headline(product(weights, matrix.means)), **draws.rates()}
    safety = summary.quality.safety
    headline |= quality_draws(product(weights, matrix.buckets()), counting, safety)
    return RunIntervals(
        figures={**drawn.figures(headline), **shares}, attributes=dict(sorted(attributes.items()))
    )


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Turns figures of resamples into intervals around those of the run."""

    summary: Summary
    rows: int
    scale: float

    def attributes(
        self, columns: Columns, draws: Draws, weights: Weights, touched: Iterator[int]
    ) -> Mapping[str, Interval]:
        import numpy as np

        parts = np.split(product(weights, np.hstack(columns[1:])), len(columns[1:]), axis=1)
        f1s = draws.attributes(*parts)
        present = list(islice(touched, len(columns.paths)))
        known = [self.summary.attributes.get(path) for path in columns.paths]
        estimates = [None if each is None else each.f1 for each in known]
        return self._intervals(columns.paths, estimates, f1s.T, present)

    def figures(self, headline: Mapping[str, Floats]) -> dict[str, Interval]:
        import numpy as np

        known = _estimates(self.summary)
        estimates = [known[name] for name in headline]
        values = np.stack(list(headline.values()))
        return self._intervals(list(headline), estimates, values, [self.rows] * len(headline))

    def _intervals(
        self,
        names: Sequence[str],
        estimates: Sequence[float | None],
        values: Floats,
        cases: Sequence[int],
    ) -> dict[str, Interval]:
        """The intervals of defined figures, each with its values in all draws, a row a figure."""
        found: dict[str, Interval] = {}
        spanned = zip(names, estimates, cases, spans(values, cases), strict=True)
        for name, estimate, count, off in spanned:
            own = None if estimate is None else self._interval(estimate, count, off)
            if own is not None:
                found[name] = own
        return found

    def _interval(self, estimate: float, cases: int, off: Interval | None) -> Interval | None:
        """What resamples span; where none of them varies, what so many cases can tell at most."""
        if estimate in _LIMITS:
            whole = round(cases / self.scale**2)
            return wilson(whole if estimate else 0, whole, LEVEL)
        return None if off is None else around(estimate, (off[0] * self.scale, off[1] * self.scale))


def _estimates(summary: Summary) -> dict[str, float | None]:
    return {
        "mean_score": summary.mean_score,
        "macro_f1_by_attribute": summary.macro_f1_by_attribute,
        "macro_f1_by_case": summary.macro_f1_by_case,
        "micro_f1": summary.micro.f1,
        "micro_precision": summary.micro.precision,
        "micro_recall": summary.micro.recall,
        **{name: getattr(summary.quality, name) for name in QUALITY},
    }


def _shares(summary: Summary) -> dict[str, Interval]:
    """The shares of scored cases that passed and that are perfect."""
    scored = summary.cases.scored
    found = {
        "passed": wilson(summary.verdicts.passed, sum(summary.verdicts)),
        "perfect": wilson(min(summary.cases.perfect, scored), scored),
    }
    return {name: interval for name, interval in found.items() if interval is not None}
