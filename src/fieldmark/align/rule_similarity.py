"""Similarities of many leaves under their own rules."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Final

from fieldmark.align.leaves import RuledLeaf

if TYPE_CHECKING:
    from fieldmark.values.arrays import Floats

__all__ = ["rule_cost", "rule_similarities"]

_CALL_COST: Final = 50_000  # cost of calling a comparator, in character pairs


def rule_cost(expected: Sequence[RuledLeaf], candidate: Sequence[RuledLeaf]) -> int:
    """Return the cost of comparing all leaves of two lists at one path, in character pairs."""
    return _CALL_COST * len(_distinct(expected)) * len(_distinct(candidate))


def rule_similarities(expected: Sequence[RuledLeaf], candidate: Sequence[RuledLeaf]) -> Floats:
    """Return the similarity of every expected leaf with every candidate leaf at one path.

    The comparator is called once for each pair of distinct values.
    """
    import numpy as np

    ours, theirs = _distinct(expected), _distinct(candidate)
    similar: Floats = np.array(
        [[leaf.similarity(other) for other in theirs.values()] for leaf in ours.values()]
    )
    position = {token: place for place, token in enumerate(ours)}
    other_position = {token: place for place, token in enumerate(theirs)}
    rows = [position[leaf.token] for leaf in expected]
    columns = [other_position[leaf.token] for leaf in candidate]
    return similar[np.ix_(rows, columns)]


def _distinct(leaves: Sequence[RuledLeaf]) -> dict[Hashable, RuledLeaf]:
    return {leaf.token: leaf for leaf in leaves}
