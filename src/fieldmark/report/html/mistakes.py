"""Mistakes of a kind: the same thing gone wrong at the same attribute, for the same reason."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from fieldmark.model.block import AttributeTable
from fieldmark.model.json import JsonValue
from fieldmark.model.outcome import CELL_BITS, Outcome, fact_of
from fieldmark.report.html.places import placed
from fieldmark.report.html.shown import ShownCase
from fieldmark.report.html.slots import slot
from fieldmark.values.paths import resolve

__all__ = ["Mistakes"]

_MOST: Final = 25
_SHORT: Final = 300
_WRONG: Final = frozenset(
    {
        Outcome.WRONG_VALUE,
        Outcome.FORMAT_ERROR,
        Outcome.OMISSION,
        Outcome.HALLUCINATION,
        Outcome.ERROR,
    }
)
_WRONG_CODES: Final = frozenset(
    code for code in range(1 << CELL_BITS) if fact_of(code).outcome in _WRONG
)
_CODE: Final = (1 << CELL_BITS) - 1


class Kind(NamedTuple):
    """What makes two mistakes alike."""

    attribute: str
    outcome: Outcome
    reason: str


class Mistakes:
    """Counts mistakes by kind, and remembers where the first of each is."""

    def __init__(self) -> None:
        self._times: Counter[Kind] = Counter()
        self._cases: Counter[Kind] = Counter()
        self._rank: dict[Kind, int] = {}
        self._examples: dict[Kind, list[JsonValue]] = {}

    def add(self, case: ShownCase, times: Counter[int], rank: int | None) -> None:
        """Count the mistakes of one case; one of the list may serve as an example."""
        if not any(cell & _CODE in _WRONG_CODES for cell in times):
            return
        kinds = self._kinds(case, times)
        for kind, number in kinds.items():
            self._times[kind] += number
            self._cases[kind] += 1
            if rank is not None and rank < self._rank.get(kind, rank + 1):
                self._rank[kind] = rank

    def _kinds(self, case: ShownCase, times: Counter[int]) -> Counter[Kind]:
        table, said = case.table, case.block.comparisons
        told = {
            position: each.reason.value
            for position, each in said.items()
            if each.reason is not None and case.block.cells[position] & _CODE in _WRONG_CODES
        }
        kinds: Counter[Kind] = Counter()
        for cell, number in times.items():
            if cell & _CODE in _WRONG_CODES:
                kinds[_kind(cell, table, "")] += number
        for position, reason in told.items():
            cell = case.block.cells[position]
            kinds[_kind(cell, table, "")] -= 1
            kinds[_kind(cell, table, reason)] += 1
        return +kinds

    def view(self) -> list[JsonValue]:
        """The most frequent kinds: attribute, outcome, reason, times, cases, rank of an example."""
        order = sorted(self._times, key=lambda kind: (-self._times[kind], kind))
        return [
            [
                kind.attribute,
                int(kind.outcome),
                kind.reason,
                self._times[kind],
                self._cases[kind],
                self._rank.get(kind),
            ]
            for kind in order[:_MOST]
        ]


def _kind(cell: int, table: AttributeTable, reason: str) -> Kind:
    return Kind(table.path(cell >> CELL_BITS), fact_of(cell).outcome, reason)
