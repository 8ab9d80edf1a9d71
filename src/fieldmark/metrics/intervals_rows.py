"""What single cases, or groups of them, add to a run: the rows that are drawn anew or exchanged."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from fieldmark.metrics.case_score import CaseStats
from fieldmark.metrics.counts import cost_table
from fieldmark.metrics.intervals import product
from fieldmark.metrics.options import CountingHalf
from fieldmark.metrics.quality import bucket_table
from fieldmark.metrics.sums import f1_in_a_mean
from fieldmark.model.outcome import CELL_BITS
from fieldmark.model.outcomes import AttributeTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.integer]

__all__ = [
    "MEANS",
    "STEP",
    "CaseMatrix",
    "CaseRow",
    "Columns",
    "PackedCells",
    "Row",
    "packed",
    "row_means",
]

STEP: Final = 1 << 24
"""Scores are counted in whole steps, so that sums do not depend on their order."""

MEANS: Final = 4
"""Columns of means: the sum and the number of scores, then of F1s by case."""

_FACT_MASK: Final = (1 << CELL_BITS) - 1
_BLOCK: Final = 64
"""Attributes that are reckoned with at once; bounds the memory."""
_CELLS: Final = 512
"""The same for cells."""


_CODE: Final = "q"
_WIDTH: Final = array(_CODE).itemsize
_ONCE: Final = array(_CODE, [1]).tobytes()


class PackedCells(NamedTuple):
    """Cells as the bytes of whole numbers, and how often each occurs; without `times`, once."""

    cells: bytes
    times: bytes | None = None

    def unpacked(self) -> Sequence[int]:
        """The cells as numbers."""
        return array(_CODE, self.cells)


def packed(cells: Iterable[int], times: Iterable[int] | None = None) -> PackedCells:
    """Cells in little room."""
    counted = None if times is None else array(_CODE, times).tobytes()
    return PackedCells(array(_CODE, cells).tobytes(), counted)


class Row(Protocol):
    """What some cases add to a run."""

    @property
    def packed(self) -> PackedCells:
        """Their cells."""
        ...

    @property
    def means(self) -> Sequence[int]:
        """Their scores, summed."""
        ...


class CaseRow:
    """The cells and the scores of some cases, summed."""

    __slots__ = ("cells", "means")

    def __init__(self) -> None:
        self.cells: Counter[int] = Counter()
        self.means = [0] * MEANS

    def add(self, cells: Mapping[int, int], means: Sequence[int]) -> None:
        """Add one case."""
        for cell, times in cells.items():
            self.cells[cell] += times
        for place, value in enumerate(means):
            self.means[place] += value

    @property
    def packed(self) -> PackedCells:
        """The cells, each with how often it occurs."""
        return packed(self.cells, self.cells.values())


def row_means(stats: CaseStats) -> tuple[int, ...]:
    """The score of a case and its F1, each with how many there are: one or none."""
    if stats.score is None:
        return (0,) * MEANS
    parts = (stats.score, f1_in_a_mean(stats))
    return tuple(
        value for part in parts for value in ((0, 0) if part is None else (round(part * STEP), 1))
    )


class Columns(NamedTuple):
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
        rows: Sequence[Row],
        table: AttributeTable,
        counting: CountingHalf,
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
        facts = self._cells & _FACT_MASK
        self._costs = np.array(cost_table(counting), np.float64)[facts]
        self._buckets = np.array(bucket_table(counting.ignore_scope), np.float64)[facts]

    def blocks(self) -> Iterator[Columns]:
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
            yield Columns(paths, tp, fp, fn)

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

    sizes = [len(each.cells) // _WIDTH for each in cases]
    once = [each.times or _ONCE * size for each, size in zip(cases, sizes, strict=True)]
    times = np.frombuffer(b"".join(once), np.int64).astype(np.float64)
    cell = np.frombuffer(b"".join([each.cells for each in cases]), np.int64)
    places = np.zeros(attributes << CELL_BITS, np.int32)
    places[cell] = 1
    occurring = np.flatnonzero(places)
    places[occurring] = np.arange(len(occurring))
    case = np.repeat(np.arange(len(cases)), sizes)
    return occurring, _Entries(case, case // together, places[cell], times)
