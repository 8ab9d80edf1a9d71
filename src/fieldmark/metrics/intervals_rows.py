"""What single cases, or groups of them, add to a run: the rows that are drawn anew or exchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fieldmark.metrics.case_score import CaseStats
from fieldmark.metrics.counts import cost_table
from fieldmark.metrics.options import CountingHalf
from fieldmark.metrics.quality import QualityCounts, bucket_table
from fieldmark.metrics.sums import RunSums
from fieldmark.model.block import AttributeTable
from fieldmark.model.outcome import CELL_BITS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["MEANS", "STEP", "CaseMatrix", "CaseRow", "Columns", "row_means"]

STEP: Final = 1 << 24
"""Scores are counted in whole steps, so that sums do not depend on their order."""

MEANS: Final = 4
"""Columns of means: the sum and the number of scores, then of F1s by case."""

_FACT_MASK: Final = (1 << CELL_BITS) - 1
_BLOCK: Final = 64
"""Attributes that are reckoned with at once; bounds the memory."""


class CaseRow:
    """The cells and the scores of some cases, summed."""

    __slots__ = ("cells", "means")

    def __init__(self, cells: Mapping[int, int] = {}, means: Sequence[int] = (0,) * MEANS) -> None:
        self.cells: Counter[int] = Counter(cells)
        self.means = list(means)

    def add(self, cells: Mapping[int, int], means: Sequence[int]) -> None:
        """Add one case."""
        for cell, times in cells.items():
            self.cells[cell] += times
        for place, value in enumerate(means):
            self.means[place] += value


def row_means(stats: CaseStats) -> tuple[int, ...]:
    """The score of a case and its F1, each with how many there are: one or none."""
    sums = RunSums.of([(stats, 1)])
    parts = (sums.scores, sums.by_case.f1)
    return tuple(
        value for part in parts for value in (round((part.mean or 0.0) * STEP), part.number)
    )


class Columns(NamedTuple):
    """The counts of some attributes: a row a case, a column an attribute."""

    paths: Sequence[str]
    tp: Floats
    fp: Floats
    fn: Floats


class CaseMatrix:
    """Rows of cases as numbers under one way of counting."""

    __slots__ = (
        "_cell",
        "_costs",
        "_counting",
        "_of_path",
        "_row",
        "_times",
        "means",
        "paths",
        "rows",
    )

    def __init__(
        self,
        rows: Sequence[CaseRow],
        table: AttributeTable,
        counting: CountingHalf,
        paths: Sequence[str] | None = None,
    ) -> None:
        import numpy as np

        self.rows = len(rows)
        self._counting = counting
        self._cell = np.fromiter(_all(row.cells for row in rows), np.int64)
        self._times = np.fromiter(_all(row.cells.values() for row in rows), np.float64)
        self._row = np.repeat(np.arange(self.rows), [len(row.cells) for row in rows])
        self.means = np.array([row.means for row in rows], np.float64).reshape(-1, MEANS)
        known = {table.path(number) for number in np.unique(self._cell >> CELL_BITS).tolist()}
        self.paths = sorted(known) if paths is None else list(paths)
        places = {path: place for place, path in enumerate(self.paths)}
        of_number = [places.get(each.path, -1) for each in table.attributes]
        self._of_path = np.array(of_number, np.int64)[self._cell >> CELL_BITS]
        self._costs = np.array(cost_table(counting), np.float64)[self._cell & _FACT_MASK]

    def blocks(self) -> Iterator[Columns]:
        """The counts of all attributes, some at a time."""
        import numpy as np

        for start in range(0, len(self.paths), _BLOCK):
            paths = self.paths[start : start + _BLOCK]
            width = len(paths)
            here = (self._of_path >= start) & (self._of_path < start + width)
            place = self._row[here] * width + self._of_path[here] - start
            costs = self._times[here, None] * self._costs[here]
            summed = [
                np.bincount(place, cost, self.rows * width).astype(np.float64) for cost in costs.T
            ]
            tp, _, fp, fn = (each.reshape(self.rows, width) for each in summed)
            yield Columns(paths, tp, fp, fn)

    def buckets(self) -> Floats:
        """The keys of each row by their buckets of quality."""
        import numpy as np

        table = np.array(bucket_table(self._counting.ignore_scope), np.float64)
        mine = table[self._cell & _FACT_MASK] * self._times[:, None]
        columns = [
            np.bincount(self._row, mine[:, place], self.rows)
            for place in range(len(QualityCounts._fields))
        ]
        return np.stack(columns, axis=1)


def _all(parts: Iterable[Iterable[int]]) -> Iterator[int]:
    return chain.from_iterable(parts)
