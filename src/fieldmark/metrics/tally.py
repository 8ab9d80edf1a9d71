"""The sums of a run: whole numbers only, so that any split of the cases gives the same bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from fieldmark.metrics.averages import ExactSum
from fieldmark.metrics.case_score import SHORT, CaseStats
from fieldmark.metrics.sums import CaseTotals, RunSums
from fieldmark.model.case import CaseInput
from fieldmark.model.outcome import CELL_BITS
from fieldmark.model.outcomes import AttributeTable, Outcomes

__all__ = ["FactsByPath", "Tally"]

FactsByPath: TypeAlias = Mapping[str, Mapping[int, int]]
"""For every attribute how often each fact happened."""

_State: TypeAlias = tuple[AttributeTable, "Counter[int]", RunSums]

_FACT_MASK: Final = (1 << CELL_BITS) - 1
_BATCH: Final = 8192
"""Cases wait until there are so many, then equal ones are counted together."""
_HELD: Final = 1 << 18
"""Cells that cases may hold while they wait: those with long lists wait for fewer others."""


class Tally:
    """Adds cases up; tallies of parts of a run merge into the tally of the whole."""

    __slots__ = ("_cells", "_held", "_stats", "_sums", "_waiting", "table")

    def __init__(self, table: AttributeTable) -> None:
        self.table = table
        self._cells: Counter[int] = Counter()
        self._sums = RunSums()
        self._waiting: dict[int, Outcomes] = {}
        self._stats: list[CaseStats] = []
        self._held = 0

    def add(self, block: Outcomes, stats: CaseStats, read: CaseInput = CaseInput.OK) -> None:
        """Add one case that was compared."""
        if read is not CaseInput.OK:
            self._sums += RunSums(cases=CaseTotals.of_input(read))
        self.add_all([block], [stats])

    def add_all(self, blocks: Sequence[Outcomes], stats: Sequence[CaseStats]) -> None:
        """Add many cases that could be read."""
        self._waiting.update(zip(map(id, stats), blocks, strict=True))
        self._stats += stats
        self._held += sum([len(block.cells) for block in blocks])
        if len(self._stats) >= _BATCH or self._held >= _HELD:
            self.settle()

    def add_invalid_truth(self) -> None:
        """Add one case whose truth could not be read; nothing of it is scored."""
        self._sums += RunSums(cases=CaseTotals(total=1, invalid_truth=1))

    def add_failed(self) -> None:
        """Add one case whose comparison broke down as a whole."""
        self._sums += RunSums(cases=CaseTotals(total=1, errors=1))

    def add_unexpected(self, number: int = 1) -> None:
        """Note candidates for which there is no truth."""
        self._sums += RunSums(cases=CaseTotals(unexpected=number))

    def add_consistency(self, agreement: float) -> None:
        """Add how far several candidates of one case agree."""
        self._sums += RunSums(consistency=ExactSum.of([(agreement, 1)]))

    def merge(self, other: Tally) -> None:
        """Take in another part of the run; its attributes are found again by their paths."""
        numbers = [self.table.add(attribute) for attribute in other.table.attributes]
        for cell, times in other.cells().items():
            self._cells[numbers[cell >> CELL_BITS] << CELL_BITS | cell & _FACT_MASK] += times
        self._sums += other.sums()

    def cells(self) -> Mapping[int, int]:
        """How often each cell happened."""
        self.settle()
        return self._cells

    def sums(self) -> RunSums:
        """The sums over cases."""
        self.settle()
        return self._sums

    def facts(self) -> FactsByPath:
        """How often each fact happened, for every attribute that was met, in order of paths."""
        by_path: dict[str, dict[int, int]] = {}
        for cell, times in self.cells().items():
            facts = by_path.setdefault(self.table.path(cell >> CELL_BITS), {})
            facts[cell & _FACT_MASK] = facts.get(cell & _FACT_MASK, 0) + times
        return dict(sorted(by_path.items()))

    def settle(self) -> None:
        """Count what waits. Cases with equal cells share one record, so identity groups them."""
        if not self._stats:
            return
        distinct = {id(stats): stats for stats in self._stats}
        times = Counter(map(id, self._stats))
        cells = self._cells
        known = cells.get
        short: list[int] = []
        for key, number in times.items():
            block = self._waiting[key]
            if len(block.cells) <= SHORT:
                short += block.cells * number
                continue
            counted = block.times or Counter(block.cells)
            for cell, count in counted.items():
                cells[cell] = known(cell, 0) + count * number
        cells.update(short)
        self._sums += RunSums.of([(stats, times[key]) for key, stats in distinct.items()])
        self._waiting.clear()
        self._stats.clear()
        self._held = 0

    def __getstate__(self) -> _State:
        self.settle()
        return self.table, self._cells, self._sums

    def __setstate__(self, state: _State) -> None:
        self.table, self._cells, self._sums = state
        self._waiting, self._stats, self._held = {}, [], 0
