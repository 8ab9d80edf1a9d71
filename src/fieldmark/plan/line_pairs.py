"""Pairs of documents that are still the bytes they were read from.

What has the same bytes on both sides is settled without a value being made of it; what is left
over takes the long way that is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from orjson import loads

from fieldmark.model import _lines
from fieldmark.model._lines import Line
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcomes import Outcomes
from fieldmark.plan.ways import OpenField, Ways, close

if TYPE_CHECKING:
    from fieldmark.model.lines import DocumentForm
    from fieldmark.plan.attribute_node import Node
    from fieldmark.plan.walk import Walk

__all__ = ["LinePairs"]

_Side: TypeAlias = "JsonValue | Missing"
_Document: TypeAlias = "JsonValue | Missing | Line"
_Open: TypeAlias = "tuple[int, int, bytes | None, bytes | None, int]"
"""A field that is open, with the bytes of both sides."""
_Otherwise: TypeAlias = "Callable[[JsonValue, _Side], Outcomes]"


class LinePairs:
    """Compares documents of which some, mostly all, are lines of one form."""

    __slots__ = ("_root", "_walk", "_ways")

    def __init__(self, walk: Walk, root: Node) -> None:
        self._walk = walk
        self._root = root
        self._ways: _FormWays | None = None

    def compare(
        self,
        expected: list[_Document],
        candidate: list[_Document],
        otherwise: _Otherwise,
    ) -> list[Outcomes]:
        """What happened in every pair; `otherwise` tells it of those that are not both lines."""
        first = next(each for each in (*expected, *candidate) if isinstance(each, Line))
        ways = self._known_ways(first.kind.form)
        if ways.walked and {*map(type, expected), *map(type, candidate)} == {Line}:
            columns = cast("tuple[list[Line], list[Line]]", (expected, candidate))
            return self._lines(ways, *columns, otherwise)
        blocks: dict[int, Outcomes] = {}
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

    def _known_ways(self, form: DocumentForm) -> _FormWays:
        if self._ways is None or not self._ways.fields.final or self._ways.form is not form:
            self._ways = _FormWays(self._root, form)
        return self._ways

    def _lines(
        self, ways: _FormWays, expected: list[Line], candidate: list[Line], otherwise: _Otherwise
    ) -> list[Outcomes]:
        """Pairs of lines; those in which all matches share one block."""
        blocks = [Outcomes(list(ways.fields.match))] * len(expected)
        for place, cells, open_fields in ways.compare(expected, candidate):
            block = blocks[place] = Outcomes(cells)
            if open_fields is not None:
                close(self._walk, ways.fields.nodes, map(_with_values, open_fields), block)
                if any(said.failed for said in block.comparisons.values()):
                    # A warning names the first field that failed, in the order of the document.
                    sides = _plain(expected[place]), _plain(candidate[place])
                    blocks[place] = otherwise(cast("JsonValue", sides[0]), sides[1])
        return blocks


class _FormWays:
    """How the fields of a form are settled.

    `walked` says that rules let us look into all objects on the way to the fields.
    """

    __slots__ = ("fields", "form", "walked")

    def __init__(self, root: Node, form: DocumentForm) -> None:
        self.form = form
        ways = [_way_to(root, keys) for keys in form.leaves]
        self.walked = all(node.open for way in ways for node in way[:-1])
        self.fields = Ways([way[-1] for way in ways])

    def compare(
        self, expected: list[Line], candidate: list[Line]
    ) -> Sequence[tuple[int, list[int], list[_Open] | None]]:
        """For each pair in which not all fields match: its number, its cells, and what is open."""
        fields = self.fields
        cells = fields.match, fields.lost, fields.nulled
        return _lines.compare(expected, candidate, fields.known, fields.agreed, *cells)


def _way_to(root: Node, keys: Sequence[str]) -> list[Node]:
    """The nodes from the root to a field."""
    way = [root]
    for key in keys:
        way.append(way[-1].child(key))
    return way


def _with_values(field: _Open) -> OpenField:
    position, number, ours, theirs, sure = field
    return position, number, _value(ours), _value(theirs), sure


def _value(token: bytes | None) -> _Side:
    return MISSING if token is None else cast("JsonValue", loads(token))


def _plain(document: _Document) -> _Side:
    return document.kind.document(document) if isinstance(document, Line) else document
