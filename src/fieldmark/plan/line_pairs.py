"""Compare pairs of documents that are still the bytes of their JSON lines.

Fields with the same bytes on both sides are compared without being parsed. All others take the
same path as parsed documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from orjson import loads

from fieldmark.model import _lines
from fieldmark.model._lines import Line
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.lines import parsed
from fieldmark.model.outcome import Presence
from fieldmark.model.outcomes import Outcomes
from fieldmark.plan.classify import MATCH_FACT, PRESENCE_FACTS

if TYPE_CHECKING:
    from fieldmark.model.lines import DocumentForm
    from fieldmark.plan.attribute_node import AttributeNode
    from fieldmark.plan.walk import Walk

__all__ = ["LinePairs"]

_Side: TypeAlias = "JsonValue | Missing"
_Document: TypeAlias = "JsonValue | Missing | Line"
_OpenField: TypeAlias = "tuple[int, int, bytes | None, bytes | None, int]"
"""The position of an undecided cell, its field number, the bytes of both sides, and whether both
are known to be values."""
_CompareParsed: TypeAlias = "Callable[[JsonValue, _Side], Outcomes]"

_ABSENT_FACT: Final = PRESENCE_FACTS[Presence.VALUE][Presence.ABSENT]
_NULL_FACT: Final = PRESENCE_FACTS[Presence.VALUE][Presence.NULL]

_EQUAL_TEXT_MATCHES: Final = 1
_EQUAL_NUMBER_MATCHES: Final = 2
_SCALAR_IS_VALUE: Final = 4
"""Flags of a field for the compiled comparison: equal non-blank strings match, equal numbers match,
and non-blank strings and numbers are always values."""


class LinePairs:
    """Compares documents of which most are lines of one form."""

    __slots__ = ("_fields", "_root", "_walk")

    def __init__(self, walk: Walk, root: AttributeNode) -> None:
        self._walk = walk
        self._root = root
        self._fields: _FormFields | None = None

    def compare(
        self,
        expected: list[_Document],
        candidate: list[_Document],
        compare_parsed: _CompareParsed,
    ) -> list[Outcomes]:
        """Return the outcomes of every pair; pairs that are not both lines are parsed."""
        first = next(each for each in (*expected, *candidate) if isinstance(each, Line))
        fields = self._fields_of(first.kind.form)
        if fields.walked and {*map(type, expected), *map(type, candidate)} == {Line}:
            columns = cast("tuple[list[Line], list[Line]]", (expected, candidate))
            return self._compare_lines(fields, *columns, compare_parsed)
        results: dict[int, Outcomes] = {}
        line_pairs: dict[int, tuple[Line, Line]] = {}
        for place, (ours, theirs) in enumerate(zip(expected, candidate, strict=True)):
            if fields.walked and isinstance(ours, Line) and isinstance(theirs, Line):
                line_pairs[place] = ours, theirs
            else:
                results[place] = compare_parsed(cast("JsonValue", parsed(ours)), parsed(theirs))
        if line_pairs:
            truths, found = map(list, zip(*line_pairs.values(), strict=True))
            fields = self._fields_of(first.kind.form)  # the others may have registered more of them
            compared = self._compare_lines(fields, truths, found, compare_parsed)
            results.update(zip(line_pairs, compared, strict=True))
        return [results[place] for place in range(len(expected))]

    def _fields_of(self, form: DocumentForm) -> _FormFields:
        if self._fields is None or not self._fields.registered or self._fields.form is not form:
            self._fields = _FormFields(self._root, form)
        return self._fields

    def _compare_lines(
        self,
        fields: _FormFields,
        expected: list[Line],
        candidate: list[Line],
        compare_parsed: _CompareParsed,
    ) -> list[Outcomes]:
        """Compare pairs of lines; those in which everything matches share their outcomes."""
        results = [Outcomes(list(fields.match_cells))] * len(expected)
        for place, cells, open_fields in fields.compare(expected, candidate):
            outcomes = results[place] = Outcomes(cells)
            if open_fields is not None:
                self._decide(fields.nodes, open_fields, outcomes)
                if any(comparison.failed for comparison in outcomes.comparisons.values()):
                    # A warning names the first field that failed, in the order of the document.
                    sides = parsed(expected[place]), parsed(candidate[place])
                    results[place] = compare_parsed(cast("JsonValue", sides[0]), sides[1])
        return results

    def _decide(
        self, nodes: Sequence[AttributeNode], fields: Sequence[_OpenField], outcomes: Outcomes
    ) -> None:
        """Fill the cells that the bytes did not decide; a field may turn out to have none."""
        cells, shift = outcomes.cells, 0
        for position, number, expected_bytes, candidate_bytes, are_values in fields:
            at, node = position + shift, nodes[number]
            if are_values and expected_bytes and candidate_bytes:
                expected = candidate = loads(expected_bytes)
                if candidate_bytes != expected_bytes:
                    candidate = loads(candidate_bytes)
                comparison = node.comparator.compare(expected, candidate)
                cells[at] = self._walk.classify(node, comparison, expected, candidate, outcomes, at)
                continue
            expected, candidate = _value(expected_bytes), _value(candidate_bytes)
            field = Outcomes()
            if expected is not MISSING or self._walk.with_extras:
                self._walk.compare(node, expected, candidate, field)
            cells[at : at + 1] = field.cells
            shift += len(field.cells) - 1
            if field.comparisons:
                outcomes.comparisons[at] = field.comparisons[0]


class _FormFields:
    """The fields of a form: their nodes, their flags and the cells of their usual outcomes.

    `walked` says that the rules let us look into every object on the way to the fields.
    `registered` says that all fields have attribute numbers, so nothing changes any more.
    """

    __slots__ = (
        "_absent_cells",
        "_flags",
        "_null_cells",
        "form",
        "match_cells",
        "nodes",
        "registered",
        "walked",
    )

    def __init__(self, root: AttributeNode, form: DocumentForm) -> None:
        self.form = form
        self.walked = True
        self.nodes = []
        for keys in form.leaves:
            node = root
            for key in keys:
                self.walked = self.walked and node.walks
                node = node.child(key)
            self.nodes.append(node)
        self.registered = all(node.base >= 0 for node in self.nodes)
        self.match_cells, self._absent_cells, self._null_cells = (
            tuple(node.base | fact for node in self.nodes)
            for fact in (MATCH_FACT, _ABSENT_FACT, _NULL_FACT)
        )
        self._flags = bytes(map(_flags_of, self.nodes))

    def compare(
        self, expected: list[Line], candidate: list[Line]
    ) -> Sequence[tuple[int, list[int], list[_OpenField] | None]]:
        """Return (pair, cells, undecided fields) of each pair in which not everything matches."""
        cells = self.match_cells, self._absent_cells, self._null_cells
        return _lines.compare(expected, candidate, self._flags, *cells)


def _flags_of(node: AttributeNode) -> int:
    if node.base < 0:
        return 0
    return (
        (_EQUAL_TEXT_MATCHES if node.equal_text_cell else 0)
        | (_EQUAL_NUMBER_MATCHES if node.equal_number_cell else 0)
        | (_SCALAR_IS_VALUE if node.compares_values else 0)
    )


def _value(token: bytes | None) -> _Side:
    return MISSING if token is None else cast("JsonValue", loads(token))
