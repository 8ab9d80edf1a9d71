"""Similarities of many leaves under their own rules.

A comparator is called once for each pair of distinct values. Comparators that can compare many
values at once have a method `similarities`, whose results are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.align.leaves import RuledLeaf
from fieldmark.model.json import JsonValue

if TYPE_CHECKING:
    from fieldmark.values.arrays import Floats

__all__ = ["rule_cost", "rule_similarities"]

_CALL_COST: Final = 50_000  # cost of calling a comparator, in character pairs
_Bulk: TypeAlias = "Callable[[Sequence[JsonValue], Sequence[JsonValue]], Floats]"


def rule_cost(expected: Sequence[RuledLeaf], candidate: Sequence[RuledLeaf]) -> int:
    """Return the cost of comparing all leaves of two lists at one path, in character pairs."""
    if not expected or not candidate:
        return 0
    if _bulk(expected[0]) is not None:
        return _characters(expected) * _characters(candidate)
    return (
        _CALL_COST
        * len({leaf.token for leaf in expected})
        * len({leaf.token for leaf in candidate})
    )


def rule_similarities(expected: Sequence[RuledLeaf], candidate: Sequence[RuledLeaf]) -> Floats:
    """Return the similarity of every expected leaf with every candidate leaf at one path."""
    import numpy as np

    ours, theirs = _distinct(expected), _distinct(candidate)
    bulk = _bulk(expected[0])
    if bulk is None:
        similar: Floats = np.array(
            [[leaf.similarity(other) for other in theirs.values()] for leaf in ours.values()]
        )
    else:
        similar = bulk(
            [leaf.value for leaf in ours.values()], [leaf.value for leaf in theirs.values()]
        )
    position = {token: place for place, token in enumerate(ours)}
    other_position = {token: place for place, token in enumerate(theirs)}
    rows = [position[leaf.token] for leaf in expected]
    columns = [other_position[leaf.token] for leaf in candidate]
    return similar[np.ix_(rows, columns)]


def _bulk(leaf: RuledLeaf) -> _Bulk | None:
    """Return the method of the comparator that compares many values at once, if it has one."""
    return getattr(leaf.comparator, "similarities", None) if leaf.graded else None


def _distinct(leaves: Sequence[RuledLeaf]) -> dict[Hashable, RuledLeaf]:
    return {leaf.token: leaf for leaf in leaves}


def _characters(leaves: Sequence[RuledLeaf]) -> int:
    values = {leaf.token: leaf.value for leaf in leaves}.values()
    return sum(len(value) if isinstance(value, str) else 1 for value in values)
