"""Bootstrap confidence intervals of the figures of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fieldmark.metrics.case_sample import (
    MEANS,
    ONCE,
    STEP,
    WIDTH,
    CaseContribution,
    CaseSample,
    PackedCells,
)
from fieldmark.metrics.conventions import CountingOptions, RqsForm
from fieldmark.metrics.counts import cost_table
from fieldmark.metrics.quality import QualityCounts, bucket_table
from fieldmark.metrics.rates import LEVEL, Interval, normal_quantile, wilson
from fieldmark.metrics.summary import RunIntervals, Summary
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.model.outcomes import AttributeTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Weights: TypeAlias = NDArray[np.uint8]
    Ints: TypeAlias = NDArray[np.integer]

__all__ = [
    "GROUPS",
    "HEADLINE",
    "QUALITY",
    "RESAMPLES",
    "AttributeColumns",
    "CaseMatrix",
    "ResampledFigures",
    "around",
    "deviations",
    "product",
    "quality_draws",
    "resampling_weights",
    "run_intervals",
    "spans",
]

RESAMPLES: Final = 1_000

_NORMAL: Final = NormalDist()
_DRAWS: Final = 64
"""ResampledFigures that are made, or summed, at once; bounds the memory."""
_PRODUCT: Final = 1 << 18
"""Multiplications up to which libraries of linear algebra stay on one thread.

Beyond, they wake others, which then wait for more at the price of a whole processor.
"""


def deviations(values: Floats, cases: int, level: float = LEVEL) -> Interval | None:
    """How far resampled values lie from the first, below and above."""
    return spans(values[None], [cases], level)[0]


def spans(values: Floats, cases: Sequence[int], level: float = LEVEL) -> list[Interval | None]:
    """The deviations of several figures, a row each; undefined values are left out.

    Resamples of a few cases vary too little. The tails are narrowed so that for a mean the
    interval is as wide as the one by Student's t; with a single case there is none.
    """
    import numpy as np

    drawn = np.sort(values[:, 1:], axis=1)  # what is undefined comes last
    defined = (~np.isnan(drawn)).sum(axis=1).tolist()
    estimates = values[:, 0].tolist()
    found: list[Interval | None] = []
    for row, number, estimate, count in zip(drawn, defined, estimates, cases, strict=True):
        if not number or count <= 1 or math.isnan(estimate):
            found.append(None)
            continue
        tail = _tail(count, level)
        low, high = (_at(row, number, share) for share in (tail, 1 - tail))
        found.append((low - estimate, high - estimate))
    return found


def resampling_weights(cases: int, resamples: int, seed: int) -> Weights:
    """How often each case is drawn in each resample: as many draws as there are cases.

    The first row draws every case once: what comes of it is the figure itself.
    """
    import numpy as np

    chance = np.random.default_rng(seed)
    weights = np.ones((resamples + 1, cases), np.uint8)
    apart = np.arange(_DRAWS)[:, None] * cases
    for top in range(1, resamples + 1, _DRAWS):
        rows = weights[top : top + _DRAWS]
        drawn = chance.integers(0, cases, rows.shape, np.uint32) + apart[: len(rows)]
        rows[:] = np.bincount(drawn.ravel(), minlength=rows.size).reshape(rows.shape)
    return weights


def product(rows: Floats | Weights, columns: Floats) -> Floats:
    """The product of two tables of whole numbers; exact in any order, and on this thread alone."""
    import numpy as np

    width = columns.shape[1]
    step = max(1, _PRODUCT // (_DRAWS * max(1, width)))
    total = np.zeros((len(rows), width))
    for top in range(0, len(rows), _DRAWS):
        some = rows[top : top + _DRAWS].astype(np.float64, copy=False)
        for start in range(0, len(columns), step):
            part = slice(start, start + step)
            total[top : top + _DRAWS] += some[:, part] @ columns[part]
    return total


def around(estimate: float, off: Interval, limits: Interval = (0.0, 1.0)) -> Interval:
    """The interval of an estimate that is off by so much; it holds the estimate."""
    low, high = (estimate + each for each in off)
    return max(limits[0], min(low, estimate)), min(limits[1], max(high, estimate))


def _at(ordered: Floats, number: int, share: float) -> float:
    """The value below which such a share of the first values lies, as a straight line has it."""
    place = share * (number - 1)
    low = int(place)
    before, after = float(ordered[low]), float(ordered[min(low + 1, number - 1)])
    return before + (after - before) * (place - low)


def _tail(cases: int, level: float) -> float:
    """The share of resamples that is cut off at either end."""
    return _NORMAL.cdf(
        -math.sqrt(cases / (cases - 1)) * _student(normal_quantile(level), cases - 1)
    )


def _student(z: float, freedom: int) -> float:
    """The quantile of Student's t for a normal quantile, by the expansion of Cornish and Fisher."""
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return math.fsum(term / float(freedom) ** power for power, term in enumerate(terms))


HEADLINE: Final = ("mean_score", "macro_f1_by_attribute", "macro_f1_by_case", "micro_f1")
"""The figures that every run has, the one that stands for it first."""

QUALITY: Final = ("completeness", "hallucination", "accuracy", "rqs")
"""The figures of response quality that vary with the cases."""


class ResampledFigures:
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


def quality_draws(buckets: Floats, counting: CountingOptions, safety: float) -> dict[str, Floats]:
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


