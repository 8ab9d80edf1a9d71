"""Pairs of documents that are still the bytes they were read from.

What has the same bytes on both sides is settled without a value being made of it; what is left
over takes the long way that is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from orjson import loads

from fieldmark.model import _lines
from fieldmark.model._lines import Line
from fieldmark.model.block import OutcomeBlock
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.plan.classify import LOST, MATCH_FACT, NULLED

if TYPE_CHECKING:
    from fieldmark.model.lines import DocumentForm
    from fieldmark.plan.node import Node
    from fieldmark.plan.walk import Walk

__all__ = ["LinePairs"]

_Side: TypeAlias = "JsonValue | Missing"
_Document: TypeAlias = "JsonValue | Missing | Line"
_Open: TypeAlias = "tuple[int, int, bytes | None, bytes | None, int]"
"""A field that is open: the position of its cell, its number, both sides, and whether both are
surely values."""
_Otherwise: TypeAlias = "Callable[[JsonValue, _Side], OutcomeBlock]"

_TEXT: Final = 1
_NUMBER: Final = 2
_AGREED: Final = 4
_SURE: Final = 8
"""What settles a field if it is the same on both sides: any text but a blank one, any number, texts
that agreed before. And that such a text or number is surely a value, whatever counts as empty."""


class LinePairs:
    """Compares documents of which some, mostly all, are lines of one form."""

    __slots__ = ("_root", "_walk", "_ways")

    def __init__(self, walk: Walk, root: Node) -> None:
        self._walk = walk
        self._root = root
        self._ways: _Ways | None = None

    def compare(
        self,
        expected: list[_Document],
        candidate: list[_Document],
        otherwise: _Otherwise,
    ) -> list[OutcomeBlock]:
        """What happened in every pair; `otherwise` tells it of those that are not both lines."""
        first = next(each for each in (*expected, *candidate) if isinstance(each, Line))
        ways = self._known_ways(first.kind.form)
        if ways.walked and {*map(type, expected), *map(type, candidate)} == {Line}:
            columns = cast("tuple[list[Line], list[Line]]", (expected, candidate))
            return self._lines(ways, *columns, otherwise)
        blocks: dict[int, OutcomeBlock] = {}
        both: dict[int, tuple[Line, Line]] = {}
        for place, (ours, theirs) in enumerate(zip(expected, candidate, strict=True)):
            if ways.walked and isinstance(ours, Line) and isinstance(theirs, Line):
                both[place] = ours, theirs
            else:
                blocks[place] = otherwise(cast("JsonValue", _plain(ours)), _plain(theirs))
        if both:
            truths, found = map(list, zip(*both.values(), strict=True))
            ways = self._known_ways(first.kind.form)  # the others may have shown more of them
            blocks.update(zip(both, self._lines(ways, truths, found, otherwise), strict=True))
        return [blocks[place] for place in range(len(expected))]

    def _known_ways(self, form: DocumentForm) -> _Ways:
        if self._ways is None or not self._ways.final or self._ways.form is not form:
            self._ways = _Ways(self._root, form)
        return self._ways

    def _lines(
        self, ways: _Ways, expected: list[Line], candidate: list[Line], otherwise: _Otherwise
    ) -> list[OutcomeBlock]:
        """Pairs of lines; those in which all matches share one block."""
        blocks = [OutcomeBlock(list(ways.match))] * len(expected)
        for place, cells, open_fields in ways.compare(expected, candidate):
            block = blocks[place] = OutcomeBlock(cells)
            if open_fields is not None:
                self._close(block, ways.nodes, open_fields)
                if any(said.failed for said in block.comparisons.values()):
                    # A warning names the first field that failed, in the order of the document.
                    sides = _plain(expected[place]), _plain(candidate[place])
                    blocks[place] = otherwise(cast("JsonValue", sides[0]), sides[1])
        return blocks

    def _close(self, block: OutcomeBlock, nodes: Sequence[Node], fields: Sequence[_Open]) -> None:
        """Find out what is open; a field may turn out to have no cell."""
        walk, cells, shift = self._walk, block.cells, 0
        for position, field, ours, theirs, sure in fields:
            at = position + shift
            if sure:
                node, value, other = nodes[field], _value(ours), _value(theirs)
                said = node.comparator.compare(value, other)  # type: ignore[arg-type]
                cells[at] = walk.said(node, said, value, other, block, at)  # type: ignore[arg-type]
                continue
            alone = OutcomeBlock()
            walk.unsettled(nodes[field], _value(ours), _value(theirs), alone)
            cells[at : at + 1] = alone.cells
            shift += len(alone.cells) - 1
            if alone.comparisons:
                block.comparisons[at] = alone.comparisons[0]


class _Ways:
    """How the fields of a form are settled.

    `walked` says that rules let us look into all objects on the way to the fields. `match` is what
    is written where all fields match. `final` says that all fields have been met, so that nothing
    more is to be learnt about them.
    """

    __slots__ = (
        "_agreed",
        "_known",
        "_lost",
        "_nulled",
        "final",
        "form",
        "match",
        "nodes",
        "walked",
    )

    def __init__(self, root: Node, form: DocumentForm) -> None:
        self.form = form
        ways = [_way_to(root, keys) for keys in form.leaves]
        self.walked = all(node.open for way in ways for node in way[:-1])
        self.nodes = [way[-1] for way in ways]
        self.final = all(node.base >= 0 for node in self.nodes)
        self.match, self._lost, self._nulled = (
            tuple(node.base | fact for node in self.nodes) for fact in (MATCH_FACT, LOST, NULLED)
        )
        self._known = bytes(map(_known_of, self.nodes))
        self._agreed = tuple(node.agreed for node in self.nodes)

    def compare(
        self, expected: list[Line], candidate: list[Line]
    ) -> Sequence[tuple[int, list[int], list[_Open] | None]]:
        """For each pair in which not all fields match: its number, its cells, and what is open."""
        cells = self.match, self._lost, self._nulled
        return _lines.compare(expected, candidate, self._known, self._agreed, *cells)


def _way_to(root: Node, keys: Sequence[str]) -> list[Node]:
    """The nodes from the root to a field."""
    way = [root]
    for key in keys:
        way.append(way[-1].child(key))
    return way


def _known_of(node: Node) -> int:
    if node.base < 0:
        return 0
    settled = (_TEXT if node.text_match else _AGREED) | (_NUMBER if node.number_match else 0)
    return settled | (_SURE if node.asks_values else 0)


def _value(token: bytes | None) -> _Side:
    return MISSING if token is None else cast("JsonValue", loads(token))


def _plain(document: _Document) -> _Side:
    return document.kind.document(document) if isinstance(document, Line) else document
