"""Which similar pairs depend on each other: the connected components of the graph they form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fieldmark.align.columns import Edges
from fieldmark.align.item_similarity import Edge

if TYPE_CHECKING:
    from fieldmark.align.columns import Integers

__all__ = ["components_of", "labels_of", "parted"]


def parted(edges: list[Edge]) -> tuple[list[Edge], list[Edge]]:
    """The edges that share no item with another one, and those that do.

    >>> parted([(1, 0, 0), (1, 1, 1), (1, 2, 0)])
    ([(1, 1, 1)], [(1, 0, 0), (1, 2, 0)])
    """
    ours, theirs = [edge[1] for edge in edges], [edge[2] for edge in edges]
    if len(set(ours)) == len(edges) == len(set(theirs)):
        return edges, []
    places, others = Counter(ours), Counter(theirs)
    alone: list[Edge] = []
    joint: list[Edge] = []
    for edge in edges:
        (alone if places[edge[1]] == 1 == others[edge[2]] else joint).append(edge)
    return alone, joint


def components_of(edges: Sequence[Edge]) -> list[list[Edge]]:
    """The edges in groups that share no item, in the order of their first edges.

    >>> [len(group) for group in components_of([(1, 0, 0), (1, 1, 1), (1, 2, 0)])]
    [2, 1]
    """
    root: dict[int, int] = {}

    def top(node: int) -> int:
        while root[node] != node:
            root[node] = node = root[root[node]]
        return node

    for _, place, other in edges:
        root.setdefault(place, place)
        root.setdefault(~other, ~other)  # the items of the two lists must not be mixed up
        root[top(~other)] = top(place)
    groups: dict[int, list[Edge]] = {}
    for edge in edges:
        groups.setdefault(top(edge[1]), []).append(edge)
    return list(groups.values())


def labels_of(edges: Edges) -> Integers:
    """The number of the component of each edge."""
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
