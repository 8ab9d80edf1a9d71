"""The heat map: counts of outcomes by attribute and case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Outcome
from fieldmark.model.outcomes import AttributeTable

ROWS: Final = 40
COLUMNS: Final = 120

_OUTCOMES: Final = (
    Outcome.MATCH,
    Outcome.WRONG_VALUE,
    Outcome.FORMAT_ERROR,
    Outcome.OMISSION,
    Outcome.HALLUCINATION,
    Outcome.ERROR,
)
_NOT_SHOWN: Final = -1
_OUTCOME_INDEXES: Final = tuple(
    _OUTCOMES.index(fact.outcome) if fact.outcome in _OUTCOMES else _NOT_SHOWN for fact in FACTS
)


class HeatMap:
    """Counts outcomes in a grid of limited size.

    A column is one case or several consecutive cases of the list. Cases that are not listed share
    the last column.
    """

    def __init__(self, attributes: Sequence[str], listed: int, total: int) -> None:
        self._attributes = list(attributes[:ROWS])
        self._row = {path: place for place, path in enumerate(self._attributes)}
        self._listed = listed
        self._columns = min(listed, COLUMNS)
        self._rest = total - listed
        width = self._columns + (self._rest > 0)
        self._cells = [[[0] * len(_OUTCOMES) for _ in range(width)] for _ in self._attributes]
        self._table: AttributeTable | None = None
        self._rows: list[int] = []

    def add(self, times: Counter[int], table: AttributeTable, rank: int | None) -> None:
        """Count the outcomes of one case with this rank in the list, or `None` if not listed."""
        if table is not self._table:
            self._table = table
            self._rows = [self._row.get(each.path, _NOT_SHOWN) for each in table.attributes]
        column = self._columns if rank is None else rank * self._columns // self._listed
        rows, cells = self._rows, self._cells
        for cell, number in times.items():
            row, outcome = rows[cell >> CELL_BITS], _OUTCOME_INDEXES[cell & FACT_MASK]
            if row >= 0 <= outcome:
                cells[row][column][outcome] += number

    def _starts(self) -> list[int]:
        return [-(-column * self._listed // self._columns) for column in range(self._columns)]

    def single_cases(self) -> list[int]:
        """Return the ranks of the cases that have a column of their own."""
        starts = self._starts()
        ends = [*starts[1:], self._listed]
        return [start for start, end in zip(starts, ends, strict=True) if end - start == 1]

    def view(self) -> JsonObject:
        """Return the grid; `starts` has the first rank of each column, and empty cells are 0.

        Other cells are counts in the order of `outcomes`.
        """
        return {
            "outcomes": [outcome.label for outcome in _OUTCOMES],
            "attributes": list[JsonValue](self._attributes),
            "starts": list[JsonValue](self._starts()),
            "listed": self._listed,
            "rest": self._rest,
            "cells": [[_without_trailing_zeros(cell) for cell in row] for row in self._cells],
        }


def _without_trailing_zeros(counts: list[int]) -> JsonValue:
    last = max((place for place, number in enumerate(counts, 1) if number), default=0)
    return list[JsonValue](counts[:last]) or 0
