"""Several runs over the same cases: which is best, and which cannot be told from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import fsum
from typing import Final, NamedTuple, TypeAlias

from fieldmark.metrics.bootstrap import (
    MEAN_OF,
    CaseMatrix,
    ResampledMetrics,
    product,
    resampling_weights,
    variations,
)
from fieldmark.metrics.case_sample import STEP, CaseRow, CaseSums, case_sums, score_sums
from fieldmark.metrics.conventions import CountingOptions
from fieldmark.metrics.difference import (
    SIGNIFICANT,
    CaseInRun,
    Direction,
    MetricDifference,
    MetricSamples,
    ResamplingOptions,
    direction_of,
    metric_columns,
    metric_differences,
    nothing_compared,
    row_of,
)
from fieldmark.metrics.gates import less_is_better
from fieldmark.metrics.rates import ExactSum, Interval, exact, f1, ratio, sortable
from fieldmark.metrics.significance import flip_signs
from fieldmark.metrics.summary import Summary
from fieldmark.model.json import JsonObject
from fieldmark.model.outcomes import AttributeTable
from fieldmark.values.arrays import Bytes, Floats, Signs, np
from fieldmark.values.json_text import is_finite

PREDICTED_MEAN_SCORE: Final = "predicted_mean_score"
"""The mean score of the cases that have a prediction which could be read."""

Pair: TypeAlias = tuple[int, int]
"""The positions of two runs; the first is ranked higher or equal."""


@dataclass(slots=True)
class SharedCases:
    """The cases that all runs have; memory is bounded, as for the comparison of two runs.

    `scores` are the names of further scores of a case: the scores of its evaluators. `better`
    counts for each of two runs the cases where it is better.
    """

    runs: int
    scores: Sequence[str] = ()
    rows: list[list[CaseRow]] = field(default_factory=list)
    cases: int = 0
    better: dict[Pair, list[int]] = field(default_factory=dict)
    means: dict[tuple[int, str], ExactSum] = field(default_factory=dict)

    def add(self, sides: Sequence[CaseInRun]) -> None:
        """Add one case in every run."""
        row = row_of(self.cases)
        if row == len(self.rows):
            self.rows.append([CaseRow() for _ in sides])
        self.cases += 1
        for run, (target, side) in enumerate(zip(self.rows[row], sides, strict=True)):
            for name in side.evaluators:
                score = side.in_means(name)
                if score is None:
                    continue
                total = self.means.get((run, name), ExactSum())
                self.means[run, name] = total + ExactSum(1, exact(score))
            further = score_sums(map(side.in_means, self.scores))
            target.add(side.block, [*case_sums(side.stats), *further])
        for pair in combinations(range(len(sides)), 2):
            direction = direction_of(*(sides[run].stats for run in pair))
            if direction in (Direction.IMPROVED, Direction.WORSE):
                self.better.setdefault(pair, [0, 0])[direction is Direction.IMPROVED] += 1

    def mean(self, run: int, score: str) -> float | None:
        """Return the mean of a further score in a run, over the cases that have it."""
        return self.means.get((run, score), ExactSum()).mean


class RankedMetric(NamedTuple):
    """A metric of several runs: the interval of each, and the difference of each pair.

    The second run is subtracted from the first; p-values are Holm-adjusted.
    """

    intervals: tuple[Interval | None, ...]
    pairs: Mapping[Pair, MetricDifference]


def compare_runs(
    shared: SharedCases,
    order: Sequence[int],
    table: AttributeTable,
    counting: CountingOptions,
    metric: str,
    estimates: Sequence[float | None],
    options: ResamplingOptions | None = None,
) -> RankedMetric:
    """Return the intervals of a metric, and test the difference of each pair of runs.

    `order` has the runs as they are ranked, and `estimates` their values in this order. All runs
    are resampled and permuted in the same way, and as for two runs: a pair has the p-value that
    its own comparison has.
    """
    options = options or ResamplingOptions()
    paths = sorted({attribute.path for attribute in table.attributes})
    matrices = [
        CaseMatrix([row[run] for row in shared.rows], table, counting, paths) for run in order
    ]
    rows = len(shared.rows)
    weights = resampling_weights(rows, options.resamples, options.seed)
    signs = flip_signs(rows, options.permutations, options.seed + 1)
    sampler = _Sampler(matrices, shared.scores, counting, metric)
    values, differing = sampler.resampled(weights)
    counted = sampler.cases(shared.cases)
    permuted = sampler.permuted(signs)
    drawn: dict[Pair, MetricSamples] = {}
    swapped: dict[Pair, MetricSamples] = {}
    cases: dict[Pair, Sequence[int]] = {}
    for first, second in combinations(range(len(order)), 2):
        pair = first, second

        def samples(before: Floats, after: Floats, pair: Pair = pair) -> MetricSamples:
            return MetricSamples(
                before,
                after,
                max(counted[position] for position in pair),
                differing[pair],
                nothing_compared=nothing_compared(
                    [matrices[position] for position in pair], metric
                ),
                less_is_better=less_is_better(metric),
            )

        drawn[pair] = samples(values[second], values[first])
        swapped[pair] = samples(*permuted[pair])
        runs = order[first], order[second]
        counts = shared.better.get((min(runs), max(runs)), [0, 0])
        cases[pair] = counts if runs[0] < runs[1] else counts[::-1]
    stacked = [row[None] for row in values]
    intervals = [
        variations({metric: estimate}, value, [cases_of_run], 1.0)[metric].interval
        for estimate, value, cases_of_run in zip(estimates, stacked, counted, strict=True)
    ]
    return RankedMetric(tuple(intervals), metric_differences(drawn, swapped, cases, adjust=True))


class _Sampler:
    """Computes one metric of several runs in all resamples, and of their pairs in permutations."""

    def __init__(
        self,
        matrices: Sequence[CaseMatrix],
        scores: Sequence[str],
        counting: CountingOptions,
        metric: str,
    ) -> None:
        self._matrices = matrices
        self._counting = counting
        self._metric = metric
        self._by_case = any(matrix.is_rated for matrix in matrices)
        columns = metric_columns(metric, by_case=self._by_case)
        self._own = [CaseSums._fields.index(name) for name in columns or ()]
        self._place: int | None = None
        if metric in scores:
            self._place = len(CaseSums._fields) + 2 * scores.index(metric)
            self._own = [self._place, self._place + 1]
        self._of_attributes = not self._own

    def cases(self, number: int) -> list[int]:
        """Return how many of a number of cases the metric of each run rests on."""
        if self._place is None and self._metric not in MEAN_OF:
            return [number] * len(self._matrices)
        return [int(matrix.sums[:, self._own[1]].sum()) for matrix in self._matrices]

    def resampled(self, weights: Bytes) -> tuple[list[Floats], dict[Pair, int]]:
        """Return the metric of each run, and in how many rows each pair of runs differs."""
        metrics = [ResampledMetrics(len(weights)) for _ in self._matrices]
        differs = {
            pair: np.zeros(self._matrices[0].rows, bool)
            for pair in combinations(range(len(self._matrices)), 2)
        }
        if self._of_attributes:
            for blocks in zip(*(matrix.blocks() for matrix in self._matrices), strict=True):
                for run, block in zip(metrics, blocks, strict=True):
                    run.add_attributes(*(product(weights, columns) for columns in block[1:]))
                for first, second in differs:
                    for first_columns, second_columns in zip(
                        blocks[first][1:], blocks[second][1:], strict=True
                    ):
                        differs[first, second] |= (first_columns != second_columns).any(axis=1)
        else:
            for pair in differs:
                sides = (self._matrices[position].sums[:, self._own] for position in pair)
                differs[pair] |= np.not_equal(*sides).any(axis=1)
        values = [
            self._value(run, self._sums(weights, matrix))
            for run, matrix in zip(metrics, self._matrices, strict=True)
        ]
        return values, {pair: int(rows.sum()) for pair, rows in differs.items()}

    def permuted(self, signs: Signs) -> dict[Pair, tuple[Floats, Floats]]:
        """Return the metric of the second and the first run of each pair.

        Swapping the runs of a case is linear, so each run is multiplied only once.
        """
        number = len(signs)
        pairs = {
            pair: (ResampledMetrics(number), ResampledMetrics(number))
            for pair in combinations(range(len(self._matrices)), 2)
        }
        if self._of_attributes:
            for blocks in zip(*(matrix.blocks() for matrix in self._matrices), strict=True):
                moved = [[product(signs, columns) for columns in block[1:]] for block in blocks]
                sums = [[columns.sum(0) for columns in block[1:]] for block in blocks]
                for (first, second), sides in pairs.items():
                    counts = [
                        _swapped(*columns)
                        for columns in zip(
                            sums[second], sums[first], moved[second], moved[first], strict=True
                        )
                    ]
                    for position, side in enumerate(sides):
                        side.add_attributes(*(sides_counts[position] for sides_counts in counts))
        moved_sums = [self._sums(signs, matrix) for matrix in self._matrices]
        totals = [matrix.sums.sum(0) for matrix in self._matrices]
        metrics: dict[Pair, tuple[Floats, Floats]] = {}
        for (first, second), sides in pairs.items():
            before, after = _swapped(
                totals[second], totals[first], moved_sums[second], moved_sums[first]
            )
            metrics[first, second] = self._value(sides[0], before), self._value(sides[1], after)
        return metrics

    def _sums(self, weights: Floats | Bytes | Signs, matrix: CaseMatrix) -> Floats:
        """Return the weighted sums of a run; only sums that the metric needs are computed."""
        sums = np.zeros((len(weights), matrix.sums.shape[1]))
        sums[:, self._own] = product(weights, matrix.sums[:, self._own])
        return sums

    def _value(self, metrics: ResampledMetrics, sums: Floats) -> Floats:
        if self._place is not None:
            return ratio(sums[:, self._place] / STEP, sums[:, self._place + 1])
        width = len(CaseSums._fields)
        return metrics.metrics(sums[:, :width], self._counting, by_case=self._by_case)[self._metric]


def _swapped(
    before: Floats, after: Floats, moved_before: Floats, moved_after: Floats
) -> tuple[Floats, Floats]:
    """Return the sums of both runs after swapping, from their sums and their signed sums."""
    total, apart = before + after, moved_after - moved_before
    return (total - apart) / 2, (total + apart) / 2


def best_runs(
    values: Sequence[float | None], pairs: Mapping[Pair, MetricDifference]
) -> tuple[int, ...]:
    """Return the runs that cannot be told from the best, which is the first.

    If several runs have the best value, a run belongs to the best unless it differs from all of
    them. Without a value, a run is not among the best.
    """
    first = next((value for value in values if value is not None), None)
    if first is None:
        return ()
    top = [
        run
        for run, value in enumerate(values)
        if value is not None and sortable(value) == sortable(first)
    ]

    def differs_from(run: int, other: int) -> bool:
        return run != other and pairs[min(run, other), max(run, other)].word in SIGNIFICANT

    return tuple(
        run
        for run, value in enumerate(values)
        if value is not None and not all(differs_from(run, leader) for leader in top)
    )


class AttributeRanking(NamedTuple):
    """The F1 of an attribute in every run, and the runs that have the highest."""

    path: str
    f1: tuple[float, ...]
    best: tuple[int, ...]

    @property
    def decided(self) -> bool:
        """Whether some run is better than another."""
        return len(self.best) < len(self.f1)

    @property
    def spread(self) -> float:
        """The difference between the best and the worst run."""
        return max(self.f1) - min(self.f1)


def attribute_rankings(summaries: Sequence[Summary]) -> list[AttributeRanking]:
    """Return all attributes, the largest difference between runs first.

    If a run has nothing to count in an attribute that others have, its F1 is 1 there, as in the
    comparison of two runs.
    """
    paths = dict.fromkeys(path for summary in summaries for path in summary.attributes)
    rankings: list[AttributeRanking] = []
    for path in paths:
        metrics = [summary.attributes.get(path) for summary in summaries]
        values = [None if own is None else f1(own.tp, own.fp, own.fn) for own in metrics]
        if all(value is None for value in values):
            continue
        scores = tuple(1.0 if value is None else value for value in values)
        best = max(map(sortable, scores))
        leading = tuple(run for run, score in enumerate(scores) if sortable(score) == best)
        rankings.append(AttributeRanking(path, scores, leading))
    return sorted(rankings, key=lambda ranking: (-sortable(ranking.spread), ranking.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUsage:
    """The cost of the predictions of a run, and their duration.

    `cost` is undefined unless the cost of every case is known. `cost_per_correct` is the cost of
    all cases for each case without a mistake. `seconds` is the mean response time, and
    `seconds_p95` its 95th percentile.
    """

    cost: float | None
    cost_per_case: float | None
    cost_per_correct: float | None
    seconds: float | None
    seconds_p95: float | None


def run_usage(usages: Iterable[JsonObject | None], *, cases: int, correct: int) -> RunUsage | None:
    """Return the cost of the predictions of a run; `None` if no case has its usage.

    >>> usage = run_usage([{"cost": 0.5, "seconds": 2.0}] * 4, cases=4, correct=1)
    >>> usage.cost, usage.cost_per_case, usage.cost_per_correct, usage.seconds
    (2.0, 0.5, 2.0, 2.0)
    """
    known = [usage for usage in usages if usage is not None]
    if not known:
        return None
    costs, seconds = (
        [
            value
            for usage in known
            if isinstance(value := usage.get(name), int | float) and is_finite(value)
        ]
        for name in ("cost", "seconds")
    )
    cost = fsum(costs) if len(costs) == cases else None
    ordered = sorted(seconds)
    return RunUsage(
        cost=cost,
        cost_per_case=None if cost is None else ratio(cost, cases),
        cost_per_correct=None if cost is None else ratio(cost, correct),
        seconds=ratio(fsum(ordered), len(ordered)),
        seconds_p95=ordered[-(-len(ordered) * 95 // 100) - 1] if ordered else None,
    )


def cost_frontier(
    values: Sequence[float | None], costs: Sequence[float | None], *, less_is_better: bool = False
) -> tuple[int, ...]:
    """Return the runs for which no other is at least as good and as cheap, and better in one.

    Runs without a value or a cost are left out. The cheapest comes first.

    >>> cost_frontier([0.9, 0.8, 0.7, None], [3.0, 1.0, 2.0, 0.5])
    (1, 0)
    """
    sign = -1.0 if less_is_better else 1.0
    known = [
        (cost, -sign * sortable(value), run)
        for run, (value, cost) in enumerate(zip(values, costs, strict=True))
        if value is not None and cost is not None
    ]
    return tuple(
        run
        for cost, loss, run in sorted(known)
        if not any(
            other <= cost and rival <= loss and (other, rival) != (cost, loss)
            for other, rival, _ in known
        )
    )
