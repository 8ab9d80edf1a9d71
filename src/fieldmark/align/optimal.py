"""Optimal alignment: the highest total similarity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from operator import itemgetter
from typing import ClassVar, Final

from fieldmark.align.greedy import GREEDY
from fieldmark.align.item_similarity import Edge, EdgeArrays, EqualLeafCounter
from fieldmark.align.leaves import LeafRules
from fieldmark.align.similarity_alignment import (
    SelectionMethod,
    SimilarityAligner,
    align_by_similarity,
)
from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue
from fieldmark.values.arrays import Flags, Integers, np

_SMALL_MATRIX: Final = 64
"""Scipy is imported and called only for larger matrices; for smaller ones, that takes longer."""

_TIE_WEIGHT: Final = 1000.0
"""Totals that differ by less (1e-9 in similarity) are tied, and equal leaves decide."""


class OnLimit(StrEnum):
    """The treatment of lists that are too long for the optimal method."""

    ERROR = "error"
    GREEDY = "greedy"


def _select_few(edges: list[Edge], agreement: EqualLeafCounter) -> Iterator[Edge]:
    for component in _connected_components_of(edges):
        agreements = [agreement.count(index, other) for _, index, other in component]
        yield from _max_weight_edges(component, agreements)


def _select_many(edges: EdgeArrays, agreement: EqualLeafCounter) -> Iterator[Edge]:
    labels = _component_labels(edges)
    sizes = np.bincount(labels)
    alone = sizes[labels] == 1
    yield from _listed(edges, alone)
    joint = np.flatnonzero(~alone)
    joint = joint[np.argsort(labels[joint], kind="stable")]
    agreements = agreement.count_all(edges.expected[joint], edges.candidate[joint])
    end = 0
    for size in sizes[sizes > 1].tolist():
        start, end = end, end + size
        component = edges.at(joint[start:end])
        if size <= _SMALL_MATRIX:
            few = list(_listed(component, slice(None)))
            yield from _max_weight_edges(few, agreements[start:end].tolist())
        else:
            yield from _listed(component, _max_weight_positions(component, agreements[start:end]))


def _listed(edges: EdgeArrays, which: Integers | Flags | slice) -> Iterator[Edge]:
    return zip(*(column[which].tolist() for column in edges), strict=True)


_OPTIMAL: Final = SelectionMethod(few=_select_few, many=_select_many)


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimal(SimilarityAligner):
    """Align items to maximize the total similarity, in pairs of at least `threshold`.

    The options are the same as for the greedy method. Ties are broken by the number of equal
    leaves. If the lists exceed the limit, the alignment fails or, with `on_limit: greedy`, falls
    back to the greedy method with a note.

    >>> [pair[:2] for pair in Optimal(threshold=0).align(["ab", "abcd"], ["abc", "xyz"]).pairs]
    [(0, 1), (1, 0)]
    """

    name: ClassVar[str] = "optimal"
    selection: ClassVar[SelectionMethod] = _OPTIMAL
    on_limit: OnLimit = OnLimit.ERROR

    def align(
        self,
        expected: list[JsonValue],
        candidate: list[JsonValue],
        rules: LeafRules | None = None,
    ) -> Alignment:
        """Align equal items, then all other items for the highest total similarity."""
        fallback = GREEDY if self.on_limit is OnLimit.GREEDY else None
        return align_by_similarity(expected, candidate, self._similarity, _OPTIMAL, fallback, rules)


# --- maximum-weight assignment --------------------------------------------------------------------


def _connected_components_of(edges: Sequence[Edge]) -> list[list[Edge]]:
    """Group edges into connected components, in the order of their first edges.

    >>> [len(group) for group in _connected_components_of([(1, 0, 0), (1, 1, 1), (1, 2, 0)])]
    [2, 1]
    """
    root: dict[int, int] = {}

    def top(node: int) -> int:
        while root[node] != node:
            root[node] = node = root[root[node]]
        return node

    for _, index, other in edges:
        root.setdefault(index, index)
        root.setdefault(~other, ~other)  # negative, to distinguish the two lists
        root[top(~other)] = top(index)
    groups: dict[int, list[Edge]] = {}
    for edge in edges:
        groups.setdefault(top(edge[1]), []).append(edge)
    return list(groups.values())


def _component_labels(edges: EdgeArrays) -> Integers:
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


def _max_weight_edges(edges: Sequence[Edge], agreements: Sequence[int]) -> list[Edge]:
    """Return the edges with the highest total weight and, if tied, the most equal leaves.

    >>> edges = [(5e9, 0, 0), (4e9, 0, 1), (4e9, 1, 0)]
    >>> _max_weight_edges(edges, [0, 0, 0]) == edges[1:]
    True
    """
    rows = sorted({edge[1] for edge in edges})
    columns = sorted({edge[2] for edge in edges})
    if len(rows) * len(columns) > _SMALL_MATRIX:
        arrays = EdgeArrays(*map(np.array, zip(*edges, strict=True)))
        return [
            edges[index] for index in _max_weight_positions(arrays, np.array(agreements)).tolist()
        ]
    turned = len(rows) > len(columns)  # the solver requires at least as many columns as rows
    row_of = {index: number for number, index in enumerate(rows)}
    column_of = {index: number for number, index in enumerate(columns)}
    share = _TIE_WEIGHT / (1 + max(agreements) * min(len(rows), len(columns)))
    costs = [[0.0] * max(len(rows), len(columns)) for _ in range(min(len(rows), len(columns)))]
    cells: dict[tuple[int, int], Edge] = {}
    for edge, agreed in zip(edges, agreements, strict=True):
        weight, index, other = edge
        cell = row_of[index], column_of[other]
        row, column = cell[::-1] if turned else cell
        costs[row][column] = -weight - share * agreed
        cells[row, column] = edge
    return sorted(
        (cells[cell] for cell in enumerate(_min_cost_columns(costs)) if cell in cells),
        key=itemgetter(1),
    )


def _max_weight_positions(edges: EdgeArrays, agreements: Integers) -> Integers:
    """Return the positions of these edges, found with scipy."""
    from scipy.optimize import linear_sum_assignment

    rows, row_of = np.unique(edges.expected, return_inverse=True)
    columns, column_of = np.unique(edges.candidate, return_inverse=True)
    share = _TIE_WEIGHT / (1 + agreements.max() * min(len(rows), len(columns)))
    matrix = np.zeros((len(rows), len(columns)))
    position = np.full(matrix.shape, -1)
    matrix[row_of, column_of] = edges.weights + share * agreements
    position[row_of, column_of] = np.arange(len(edges.weights))
    positions = position[linear_sum_assignment(matrix, maximize=True)]
    chosen: Integers = np.sort(positions[positions >= 0])
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
