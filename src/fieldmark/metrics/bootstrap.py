"""Bootstrap confidence intervals for the metrics of a run.

A resample draws as many cases as the run has, with replacement. It is a row of weights: how often
each case is drawn. Counts are additive, so the counts of all resamples are the product of the
weights and the counts of the cases. For few cases, the kernel computes them, because loading numpy
would take longer than that; the intervals are the same, bit for bit.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from fieldmark.metrics.case_sample import STEP, CaseRow, CaseSample, CaseSums, SampledCase
from fieldmark.metrics.conventions import CountingOptions
from fieldmark.metrics.counts import cost_table
from fieldmark.metrics.headline import HEADLINE_METRICS
from fieldmark.metrics.quality import (
    QualityCounts,
    QualityMetrics,
    quality_metrics,
    quality_score,
)
from fieldmark.metrics.rates import NORMAL_QUANTILE, Interval, f1, ratio, wilson
from fieldmark.metrics.summary import RunIntervals, Summary
from fieldmark.metrics.worst_first import sortable
from fieldmark.model.kernel import COMPILED, kernel
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.model.outcomes import AttributeTable

if TYPE_CHECKING:
    from fieldmark.values.arrays import Bytes, Floats, Integers

__all__ = [
    "GROUPS",
    "CaseMatrix",
    "ResampledMetrics",
    "has_width",
    "interval_around",
    "interval_offsets",
    "product",
    "resampling_weights",
    "run_intervals",
]

GROUPS: Final = 512
"""The maximum number of rows of weights; more cases are drawn in random groups."""

_FEW: Final = 64
"""The number of cases and of attributes up to which arrays are not needed."""
_SEEDS: Final = (
    15793235383387715774,
    12390638538380655177,
    2361836109651742017,
    3188717715514472916,
)
"""What numpy derives from the seed 0."""
_BUCKETS: Final = slice(
    CaseSums._fields.index(QualityCounts._fields[0]),
    CaseSums._fields.index(QualityCounts._fields[-1]) + 1,
)
_LIMITS: Final = (0.0, 1.0)
_NOTHING_VARIES: Final = frozenset({"vacuous", "not_evaluated"})
# Limits on memory.
_ROW_BLOCK: Final = 64
_ATTRIBUTE_BLOCK: Final = 64
_PRODUCT: Final = 1 << 18
"""The maximum number of multiplications for which BLAS uses one thread.

Further threads would spin while idle.
"""


def run_intervals(
    sample: CaseSample,
    summary: Summary,
    counting: CountingOptions,
    *,
    resamples: int = 1_000,
    seed: int = 0,
) -> RunIntervals:
    """Return the intervals of the headline metrics and of every attribute's F1.

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
        return RunIntervals(metrics=known_shares)
    few = COMPILED and seed == 0 and len(rows) <= _FEW
    paths = (
        {sample.table.path(cell >> CELL_BITS) for each in rows for cell in each.cells}
        if few
        else ()
    )
    if few and len(paths) <= _FEW:
        found = _resample_few(rows, sorted(paths), sample.table, counting, resamples)
    else:
        found = _resample_many(rows, sample.table, counting, resamples, seed)
    scale = math.sqrt(len(rows) / max(sample.cases, 1))
    f1_of = {path: summary.attributes[path].f1 for path in found.attributes}
    attributes = _intervals(f1_of, found.attributes, found.cases, scale)
    estimates = {
        **summary.metrics,
        "micro_precision": summary.micro.precision,
        "micro_recall": summary.micro.recall,
    }
    for name, flags in summary.flags.items():
        if _NOTHING_VARIES.intersection(flags):
            estimates[name] = None
    headline = _intervals(estimates, found.metrics, dict.fromkeys(estimates, len(rows)), scale)
    return RunIntervals(
        metrics={**headline, **known_shares}, attributes=dict(sorted(attributes.items()))
    )


class _Offsets(NamedTuple):
    """The bounds of all metrics, and of the F1 of each attribute, relative to their estimates.

    `cases` is the number of cases in which each attribute counts.
    """

    metrics: Mapping[str, Interval | None]
    attributes: Mapping[str, Interval | None]
    cases: Mapping[str, int]


