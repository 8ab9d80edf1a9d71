"""Objects that hold nothing but scalars: two of a known shape are compared by the compiled part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from fieldmark.align import compiled
from fieldmark.model.json import MISSING, JsonObject
from fieldmark.model.outcomes import Outcomes
from fieldmark.plan.ways import Ways, close

if TYPE_CHECKING:
    from fieldmark.plan.attribute_node import Node
    from fieldmark.plan.walk import Walk

__all__ = ["Flat", "flat_of"]

_MOST: Final = 64


class Flat:
    """How two objects with certain keys are compared."""

    __slots__ = ("_nodes", "_write")

    def __init__(self, keys: tuple[str, ...], ways: Ways) -> None:
        cells = ways.match, ways.lost, ways.nulled
        self._nodes = ways.nodes
        self._write = compiled.items.Ways(keys, ways.known, ways.agreed, *cells, MISSING).write

    def compare(
        self, walk: Walk, expected: JsonObject, candidate: JsonObject, block: Outcomes
    ) -> bool:
        """Record what happened in two objects; nothing, and false, if they are not such objects."""
        left_open = self._write(expected, candidate, block.cells)
        if left_open:
            close(walk, self._nodes, left_open, block)
        return left_open is not None


def flat_of(keys: tuple[str, ...], nodes: Sequence[Node], document: JsonObject) -> Flat | None:
    """How objects like a document are compared, if they can be compared so."""
    if not compiled.COMPILED or len(keys) > _MOST:
        return None
    if any(isinstance(value, dict | list) for value in document.values()):
        return None
    ways = Ways(nodes)
    asked = any(node.dear is not None for node in nodes)
    return Flat(keys, ways) if ways.final and not asked else None
