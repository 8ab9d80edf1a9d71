"""The pairs of one component that share no item and weigh most together."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from fieldmark.align.columns import Edges
from fieldmark.align.item_similarity import Edge

if TYPE_CHECKING:
    from fieldmark.align.columns import Integers

__all__ = ["DIRECT_CELLS", "heaviest_of_few", "heaviest_of_many"]

DIRECT_CELLS: Final = 64
"""Cells of a matrix up to which loading and calling a solver costs more than solving it here."""

_TIE: Final = 1000.0
"""Totals nearer than this, 1e-9 in similarity, count as equal: then agreement decides."""


def heaviest_of_few(edges: Sequence[Edge], agreements: Sequence[int]) -> list[Edge]:
    """The edges of the greatest total weight and, among equal totals, of the most agreement.

    >>> edges = [(5e9, 0, 0), (4e9, 0, 1), (4e9, 1, 0)]
    >>> heaviest_of_few(edges, [0, 0, 0]) == edges[1:]
    True
    """
    rows = sorted({edge[1] for edge in edges})
    columns = sorted({edge[2] for edge in edges})
    if len(rows) * len(columns) > DIRECT_CELLS:
        import numpy as np

        arrays = Edges(*map(np.array, zip(*edges, strict=True)))
        return [edges[place] for place in heaviest_of_many(arrays, np.array(agreements)).tolist()]
    turned = len(rows) > len(columns)  # the solver wants no more rows than columns
    row_of = {place: number for number, place in enumerate(rows)}
    column_of = {place: number for number, place in enumerate(columns)}
    share = _TIE / (1 + max(agreements) * min(len(rows), len(columns)))
    costs = [[0.0] * max(len(rows), len(columns)) for _ in range(min(len(rows), len(columns)))]
    cells: dict[tuple[int, int], Edge] = {}
    for edge, agreed in zip(edges, agreements, strict=True):
        weight, place, other = edge
        cell = row_of[place], column_of[other]
        row, column = cell[::-1] if turned else cell
        costs[row][column] = -weight - share * agreed
        cells[row, column] = edge
    return sorted(
        (cells[cell] for cell in enumerate(_cheapest(costs)) if cell in cells),
        key=itemgetter(1),
    )


def heaviest_of_many(edges: Edges, agreements: Integers) -> Integers:
    """The positions of those edges, by a solver."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    rows, row_of = np.unique(edges.expected, return_inverse=True)
    columns, column_of = np.unique(edges.candidate, return_inverse=True)
    share = _TIE / (1 + agreements.max() * min(len(rows), len(columns)))
    matrix = np.zeros((len(rows), len(columns)))
    position = np.full(matrix.shape, -1)
    matrix[row_of, column_of] = edges.weights + share * agreements
    position[row_of, column_of] = np.arange(len(edges.weights))
    found = position[linear_sum_assignment(matrix, maximize=True)]
    chosen: Integers = np.sort(found[found >= 0])
    return chosen


def _cheapest(costs: list[list[float]]) -> list[int]:
    """The column of each row at the least total cost, by shortest augmenting paths."""
    row_of: dict[int, int] = {}
    row_price = [0.0] * len(costs)
    column_price = [0.0] * len(costs[0])
    for start in range(len(costs)):
        _give_column(start, costs, row_of, row_price, column_price)
    column_of = {row: column for column, row in row_of.items()}
    return [column_of[row] for row in range(len(costs))]


def _give_column(
    start: int,
    costs: list[list[float]],
    row_of: dict[int, int],
    row_price: list[float],
    column_price: list[float],
) -> None:
    """Give one more row a column, moving other rows along the cheapest path to a free column."""
    distance = [inf] * len(column_price)
    before = [-1] * len(column_price)
    visited: dict[int, float] = {}
    row, column, reached = start, -1, 0.0
    while True:
        for other, cost in enumerate(costs[row]):
            length = reached + cost - row_price[row] - column_price[other]
            if other not in visited and length < distance[other]:
                distance[other], before[other] = length, column
        column = min(
            (other for other in range(len(distance)) if other not in visited),
            key=distance.__getitem__,
        )
        reached = distance[column]
        if column not in row_of:
            break
        visited[column] = reached
        row = row_of[column]
    row_price[start] += reached
    for other, length in visited.items():
        row_price[row_of[other]] += reached - length
        column_price[other] -= reached - length
    while column >= 0:
        previous = before[column]
        row_of[column] = start if previous < 0 else row_of[previous]
        column = previous
