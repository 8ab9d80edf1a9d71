"""Maximum-weight assignment of similar items, by connected components."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from fieldmark.align.item_similarity import Edge, EdgeArrays

if TYPE_CHECKING:
    from fieldmark.align.item_similarity import Integers

__all__ = [
    "SMALL_MATRIX",
    "component_labels",
    "connected_components_of",
    "max_weight_edges",
    "max_weight_positions",
]

SMALL_MATRIX: Final = 64
"""The size of a matrix up to which importing and calling scipy costs more than it saves."""

_TIE_WEIGHT: Final = 1000.0
"""Totals that differ by less, 1e-9 in similarity, are tied: then equal leaves decide."""


def connected_components_of(edges: Sequence[Edge]) -> list[list[Edge]]:
    """Group edges into connected components, in the order of their first edges.

    >>> [len(group) for group in connected_components_of([(1, 0, 0), (1, 1, 1), (1, 2, 0)])]
    [2, 1]
    """
    root: dict[int, int] = {}

    def top(node: int) -> int:
        while root[node] != node:
            root[node] = node = root[root[node]]
        return node

    for _, place, other in edges:
        root.setdefault(place, place)
        root.setdefault(~other, ~other)  # negative, to keep the two lists apart
        root[top(~other)] = top(place)
    groups: dict[int, list[Edge]] = {}
    for edge in edges:
        groups.setdefault(top(edge[1]), []).append(edge)
    return list(groups.values())


def component_labels(edges: EdgeArrays) -> Integers:
    """Return the component number of each edge."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(edges.weights):
        return np.zeros(0, dtype=np.intp)
    others = edges.candidate + edges.expected.max() + 1
    nodes = int(others.max()) + 1
    links = coo_array(
        (np.ones(len(others), dtype=np.int8), (edges.expected, others)), (nodes, nodes)
    )
    _, labels = connected_components(links, directed=False)
    _, numbers = np.unique(labels[edges.expected], return_inverse=True)
    return numbers


def max_weight_edges(edges: Sequence[Edge], agreements: Sequence[int]) -> list[Edge]:
    """Return the edges of greatest total weight and, if tied, with the most equal leaves.

    >>> edges = [(5e9, 0, 0), (4e9, 0, 1), (4e9, 1, 0)]
    >>> max_weight_edges(edges, [0, 0, 0]) == edges[1:]
    True
    """
    rows = sorted({edge[1] for edge in edges})
    columns = sorted({edge[2] for edge in edges})
    if len(rows) * len(columns) > SMALL_MATRIX:
        import numpy as np

        arrays = EdgeArrays(*map(np.array, zip(*edges, strict=True)))
        return [
            edges[place] for place in max_weight_positions(arrays, np.array(agreements)).tolist()
        ]
    turned = len(rows) > len(columns)  # the solver wants no more rows than columns
    row_of = {place: number for number, place in enumerate(rows)}
    column_of = {place: number for number, place in enumerate(columns)}
    share = _TIE_WEIGHT / (1 + max(agreements) * min(len(rows), len(columns)))
    costs = [[0.0] * max(len(rows), len(columns)) for _ in range(min(len(rows), len(columns)))]
    cells: dict[tuple[int, int], Edge] = {}
    for edge, agreed in zip(edges, agreements, strict=True):
        weight, place, other = edge
        cell = row_of[place], column_of[other]
        row, column = cell[::-1] if turned else cell
        costs[row][column] = -weight - share * agreed
        cells[row, column] = edge
    return sorted(
        (cells[cell] for cell in enumerate(_min_cost_columns(costs)) if cell in cells),
        key=itemgetter(1),
    )


def max_weight_positions(edges: EdgeArrays, agreements: Integers) -> Integers:
    """Return the positions of those edges, found by scipy."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    rows, row_of = np.unique(edges.expected, return_inverse=True)
    columns, column_of = np.unique(edges.candidate, return_inverse=True)
    share = _TIE_WEIGHT / (1 + agreements.max() * min(len(rows), len(columns)))
    matrix = np.zeros((len(rows), len(columns)))
    position = np.full(matrix.shape, -1)
    matrix[row_of, column_of] = edges.weights + share * agreements
    position[row_of, column_of] = np.arange(len(edges.weights))
    found = position[linear_sum_assignment(matrix, maximize=True)]
    chosen: Integers = np.sort(found[found >= 0])
    return chosen


def _min_cost_columns(costs: list[list[float]]) -> list[int]:
    """Return the column of each row at minimum total cost, by shortest augmenting paths."""
    row_of: dict[int, int] = {}
    row_price = [0.0] * len(costs)
    column_price = [0.0] * len(costs[0])
    for start in range(len(costs)):
        _augment(start, costs, row_of, row_price, column_price)
    column_of = {row: column for column, row in row_of.items()}
    return [column_of[row] for row in range(len(costs))]


def _augment(
    start: int,
    costs: list[list[float]],
    row_of: dict[int, int],
    row_price: list[float],
    column_price: list[float],
) -> None:
    """Assign one more row, moving others along the cheapest path to a free column."""
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