_BLOCK: Final = 64
"""Attributes that are reckoned with at once; bounds the memory."""
_CELLS: Final = 512
"""The same for cells."""


class AttributeColumns(NamedTuple):
    """The counts of some attributes: a row a case, or a draw of cases; a column an attribute."""

    paths: Sequence[str]
    tp: Floats
    fp: Floats
    fn: Floats


class CaseMatrix:
    """Rows of cases as numbers under one way of counting; so many of them may go `together`."""

    __slots__ = (
        "_buckets",
        "_cells",
        "_costs",
        "_entries",
        "_of_path",
        "_size",
        "means",
        "paths",
        "rows",
    )

    def __init__(
        self,
        rows: Sequence[CaseContribution],
        table: AttributeTable,
        counting: CountingOptions,
        paths: Sequence[str] | None = None,
        *,
        together: int = 1,
    ) -> None:
        import numpy as np

        self._size = len(rows)
        self.rows = -(-self._size // together)
        self._cells, self._entries = _entries([row.packed for row in rows], len(table), together)
        self.means = np.zeros((self.rows, MEANS))
        means = np.array([row.means for row in rows], np.float64).reshape(-1, MEANS)
        np.add.at(self.means, np.arange(self._size) // together, means)
        numbers = self._cells >> CELL_BITS
        known = {table.path(number) for number in numbers.tolist()}
        self.paths = sorted(known) if paths is None else list(paths)
        places = {path: place for place, path in enumerate(self.paths)}
        of_number = [places.get(each.path, -1) for each in table.attributes]
        self._of_path = np.array(of_number, np.int64)[numbers]
        facts = self._cells & FACT_MASK
        self._costs = np.array(cost_table(counting), np.float64)[facts]
        self._buckets = np.array(bucket_table(counting.ignore_scope), np.float64)[facts]

    def blocks(self) -> Iterator[AttributeColumns]:
        """The counts of all attributes, some at a time."""
        import numpy as np

        for start in range(0, len(self.paths), _BLOCK):
            paths = self.paths[start : start + _BLOCK]
            mine = np.flatnonzero((self._of_path >= start) & (self._of_path < start + len(paths)))
            places = self._of_path[mine] - start
            cells = self._counted(mine)
            tp, _, fp, fn = (
                product(cells, cost[:, None] * np.eye(len(paths))[places])
                for cost in self._costs[mine].T
            )
            yield AttributeColumns(paths, tp, fp, fn)

    def buckets(self) -> Floats:
        """The keys of each row by their buckets of quality."""
        import numpy as np

        total = np.zeros((self.rows, self._buckets.shape[1]))
        for start in range(0, len(self._cells), _CELLS):
            mine = np.arange(start, min(start + _CELLS, len(self._cells)))
            total += product(self._counted(mine), self._buckets[mine])
        return total

    def touched(self) -> list[int]:
        """In how many cases each attribute counts for something, in the order of the paths."""
        import numpy as np

        counts = (self._costs[:, [0, 2, 3]] > 0).any(axis=1) & (self._of_path >= 0)
        here = counts[self._entries.cell]
        case, path = self._entries.case[here], self._of_path[self._entries.cell[here]]
        found = np.zeros((self._size, len(self.paths)), np.bool_)
        found[case, path] = True
        return [int(number) for number in found.sum(axis=0)]

    def _counted(self, cells: Ints) -> Floats:
        """How often each row has each of some cells."""
        import numpy as np

        place = np.full(len(self._cells), -1)
        place[cells] = np.arange(len(cells))
        of_entry = place[self._entries.cell]
        here = of_entry >= 0
        at = self._entries.row[here] * len(cells) + of_entry[here]
        times = self._entries.times[here]
        counted: Floats = np.bincount(at, times, self.rows * len(cells)).astype(
            np.float64, copy=False
        )
        return counted.reshape(self.rows, len(cells))


class _Entries(NamedTuple):
    """Which case, and which row with it, has which cell how often; cells by their places."""

    case: Ints
    row: Ints
    cell: Ints
    times: Floats


def _entries(cases: Sequence[PackedCells], attributes: int, together: int) -> tuple[Ints, _Entries]:
    """The cells that occur, in order, and where."""
    import numpy as np

    sizes = [len(each.cells) // WIDTH for each in cases]
    once = [each.times or ONCE * size for each, size in zip(cases, sizes, strict=True)]
    times = np.frombuffer(b"".join(once), np.int64).astype(np.float64)
    cell = np.frombuffer(b"".join([each.cells for each in cases]), np.int64)
    places = np.zeros(attributes << CELL_BITS, np.int32)
    places[cell] = 1
    occurring = np.flatnonzero(places)
    places[occurring] = np.arange(len(occurring))
    case = np.repeat(np.arange(len(cases)), sizes)
    return occurring, _Entries(case, case // together, places[cell], times)


GROUPS: Final = 512
"""Of more cases, as many are drawn together as it takes; they were put in order by chance."""
_LIMITS: Final = (0.0, 1.0)


def run_intervals(
    sample: CaseSample,
    summary: Summary,
    counting: CountingOptions,
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
    draws = ResampledFigures(len(weights))
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
        self,
        columns: AttributeColumns,
        draws: ResampledFigures,
        weights: Weights,
        touched: Iterator[int],
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
