"""Bootstrap confidence intervals for the metrics of a run.

A resample draws as many cases as the run has, with replacement. It is a row of weights: how often
each case is drawn. Counts are additive, so the counts of all resamples are the product of the
weights and the counts of the cases.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, cast

from fieldmark.metrics.case_sample import STEP, CaseRow, CaseSample, CaseSums, SampledCase
from fieldmark.metrics.conventions import CountingOptions, ZeroRule
from fieldmark.metrics.counts import cost_table
from fieldmark.metrics.headline import HEADLINE_METRICS, MAIN_METRIC
from fieldmark.metrics.quality import (
    QualityCounts,
    QualityMetrics,
    quality_metrics,
    quality_score,
)
from fieldmark.metrics.rates import Interval, Rates, f1, ratio, wilson
from fieldmark.metrics.significance import ALPHA
from fieldmark.metrics.summary import (
    RESAMPLING,
    RateIntervals,
    RateVariations,
    Resampling,
    RunIntervals,
    Summary,
    Variation,
)
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.model.outcomes import AttributeTable
from fieldmark.values.arrays import Bytes, Floats, Signs, np

MEAN_OF: Final[Mapping[str, str]] = {MAIN_METRIC: "scored", "macro_f1_by_case": "f1s"}
"""The sum that has the number of cases in a mean over cases, which leaves out vacuous cases."""

GROUPS: Final = 512
"""The maximum number of rows of weights; more cases are drawn in random groups."""

_LIMITS: Final = (0.0, 1.0)
_COUNTED_IN: Final = {"precision": (0, 2), "recall": (0, 3), "f1": (0, 2, 3)}
"""The counts in the denominator of each rate, by their position."""
_POOLED_RATES: Final = {
    "micro_precision": "precision",
    "micro_recall": "recall",
    "micro_f1": "f1",
}
_POOLED_QUALITY: Final = {
    "completeness": ("missing", "both_non_null"),
    "hallucination": ("extra", "unexpected", "missing", "both_non_null", "both_null"),
    "accuracy": ("both_non_null",),
}
"""The counts in the denominators of quality metrics."""
_UNKNOWN: Final = RateVariations()
_NOTHING_VARIES: Final = frozenset({"vacuous", "not_evaluated"})
# Limits on memory.
_ROW_BLOCK: Final = 32
_ATTRIBUTE_BLOCK: Final = 64
_PRODUCT: Final = 1 << 18
"""The maximum number of multiplications for which BLAS uses one thread.

