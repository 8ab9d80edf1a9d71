"""What the compiled parts are told of fields, and how that is closed which they leave open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from fieldmark.model.json import JsonValue, Missing
from fieldmark.model.outcomes import Outcomes
from fieldmark.plan.classify import LOST, MATCH_FACT, NULLED

if TYPE_CHECKING:
    from fieldmark.plan.attribute_node import Node
    from fieldmark.plan.walk import Walk

__all__ = ["OpenField", "Ways", "close"]

_Side: TypeAlias = "JsonValue | Missing"
OpenField: TypeAlias = "tuple[int, int, _Side, _Side, int]"
"""A field that is open: the position of its cell, its number, both sides, and whether both are
surely values."""

_TEXT: Final = 1
_NUMBER: Final = 2
_AGREED: Final = 4
_SURE: Final = 8
"""What settles a field if it is the same on both sides: any text but a blank one, any number, texts
that agreed before. And that such a text or number is surely a value, whatever counts as empty."""


class Ways:
    """How some fields are settled.

    `match`, `lost` and `nulled` are what is written for each of them where it matches, where the
    candidate lacks it, and where it is null there. `final` says that all of them have been met, so
    that nothing more is to be learnt about them.
    """

    __slots__ = ("agreed", "final", "known", "lost", "match", "nodes", "nulled")

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.final = all(node.base >= 0 for node in nodes)
        self.match, self.lost, self.nulled = (
            tuple(node.base | fact for node in nodes) for fact in (MATCH_FACT, LOST, NULLED)
        )
        self.known = bytes(map(_known_of, nodes))
        self.agreed = tuple(node.agreed for node in nodes)


def _known_of(node: Node) -> int:
    if node.base < 0:
        return 0
    settled = (_TEXT if node.text_match else _AGREED) | (_NUMBER if node.number_match else 0)
    return settled | (_SURE if node.asks_values else 0)


def close(walk: Walk, nodes: Sequence[Node], fields: Iterable[OpenField], block: Outcomes) -> None:
    """Find out what is open; a field may turn out to have no cell."""
    cells, shift = block.cells, 0
    for position, number, ours, theirs, sure in fields:
        at, node = position + shift, nodes[number]
        if sure:
            said = node.comparator.compare(ours, theirs)  # type: ignore[arg-type]
            cells[at] = walk.said(node, said, ours, theirs, block, at)  # type: ignore[arg-type]
            continue
        alone = Outcomes()
        walk.unsettled(node, ours, theirs, alone)
        cells[at : at + 1] = alone.cells
        shift += len(alone.cells) - 1
        if alone.comparisons:
            block.comparisons[at] = alone.comparisons[0]