def _resample_many(
    rows: Sequence[SampledCase],
    table: AttributeTable,
    counting: CountingOptions,
    resamples: int,
    seed: int,
) -> _Offsets:
    """Resample any number of cases, with arrays."""
    import numpy as np

    together = -(-len(rows) // GROUPS)
    matrix = CaseMatrix(rows, table, counting, together=together)
    weights = resampling_weights(matrix.rows, resamples, seed)
    metrics = ResampledMetrics(len(weights))
    cases_of = dict(zip(matrix.paths, matrix.cases_by_path(), strict=True))
    attributes: dict[str, Interval | None] = {}
    for columns in matrix.blocks():
        tp, fp, fn = np.split(product(weights, np.hstack(columns[1:])), 3, axis=1)
        f1s = metrics.add_attributes(tp, fp, fn)
        cases = [cases_of[path] for path in columns.paths]
        attributes.update(zip(columns.paths, interval_offsets(f1s.T, cases), strict=True))
    resampled = metrics.metrics(product(weights, matrix.sums), counting, by_case=matrix.is_rated)
    values = np.stack(list(resampled.values()))
    offsets = interval_offsets(values, [len(rows)] * len(values))
    return _Offsets(dict(zip(resampled, offsets, strict=True)), attributes, cases_of)


class _F1s(dict[tuple[int, int, int], float | None]):
    """The F1 of counts, each computed once, because many resamples have the same."""

    def __missing__(self, counts: tuple[int, int, int]) -> float | None:
        value = self[counts] = f1(*counts)
        return value


def _resample_few(
    rows: Sequence[SampledCase],
    paths: Sequence[str],
    table: AttributeTable,
    counting: CountingOptions,
    resamples: int,
) -> _Offsets:
    """Resample few cases and attributes, without arrays."""
    costs, column = cost_table(counting), {path: 3 * place for place, path in enumerate(paths)}
    cases = dict.fromkeys(paths, 0)
    counts = array("q")
    for case in rows:
        own, counted = [0] * 3 * len(paths), set()
        for cell, times in zip(case.cells, case.times, strict=True):
            path, cost = table.path(cell >> CELL_BITS), costs[cell & FACT_MASK]
            for place, number in enumerate((cost.tp, cost.fp, cost.fn), column[path]):
                own[place] += number * times
            if cost.tp or cost.fp or cost.fn:
                counted.add(path)
        for path in counted:
            cases[path] += 1
        counts.extend([*own, *case.sums])
    weights, size = kernel.resample(len(rows), resamples, _SEEDS), len(rows)
    # Many resamples of very few cases are the same.
    places: dict[bytes, int] = {}
    drawn = [
        places.setdefault(weights[start : start + size], len(places))
        for start in range(0, len(weights), size)
    ]
    columns = kernel.weigh(b"".join(places), counts, size)
    f1_of, attributes = _F1s(), dict[str, Interval | None]()
    totals, numbers = [0.0] * len(places), [0] * len(places)
    for path in paths:
        f1s = [f1_of[key] for key in zip(*columns[column[path] : column[path] + 3], strict=True)]
        totals = [total + (value or 0.0) for total, value in zip(totals, f1s, strict=True)]
        numbers = [count + (value is not None) for count, value in zip(numbers, f1s, strict=True)]
        attributes[path] = _offsets([f1s[place] for place in drawn], cases[path])
    of_attributes: Iterable[tuple[int, ...]] = repeat((), len(places))
    if paths:
        of_attributes = zip(*columns[: 3 * len(paths)], strict=True)
    sums = zip(*columns[3 * len(paths) :], strict=True)
    by_case = any(case.sums.rated for case in rows)
    metrics = [
        _headline(
            CaseSums(*own),
            _Pooled(sum(each[::3]), sum(each[1::3]), sum(each[2::3]), total, defined),
            counting,
            by_case=by_case,
        )
        for own, each, total, defined in zip(sums, of_attributes, totals, numbers, strict=True)
    ]
    offsets = {
        name: _offsets([metrics[place][name] for place in drawn], len(rows)) for name in metrics[0]
    }
    return _Offsets(offsets, attributes, cases)


def _intervals(
    estimates: Mapping[str, float | None],
    offsets: Mapping[str, Interval | None],
    cases: Mapping[str, int],
    scale: float,
) -> dict[str, Interval]:
    """Return the intervals of the defined metrics.

    An estimate of 0 or 1 does not vary between resamples, so it gets a Wilson interval. Another
    estimate that does not vary has none.
    """
    found: dict[str, Interval] = {}
    for name, estimate in estimates.items():
        interval, offset = None, offsets[name]
        if estimate in _LIMITS:
            whole = round(cases[name] / scale**2)
            interval = wilson(whole if estimate else 0, whole)
        elif estimate is not None and offset is not None and has_width(offset):
            interval = interval_around(estimate, (offset[0] * scale, offset[1] * scale))
        if interval is not None:
            found[name] = interval
    return found


def resampling_weights(cases: int, resamples: int, seed: int) -> Bytes:
    """Return how often each resample draws each case; the first row draws every case once."""
    import numpy as np

    generator = np.random.default_rng(seed)
    weights = np.ones((resamples + 1, cases), np.uint8)
    offsets = np.arange(_ROW_BLOCK)[:, None] * cases
    for top in range(1, resamples + 1, _ROW_BLOCK):
        rows = weights[top : top + _ROW_BLOCK]
        drawn = generator.integers(0, cases, rows.shape, np.uint32) + offsets[: len(rows)]
        rows[:] = np.bincount(drawn.ravel(), minlength=rows.size).reshape(rows.shape)
    return weights


def product(rows: Floats | Bytes, columns: Floats) -> Floats:
    """Return the product of two integer matrices: exact in any order, computed on this thread."""
    import numpy as np

    width = columns.shape[1]
    step = max(1, _PRODUCT // (_ROW_BLOCK * max(1, width)))
    total = np.zeros((len(rows), width))
    for top in range(0, len(rows), _ROW_BLOCK):
        some = rows[top : top + _ROW_BLOCK].astype(np.float64, copy=False)
        for start in range(0, len(columns), step):
            part = slice(start, start + step)
            total[top : top + _ROW_BLOCK] += some[:, part] @ columns[part]
    return total


def interval_around(estimate: float, offsets: Interval, limits: Interval = _LIMITS) -> Interval:
    """Return the interval with these offsets from an estimate, widened to contain the estimate."""
    low, high = (estimate + offset for offset in offsets)
    return max(limits[0], min(low, estimate)), min(limits[1], max(high, estimate))


def has_width(offsets: Interval) -> bool:
    """Return whether resamples vary; equal cases do not show how much other cases would vary."""
    return sortable(offsets[0]) != sortable(offsets[1])


def interval_offsets(values: Floats, cases: Sequence[int]) -> list[Interval | None]:
    """Return the bounds of metrics relative to their estimates.

    Each row contains the estimate, then its resamples; undefined resamples are excluded. Resamples
    of few cases vary too little, so the tails are narrowed until the interval of a mean is as wide
    as Student's t requires. A single case has no interval.
    """
    import numpy as np

    resamples = np.sort(values[:, 1:], axis=1)  # NaN sorts last
    defined = (~np.isnan(resamples)).sum(axis=1).tolist()
    estimates = values[:, 0].tolist()
    found: list[Interval | None] = []
    for row, number, estimate, count in zip(resamples, defined, estimates, cases, strict=True):
        value = None if math.isnan(estimate) else estimate
        found.append(_bounds(row, number, value, count))
    return found


def _offsets(values: Sequence[float | None], cases: int) -> Interval | None:
    """Return the same for one metric without arrays."""
    estimate, *resamples = values
    ordered = sorted([value for value in resamples if value is not None])
    return _bounds(ordered, len(ordered), estimate, cases)


def _bounds(
    ordered: Sequence[float] | Floats, number: int, estimate: float | None, cases: int
) -> Interval | None:
    if not number or cases <= 1 or estimate is None:
        return None
    student = _student_quantile(NORMAL_QUANTILE, cases - 1)
    deviations = -math.sqrt(cases / (cases - 1)) * student
    tail = 0.5 * (1.0 + math.erf(deviations / math.sqrt(2.0)))  # of the normal distribution
    low, high = (_quantile(ordered, number, share) for share in (tail, 1 - tail))
    return low - estimate, high - estimate


def _quantile(ordered: Sequence[float] | Floats, number: int, share: float) -> float:
    """Return a quantile of the first `number` values, by linear interpolation."""
    place = share * (number - 1)
    low = int(place)
    before, after = float(ordered[low]), float(ordered[min(low + 1, number - 1)])
    return before + (after - before) * (place - low)


def _student_quantile(z: float, freedom: int) -> float:
    """Convert a normal quantile to a quantile of Student's t by the Cornish-Fisher expansion."""
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return math.fsum(term / float(freedom) ** power for power, term in enumerate(terms))


class ResampledMetrics:
    """The metrics of many resamples, computed from blocks of attribute counts and from sums."""

    def __init__(self, resamples: int) -> None:
        import numpy as np

        self._tp, self._fp, self._fn = (np.zeros(resamples) for _ in range(3))
        self._f1s, self._number = np.zeros(resamples), np.zeros(resamples)

    def add_attributes(self, tp: Floats, fp: Floats, fn: Floats) -> Floats:
        """Return the F1 of each attribute in each resample; NaN if there was nothing to count."""
        import numpy as np

        f1s = f1(tp, fp, fn)
        self._tp += tp.sum(1)
        self._fp += fp.sum(1)
        self._fn += fn.sum(1)
        for column in np.nan_to_num(f1s).T:  # in order, as without arrays
            self._f1s += column
        self._number += (~np.isnan(f1s)).sum(1)
        return f1s

    def metrics(
        self, sums: Floats, counting: CountingOptions, *, by_case: bool
    ) -> dict[str, Floats]:
        """Return the metrics of each resample, after all attributes were added."""
        own = CaseSums(*cast("list[int]", list(sums.T)))
        sides = self._tp, self._fp, self._fn, self._f1s, self._number
        pooled = _Pooled(*cast("tuple[float, ...]", sides))
        return cast("dict[str, Floats]", _headline(own, pooled, counting, by_case=by_case))


class _Pooled(NamedTuple):
    """The sums over the attributes of a resample, or of many if they are arrays.

    `f1s` is the sum of the F1 of the attributes that have one, of which there are `number`.
    """

    tp: float
    fp: float
    fn: float
    f1s: float
    number: float


def _headline(
    own: CaseSums, pooled: _Pooled, counting: CountingOptions, *, by_case: bool
) -> dict[str, float | None]:
    """Return the metrics of a resample, or of many if the sums are arrays.

    The quality metrics are those of all keys, or `by_case` the means of those of an evaluator. The
    accuracy of no compared value and a safety that was not judged are undefined.
    """
    headline = (
        ratio(own.score / STEP, own.scored),
        ratio(pooled.f1s, pooled.number),
        ratio(own.f1 / STEP, own.f1s),
        f1(pooled.tp, pooled.fp, pooled.fn),
    )
    quality: dict[str, float | None] = {"safety": ratio(own.safety / STEP, own.judged)}
    if by_case:
        for name in (*QualityMetrics._fields, "rqs"):
            quality[name] = ratio(getattr(own, name) / STEP, own.rated)
    else:
        counts = QualityCounts(*tuple(own)[_BUCKETS])
        of_keys = quality_metrics(counts)
        rqs = quality_score(of_keys, counting, _filled(quality["safety"]))
        quality |= {**of_keys._asdict(), "rqs": rqs}
        quality["accuracy"] = ratio(counts.matched, counts.scorable)
    return {
        **dict(zip(HEADLINE_METRICS, headline, strict=True)),
        **quality,
        "micro_precision": ratio(pooled.tp, pooled.tp + pooled.fp),
        "micro_recall": ratio(pooled.tp, pooled.tp + pooled.fn),
    }


def _filled(safety: float | Floats | None) -> float:
    """Return a safety that was not judged as 1; an array if it is one."""
    if safety is None or isinstance(safety, float):
        return 1.0 if safety is None else safety
    import numpy as np

    return cast("float", np.nan_to_num(safety, nan=1.0))


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
        import numpy as np

        self.rows = -(-len(cases) // together)
        cell, times = (
            np.frombuffer(b"".join([array("q", each) for each in columns]), np.int64)
            for columns in ([case.cells for case in cases], [case.times for case in cases])
        )
        self._times = times.astype(np.float64)
        self._case = np.repeat(np.arange(len(cases)), [len(case.cells) for case in cases])
        self._row = self._case // together
        places = np.zeros(len(table) << CELL_BITS, np.int32)
        places[cell] = 1
        self._cells = np.flatnonzero(places)  # only those that occur, in order
        places[self._cells] = np.arange(len(self._cells))
        self._cell = places[cell]
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
        import numpy as np

        for start in range(0, len(self.paths), _ATTRIBUTE_BLOCK):
            paths = self.paths[start : start + _ATTRIBUTE_BLOCK]
            cells = np.flatnonzero((self._path >= start) & (self._path < start + len(paths)))
            columns = np.eye(len(paths))[self._path[cells] - start]
            counted = self._counted(cells)
            tp, _, fp, fn = (
                product(counted, cost[:, None] * columns) for cost in self._costs[cells].T
            )
            yield _AttributeColumns(paths, tp, fp, fn)

    def cases_by_path(self) -> list[int]:
        """Return the number of cases in which each attribute counts, in the order of the paths."""
        import numpy as np

        counts = (self._costs[:, [0, 2, 3]] > 0).any(axis=1)
        here = counts[self._cell]
        size = int(self._case[-1]) + 1 if len(self._case) else 1
        occurs = np.zeros(len(self.paths) * size, np.bool_)
        occurs[self._path[self._cell[here]] * size + self._case[here]] = True
        counted: list[int] = occurs.reshape(-1, size).sum(axis=1).tolist()
        return counted

    def _counted(self, cells: Integers) -> Floats:
        """Return how often each of the given cells occurs in each row."""
        import numpy as np

        place = np.full(len(self._cells), -1)
        place[cells] = np.arange(len(cells))
        column = place[self._cell]
        here = column >= 0
        at = self._row[here] * len(cells) + column[here]
        counted = np.bincount(at, self._times[here], self.rows * len(cells))
        return counted.astype(np.float64, copy=False).reshape(self.rows, len(cells))