Further threads would spin while idle.
"""


def run_intervals(
    sample: CaseSample,
    summary: Summary,
    counting: CountingOptions,
    resampling: Resampling = RESAMPLING,
) -> RunIntervals:
    """Return the variation of the headline metrics and of the rates of every attribute.

    If the sample is a part of the run, its variation is scaled to the number of all cases.
    """
    rows = sample.rows()
    scored = summary.cases.scored
    shares = {
        "passed": wilson(summary.verdicts.passed, sum(summary.verdicts)),
        "perfect": wilson(summary.cases.perfect, scored),
    }
    known_shares = {
        name: interval
        for name, interval in shares.items()
        if interval is not None and summary.cases.vacuous < scored
    }
    if not rows:
        return RunIntervals(metrics=known_shares, resampling=resampling)
    together = -(-len(rows) // GROUPS)
    matrix = CaseMatrix(rows, sample.table, counting, together=together)
    weights = resampling_weights(matrix.rows, resampling.resamples, resampling.seed)
    scale = math.sqrt(len(rows) / max(sample.cases, 1))
    metrics = ResampledMetrics(len(weights))
    cases_of = {
        rate: dict(zip(matrix.paths, matrix.cases_by_path(columns), strict=True))
        for rate, columns in _COUNTED_IN.items()
    }
    attributes: dict[str, RateVariations] = {}
    for columns in matrix.blocks():
        tp, fp, fn = np.split(product(weights, np.hstack(columns[1:])), 3, axis=1)
        f1s = metrics.add_attributes(tp, fp, fn)
        undefined = 0.0 if counting.zero is ZeroRule.ZERO else math.nan
        resampled_rates = (ratio(tp, tp + fp), ratio(tp, tp + fn), f1s)
        by_rate: list[dict[str, Variation]] = []
        for rate, values in zip(Rates._fields, resampled_rates, strict=True):
            estimates = {path: getattr(summary.attributes[path], rate) for path in columns.paths}
            cases = [cases_of[rate][path] for path in columns.paths]
            counted = np.nan_to_num(values.T, nan=undefined)
            by_rate.append(variations(estimates, counted, cases, scale))
        for path in columns.paths:
            attributes[path] = RateVariations(
                RateIntervals(*(rate[path].interval for rate in by_rate)),
                Rates(*(rate[path].deviation for rate in by_rate)),
            )
    attributes = {
        path: variation for path, variation in sorted(attributes.items()) if variation != _UNKNOWN
    }
    resampled = metrics.metrics(product(weights, matrix.sums), counting, by_case=matrix.is_rated)
    estimates = {
        **summary.metrics,
        "micro_precision": summary.micro.precision,
        "micro_recall": summary.micro.recall,
    }
    values = np.stack([resampled[name] for name in estimates])
    for name, flags in summary.flags.items():
        if _NOTHING_VARIES.intersection(flags):
            estimates[name] = None
    by_metric = _cases_by_metric(matrix, len(rows))
    numbers = [by_metric.get(name, len(rows)) for name in estimates]
    headline = variations(estimates, values, numbers, scale)
    intervals = {
        name: variation.interval for name, variation in headline.items() if variation.interval
    }
    return RunIntervals(
        metrics={**intervals, **known_shares},
        attributes=attributes,
        deviations={
            name: variation.deviation
            for name, variation in headline.items()
            if variation.deviation is not None
        },
        resampling=resampling,
    )


def _cases_by_metric(matrix: CaseMatrix, cases: int) -> dict[str, float]:
    """Return how many cases each metric rests on, unless all of them."""
    sums = dict(zip(CaseSums._fields, matrix.sums.T, strict=True))
    number_of = {
        **{name: float(sums[column].sum()) for name, column in MEAN_OF.items()},
        **{
            name: float(matrix.cases_with(_COUNTED_IN[rate]))
            for name, rate in _POOLED_RATES.items()
        },
        "safety": float(sums["judged"].sum()),
    }
    for name, columns in _POOLED_QUALITY.items():
        together = -(-cases // matrix.rows)
        rows = int(np.logical_or.reduce([sums[column] > 0 for column in columns]).sum())
        number_of[name] = min(cases, rows * together)
    if matrix.is_rated:
        number_of |= dict.fromkeys((*_POOLED_QUALITY, "rqs"), float(sums["rated"].sum()))
    return number_of


def variations(
    estimates: Mapping[str, float | None], values: Floats, cases: Sequence[float], scale: float
) -> dict[str, Variation]:
    """Return the variation of metrics; `values` has one row of resamples per metric.

    The standard deviation is computed from the defined resamples; an undefined estimate and a
    single case have none.
    """
    variation_of: dict[str, Variation] = {}
    intervals = intervals_of(values, cases, scale=scale)
    resamples = values[:, 1:]
    for row, (name, estimate) in enumerate(estimates.items()):
        interval, deviation = None, None
        own = intervals[row]
        if estimate is not None and own is not None:
            interval = min(own[0], estimate), max(own[1], estimate)
            defined = resamples[row][~np.isnan(resamples[row])]
            if cases[row] > 1 and len(defined) > 1:
                deviation = float(defined.std(ddof=1)) * scale
        variation_of[name] = Variation(interval, deviation)
    return variation_of


def resampling_weights(cases: int, resamples: int, seed: int) -> Bytes:
    """Return how often each resample draws each case; the first row draws every case once."""
    generator = np.random.default_rng(seed)
    weights = np.ones((resamples + 1, cases), np.uint8)
    offsets = np.arange(_ROW_BLOCK)[:, None] * cases
    for top in range(1, resamples + 1, _ROW_BLOCK):
        rows = weights[top : top + _ROW_BLOCK]
        drawn = generator.integers(0, cases, rows.shape, np.uint32) + offsets[: len(rows)]
        rows[:] = np.bincount(drawn.ravel(), minlength=rows.size).reshape(rows.shape)
    return weights


def product(rows: Floats | Bytes | Signs, columns: Floats) -> Floats:
    """Return the product of two integer matrices: exact in any order, computed on this thread."""
    width = columns.shape[1]
    step = max(1, _PRODUCT // (_ROW_BLOCK * max(1, width)))
    total = np.zeros((len(rows), width))
    for top in range(0, len(rows), _ROW_BLOCK):
        some = rows[top : top + _ROW_BLOCK].astype(np.float64, copy=False)
        for start in range(0, len(columns), step):
            part = slice(start, start + step)
            total[top : top + _ROW_BLOCK] += some[:, part] @ columns[part]
    return total


def intervals_of(
    values: Floats,
    cases: Sequence[float],
    *,
    limits: Interval = _LIMITS,
    alphas: Sequence[float] = (),
    scale: float = 1.0,
) -> list[Interval | None]:
    """Return the confidence intervals of metrics, of level 1 - alpha, by default 95%.

    Each row contains the estimate, then its resamples; undefined resamples are excluded. Resamples
    contain only what was seen, which for few cases is often no mistake, or no other score. So each
    of them has one case more with a random weight, which is as bad as possible for the lower bound,
    and as good as possible for the upper bound. For a share of equal cases, this is close to
    the exact binomial interval. Deviations from the estimate are multiplied by `scale`, which is
    less than 1 for a sample of the cases.
    """
    if not values.shape[1] > 1:
        return [None] * len(values)
    estimates, resamples = values[:, :1], values[:, 1:]
    if scale != 1:
        resamples = estimates + (resamples - estimates) * scale
    counted = np.maximum(np.array(cases, np.float64), 1)[:, None] / scale**2
    weights = -np.expm1(_logarithms(resamples.shape[1]) / counted)
    lower, upper = (_with_extreme_case(resamples, weights, limit) for limit in limits)
    defined = np.count_nonzero(~np.isnan(resamples), axis=1).tolist()
    intervals: list[Interval | None] = []
    for row, (number, estimate) in enumerate(zip(defined, estimates[:, 0].tolist(), strict=True)):
        if not number or not cases[row] or math.isnan(estimate):
            intervals.append(None)
            continue
        tail = (alphas[row] if alphas else ALPHA) / 2
        low, high = _quantile(lower[row], number, tail), _quantile(upper[row], number, 1 - tail)
        intervals.append((max(limits[0], min(low, estimate)), min(limits[1], max(high, estimate))))
    return intervals


def _with_extreme_case(resamples: Floats, weights: Floats, value: float) -> Floats:
    """Return the means of resamples and of one more weighted case, sorted, with NaN at the end."""
    means: Floats = value - resamples
    means *= weights
    means += resamples
    means.sort(axis=1)
    return means


@lru_cache(maxsize=8)
def _logarithms(number: int) -> Floats:
    """Return the logarithms of evenly spread shares, in random order.

    The weight of one case more among n cases is 1 - share ** (1 / n), as in a Bayesian bootstrap.
    """
    shares = np.arange(number) / max(1, number - 1)
    shares[0] = np.finfo(np.float64).tiny
    logarithms: Floats = np.log(np.random.default_rng(number).permutation(shares))
    return logarithms


def _quantile(ordered: Floats, number: int, share: float) -> float:
    """Return a quantile of the first `number` values, by linear interpolation."""
    position = share * (number - 1)
    low = int(position)
    before, after = float(ordered[low]), float(ordered[min(low + 1, number - 1)])
    return before + (after - before) * (position - low)


class ResampledMetrics:
    """The metrics of many resamples, computed from blocks of attribute counts and from sums."""

    def __init__(self, resamples: int) -> None:
        self._tp, self._fp, self._fn = (np.zeros(resamples) for _ in range(3))
        self._f1s, self._number = np.zeros(resamples), np.zeros(resamples)

    def add_attributes(self, tp: Floats, fp: Floats, fn: Floats) -> Floats:
        """Return the F1 of each attribute in each resample; NaN if there was nothing to count."""
        f1s = f1(tp, fp, fn)
        self._tp += tp.sum(1)
        self._fp += fp.sum(1)
        self._fn += fn.sum(1)
        defined = ~np.isnan(f1s)
        self._f1s += np.add.reduce(f1s, axis=1, where=defined)
        self._number += defined.sum(1)
        return f1s

    def metrics(
        self, sums: Floats, counting: CountingOptions, *, by_case: bool
    ) -> dict[str, Floats]:
        """Return the metrics of each resample, after all attributes were added.

        The quality metrics are computed from all keys, or `by_case` as means of the metrics of an
        evaluator. The accuracy of no compared value and a safety that was not judged are undefined.
        """
        own: Mapping[str, Floats] = dict(zip(CaseSums._fields, sums.T, strict=True))
        headline = (
            ratio(own["score"] / STEP, own["scored"]),
            ratio(self._f1s, self._number),
            ratio(own["f1"] / STEP, own["f1s"]),
            f1(self._tp, self._fp, self._fn),
        )
        quality = {"safety": ratio(own["safety"] / STEP, own["judged"])}
        if by_case:
            for name in (*QualityMetrics._fields, "rqs"):
                quality[name] = ratio(own[name] / STEP, own["rated"])
        else:
            buckets = [own[name] for name in QualityCounts._fields]
            counts = QualityCounts(*cast("list[int]", buckets))
            pooled = quality_metrics(counts)
            safety = np.nan_to_num(quality["safety"], nan=1.0)
            rqs = quality_score(pooled, counting, cast("float", safety))
            quality |= cast("dict[str, Floats]", {**pooled._asdict(), "rqs": rqs})
            quality["accuracy"] = np.where(counts.scorable, quality["accuracy"], np.nan)
        return {
            **dict(zip(HEADLINE_METRICS, headline, strict=True)),
            **quality,
            "micro_precision": ratio(self._tp, self._tp + self._fp),
            "micro_recall": ratio(self._tp, self._tp + self._fn),
        }


class _AttributeColumns(NamedTuple):
    """Counts of some attributes: one row per case or resample, one column per attribute."""

    paths: Sequence[str]
    tp: Floats
    fp: Floats
    fn: Floats


class CaseMatrix:
    """The counts of cases as arrays; `together` cases share a row."""

    def __init__(
        self,
        cases: Sequence[CaseRow | SampledCase],
        table: AttributeTable,
        counting: CountingOptions,
        paths: Sequence[str] | None = None,
        *,
        together: int = 1,
    ) -> None:
        self.rows = -(-len(cases) // together)
        cell, times = (
            np.frombuffer(b"".join([array("q", values) for values in columns]), np.int64)
            for columns in ([case.cells for case in cases], [case.times for case in cases])
        )
        self._times = times.astype(np.float64)
        self._case = np.repeat(np.arange(len(cases)), [len(case.cells) for case in cases])
        self._row = self._case // together
        index = np.zeros(len(table) << CELL_BITS, np.int32)
        index[cell] = 1
        self._cells = np.flatnonzero(index)  # only cells that occur, in order
        index[self._cells] = np.arange(len(self._cells))
        self._cell = index[cell]
        sums = np.array([case.sums for case in cases], np.float64).reshape(len(cases), -1)
        self.sums = np.zeros((self.rows, sums.shape[1]))
        np.add.at(self.sums, np.arange(len(cases)) // together, sums)
        numbers = self._cells >> CELL_BITS
        if paths is None:
            paths = sorted({table.path(number) for number in numbers.tolist()})
        self.paths = list(paths)
        columns = {path: column for column, path in enumerate(self.paths)}
        column_of = [columns[table.path(number)] for number in numbers.tolist()]
        self._path = np.array(column_of, np.int64)
        facts = self._cells & FACT_MASK
        self._costs = np.array(cost_table(counting), np.float64)[facts]

    @property
    def is_rated(self) -> bool:
        """Whether an evaluator computes the quality metrics of cases."""
        return bool(self.sums[:, CaseSums._fields.index("rated")].any())

    def blocks(self) -> Iterator[_AttributeColumns]:
        """Yield the counts of all attributes in blocks."""
        for start in range(0, len(self.paths), _ATTRIBUTE_BLOCK):
            paths = self.paths[start : start + _ATTRIBUTE_BLOCK]
            cells = np.flatnonzero((self._path >= start) & (self._path < start + len(paths)))
            columns = np.eye(len(paths))[self._path[cells] - start]
            # How often each of these cells occurs in each row.
            column_of = np.full(len(self._cells), -1)
            column_of[cells] = np.arange(len(cells))
            column = column_of[self._cell]
            here = column >= 0
            at = self._row[here] * len(cells) + column[here]
            times = np.bincount(at, self._times[here], self.rows * len(cells))
            counted = times.astype(np.float64, copy=False).reshape(self.rows, len(cells))
            tp, _, fp, fn = (
                product(counted, cost[:, None] * columns) for cost in self._costs[cells].T
            )
            yield _AttributeColumns(paths, tp, fp, fn)

    def cases_with(self, columns: Sequence[int]) -> int:
        """Return the number of cases in which any of these counts is positive."""
        counts = (self._costs[:, list(columns)] > 0).any(axis=1)
        # `np.unique` would import `numpy.ma`.
        return int(np.count_nonzero(np.bincount(self._case[counts[self._cell]])))

    def cases_by_path(self, columns: Sequence[int]) -> list[int]:
        """Return for each attribute the number of cases where it counts, in the order of the paths.

        `columns` are the counts that matter: true positives (0), false positives (2) and false
        negatives (3).
        """
        counts = (self._costs[:, list(columns)] > 0).any(axis=1)
        here = counts[self._cell]
        size = int(self._case[-1]) + 1 if len(self._case) else 1
        occurs = np.zeros(len(self.paths) * size, np.bool_)
        occurs[self._path[self._cell[here]] * size + self._case[here]] = True
        counted: list[int] = occurs.reshape(-1, size).sum(axis=1).tolist()
        return counted
