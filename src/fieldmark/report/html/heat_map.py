"""The heat map: attributes by cases, with counts of outcomes in each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Outcome
from fieldmark.model.outcomes import AttributeTable

__all__ = ["COLUMNS", "ROWS", "HeatMap"]

ROWS: Final = 40
COLUMNS: Final = 120

_KINDS: Final = (
    Outcome.MATCH,
    Outcome.WRONG_VALUE,
    Outcome.FORMAT_ERROR,
    Outcome.OMISSION,
    Outcome.HALLUCINATION,
    Outcome.ERROR,
)
_NOWHERE: Final = -1
_KIND_OF_CODE: Final = tuple(
    _KINDS.index(fact.outcome) if fact.outcome in _KINDS else _NOWHERE for fact in FACTS
)


class HeatMap:
    """Counts outcomes in a grid whose size does not depend on the run.

    A column is one case, or as many neighbours in the list as it takes. Cases that the list leaves
    out share a last column.
    """

    def __init__(self, attributes: Sequence[str], listed: int, total: int) -> None:
        self._attributes = list(attributes[:ROWS])
        self._row = {path: place for place, path in enumerate(self._attributes)}
        self._listed = listed
        self._columns = min(listed, COLUMNS)
        self._rest = total - listed
        width = self._columns + (self._rest > 0)
        self._cells = [[[0] * len(_KINDS) for _ in range(width)] for _ in self._attributes]
        self._table: AttributeTable | None = None
        self._rows: list[int] = []

    def add(self, times: Counter[int], table: AttributeTable, rank: int | None) -> None:
        """Count the cells of one case, which has this rank in the list or none."""
        if table is not self._table:
            self._table = table
            self._rows = [self._row.get(each.path, _NOWHERE) for each in table.attributes]
        column = self._columns if rank is None else rank * self._columns // self._listed
        rows, cells = self._rows, self._cells
        for cell, number in times.items():
            row, kind = rows[cell >> CELL_BITS], _KIND_OF_CODE[cell & FACT_MASK]
            if row >= 0 <= kind:
                cells[row][column][kind] += number

    def view(self) -> JsonObject:
        """The grid; a cell without fields is 0, and the columns say where their cases begin."""
        starts: list[JsonValue] = [
            -(-column * self._listed // self._columns) for column in range(self._columns)
        ]
        return {
            "attributes": list[JsonValue](self._attributes),
            "starts": starts,
            "listed": self._listed,
            "rest": self._rest,
            "cells": [[_plain(cell) for cell in row] for row in self._cells],
        }


def _plain(cell: list[int]) -> JsonValue:
    """The counts without the zeros at their end."""
    last = max((place for place, number in enumerate(cell) if number), default=_NOWHERE)
    return 0 if last == _NOWHERE else list[JsonValue](cell[: last + 1])
