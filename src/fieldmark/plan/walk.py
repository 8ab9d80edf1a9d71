"""Parallel traversal of two documents that records one cell for each field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias, cast

from fieldmark.model.comparison import MATCHED, BatchComparator, Comparison, TextPair
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Outcome, Presence
from fieldmark.model.outcomes import Outcomes
from fieldmark.model.rule import Scope
from fieldmark.plan.attribute_node import AttributeNode, NodeMode
from fieldmark.plan.classify import (
    IGNORED_FACTS,
    MATCH_FACT,
    PRESENCE_FACTS,
    VALUE_FACTS,
    acceptable,
    outcome_of_values,
)

__all__ = ["Walk"]

_ERROR_FACT: Final = VALUE_FACTS[Outcome.ERROR]
_VALUE: Final = Presence.VALUE

_Side: TypeAlias = JsonValue | Missing


class _DeferredComparison(NamedTuple):
    """A pair of values that waits for its batch comparator, and the position of its cell."""

    outcomes: Outcomes
    position: int
    base: int
    comparator: BatchComparator
    pair: TextPair
    expected: JsonValue
    candidate: JsonValue


class Walk:
    """Compares pairs of values under one plan.

    Comparisons of batch comparators are deferred, so that each is called once for many pairs.
    """

    __slots__ = ("_deferred", "_presence", "with_extras")

    def __init__(self, presence: Callable[[_Side], Presence], scope: Scope) -> None:
        self._presence = presence
        self.with_extras = scope is not Scope.TRUTH
        self._deferred: list[_DeferredComparison] = []

    def compare(
        self, node: AttributeNode, expected: _Side, candidate: _Side, outcomes: Outcomes
    ) -> None:
        """Compare two values of an attribute, and everything inside them."""
        if node.walks:
            types = node.container_types
            if type(expected) in types or type(candidate) in types:
                self._compare_containers(node, expected, candidate, outcomes)
            else:
                self._compare_leaf(node, expected, candidate, outcomes)
        elif node.mode is NodeMode.LEAF:
            self._compare_leaf(node, expected, candidate, outcomes)
        elif node.mode is NodeMode.IGNORE:
            self._record_ignored(node, expected, candidate, outcomes)
        elif node.mode is NodeMode.WALK:
            self._compare_configured(node, expected, candidate, outcomes)

    def compare_objects(
        self, node: AttributeNode, expected: JsonObject, candidate: JsonObject, outcomes: Outcomes
    ) -> None:
        """Compare two non-empty objects key by key.

        Most fields have equal text or equal numbers: those are recorded here, without a call.
        """
        children, cells, missing = node.children, outcomes.cells, 0
        for key, value in expected.items():
            try:
                child = children[key]
            except KeyError:  # the first document with this key
                child = node.child(key)
            other = candidate.get(key, MISSING)
            kind = type(value)
            # One branch for each type, because the interpreter compares equal types faster.
            if kind is type(other):
                if kind is str:
                    cell = child.equal_text_cell
                    # `is_blank`, without the call.
                    if cell and value == other and value and not value.isspace():  # type: ignore[union-attr]
                        cells.append(cell)
                        continue
                elif kind is float:
                    cell = child.equal_number_cell
                    # The difference is 0 for finite numbers only.
                    if cell and value == other and value - value == 0.0:  # type: ignore[operator]
                        cells.append(cell)
                        continue
                elif kind is int:
                    cell = child.equal_number_cell
                    if cell and value == other:
                        cells.append(cell)
                        continue
            missing += other is MISSING
            self.compare(child, value, other, outcomes)
        if self.with_extras and len(candidate) > len(expected) - missing:
            for key, other in candidate.items():
                if key not in expected:
                    self.compare(node.child(key), MISSING, other, outcomes)

    def _compare_equal_objects(
        self, node: AttributeNode, expected: JsonObject, candidate: JsonObject, outcomes: Outcomes
    ) -> None:
        """Compare two deeply equal objects: the same as `compare_objects`, with fewer steps.

        Blank strings, numbers that are written differently (1 and 1.0), and values of other types
        than strings and numbers are compared as usual.
        """
        children, cells = node.children, outcomes.cells
        for key, value in expected.items():
            try:
                child = children[key]
            except KeyError:  # the first document with this key
                child = node.child(key)
            kind = type(value)
            if kind is str:
                cell = child.equal_text_cell
                if cell and value and not value.isspace():  # type: ignore[union-attr]
                    cells.append(cell)
                    continue
            elif kind is float:
                cell = child.equal_number_cell
                if cell and type(candidate[key]) is float and value - value == 0.0:  # type: ignore[operator]
                    cells.append(cell)
                    continue
            elif kind is int:
                cell = child.equal_number_cell
                if cell and type(candidate[key]) is int:
                    cells.append(cell)
                    continue
            self.compare(child, value, candidate[key], outcomes)

    def _compare_lists(
        self,
        node: AttributeNode,
        expected: list[JsonValue],
        candidate: list[JsonValue],
        outcomes: Outcomes,
    ) -> None:
        """Align two non-empty lists and compare the pairs of items."""
        alignment = node.aligner.align(expected, candidate)
        cells, mark_item, path = outcomes.cells, outcomes.items.append, node.item_path
        if alignment.failed is not None:
            error = Comparison.error(alignment.failed, note=alignment.note)
            outcomes.comparisons[len(cells)] = error
            cells.append(node.register() | _ERROR_FACT)
            return
        outcomes.fallback = outcomes.fallback or alignment.fallback
        for index, other, similarity, are_equal in alignment.pairs:
            mark_item((len(cells), path, index, other, similarity))
            item, other_item = expected[index], candidate[other]
            item_node = node.item_node or node.item(index)
            if item_node.walks and type(item) is dict is type(other_item) and item:
                if are_equal:
                    self._compare_equal_objects(item_node, item, other_item, outcomes)
                else:
                    self.compare_objects(item_node, item, other_item, outcomes)
            else:
                self.compare(item_node, item, other_item, outcomes)
        for index in alignment.unmatched_expected:
            mark_item((len(cells), path, index, None, None))
            self._record_unmatched(node.item(index), expected[index], outcomes, in_list=True)
        if self.with_extras:
            for other in alignment.unmatched_candidate:
                mark_item((len(cells), path, None, other, None))
                self._record_unmatched(
                    node.item(other), candidate[other], outcomes, extra=True, in_list=True
                )

    def _compare_containers(
        self, node: AttributeNode, expected: _Side, candidate: _Side, outcomes: Outcomes
    ) -> None:
        """Compare two values of which at least one is a container.

        If only one is, the type of the expected value decides what is recorded.
        """
        types = node.container_types
        expected_container = expected.__class__ in types
        candidate_container = candidate.__class__ in types
        if expected_container and expected:
            if candidate and expected.__class__ is candidate.__class__:
                if expected.__class__ is dict:
                    self.compare_objects(node, expected, candidate, outcomes)  # type: ignore[arg-type]
                else:
                    self._compare_lists(node, expected, candidate, outcomes)  # type: ignore[arg-type]
                return
            self._record_unmatched(node, cast(JsonValue, expected), outcomes)
            empty_container = candidate_container and not candidate
            if not empty_container and self._presence(candidate) is _VALUE:
                self._record_unmatched(node, cast(JsonValue, candidate), outcomes, extra=True)
        elif candidate_container and candidate and self.with_extras:
            if expected_container or self._presence(expected) is not _VALUE:
                self._record_unmatched(node, cast(JsonValue, candidate), outcomes, extra=True)
            else:
                self._record(node, Outcome.FORMAT_ERROR, outcomes)
        elif (
            expected_container
            and candidate_container
            and not candidate
            and self._presence(expected) is _VALUE
        ):
            same_type = expected.__class__ is candidate.__class__
            self._record(node, Outcome.MATCH if same_type else Outcome.FORMAT_ERROR, outcomes)
        else:
            self._compare_leaf(node, expected, candidate, outcomes)

    def _compare_configured(
        self, node: AttributeNode, expected: _Side, candidate: _Side, outcomes: Outcomes
    ) -> None:
        """Compare the configured fields below a place that is not a field, found or not."""
        items = expected if isinstance(expected, list) else []
        other_items = candidate if isinstance(candidate, list) else []
        if items and other_items:
            self._compare_lists(node, items, other_items, outcomes)
        else:
            self._record_unmatched(node, items, outcomes)
            self._record_unmatched(node, other_items, outcomes, extra=True)
        fields = expected if isinstance(expected, dict) else {}
        other_fields = candidate if isinstance(candidate, dict) else {}
        keys = dict.fromkeys(node.configured_keys)
        if node.descends_everywhere:
            keys.update(dict.fromkeys((*fields, *other_fields)))
        for key in keys:
            sides = fields.get(key, MISSING), other_fields.get(key, MISSING)
            self.compare(node.child(key), *sides, outcomes)

    def _record_unmatched(
        self,
        node: AttributeNode,
        value: JsonValue,
        outcomes: Outcomes,
        *,
        extra: bool = False,
        in_list: bool = False,
    ) -> None:
        """Record every leaf of a value without counterpart as missing, or as extra.

        Empty leaves of list items are not recorded.
        """
        if extra and not self.with_extras:
            return
        if node.mode is NodeMode.WALK and value and value.__class__ in node.container_types:
            if isinstance(value, dict):
                for key, inner in value.items():
                    child = node.children.get(key) or node.child(key)
                    self._record_unmatched(child, inner, outcomes, extra=extra, in_list=in_list)
                return
            for index, inner in enumerate(cast("list[JsonValue]", value)):
                places = (None, index) if extra else (index, None)
                outcomes.items.append((len(outcomes.cells), node.item_path, *places, None))
                self._record_unmatched(node.item(index), inner, outcomes, extra=extra, in_list=True)
        elif not node.structural and not (in_list and self._presence(value) is not _VALUE):
            expected, candidate = (MISSING, value) if extra else (value, MISSING)
            self.compare(node, expected, candidate, outcomes)

    def _compare_leaf(
        self, node: AttributeNode, expected: _Side, candidate: _Side, outcomes: Outcomes
    ) -> None:
        """Classify one field: by presence if a side is empty, else by its comparator."""
        if expected is MISSING and (node.truth_only or not self.with_extras):
            return
        if node.ignored:
            self._record_ignored(node, expected, candidate, outcomes)
            return
        base = node.base if node.base >= 0 else node.register()
        candidate_presence = self._presence(candidate)
        if node.any_of:
            expected, expected_presence = acceptable(expected, candidate_presence, self._presence)
        else:
            expected_presence = self._presence(expected)
        if expected_presence is not _VALUE or candidate_presence is not _VALUE:
            outcomes.cells.append(base | PRESENCE_FACTS[expected_presence][candidate_presence])
            return
        value: JsonValue = expected  # type: ignore[assignment] # it is present
        other: JsonValue = candidate  # type: ignore[assignment]
        position, batch_comparator = len(outcomes.cells), node.batch_comparator
        if batch_comparator is None:
            comparison = node.comparator.compare(value, other)
        else:
            settled = batch_comparator.settle(value, other)
            if not isinstance(settled, Comparison):
                outcomes.cells.append(base | _ERROR_FACT)  # until it is resolved
                self._deferred.append(
                    _DeferredComparison(
                        outcomes, position, base, batch_comparator, settled, value, other
                    )
                )
                return
            comparison = settled
        outcomes.cells.append(self.classify(node, comparison, value, other, outcomes, position))

    def resolve_deferred(self) -> None:
        """Call every batch comparator once, with its distinct pairs, and write the cells."""
        deferred, self._deferred = self._deferred, []
        comparators = {id(each.comparator): each.comparator for each in deferred}
        pairs: dict[int, dict[TextPair, None]] = {number: {} for number in comparators}
        for each in deferred:
            pairs[id(each.comparator)][each.pair] = None
        results = {
            number: dict(zip(own, comparators[number].ask(list(own)), strict=True))
            for number, own in pairs.items()
        }
        for outcomes, position, base, comparator, pair, expected, candidate in deferred:
            comparison = results[id(comparator)][pair]
            outcome = outcome_of_values(comparison, expected, candidate)
            outcomes.cells[position] = base | VALUE_FACTS[outcome]
            if comparison is not MATCHED:
                outcomes.comparisons[position] = comparison

    def discard_deferred(self) -> None:
        """Drop the deferred comparisons that are left after an exception."""
        self._deferred.clear()

    @staticmethod
    def classify(
        node: AttributeNode,
        comparison: Comparison,
        expected: JsonValue,
        candidate: JsonValue,
        outcomes: Outcomes,
        position: int,
    ) -> int:
        """Return the cell for a comparison of two values; keep its details for the position."""
        if comparison is MATCHED:
            return node.base | MATCH_FACT
        outcomes.comparisons[position] = comparison
        # Several acceptable values have no single expected type.
        outcome = outcome_of_values(comparison, candidate if node.any_of else expected, candidate)
        return node.base | VALUE_FACTS[outcome]

    @staticmethod
    def _record(node: AttributeNode, outcome: Outcome, outcomes: Outcomes) -> None:
        """Record two values that no comparator is called for."""
        if node.ignored:
            outcome = Outcome.IGNORED
        outcomes.cells.append(node.register() | VALUE_FACTS[outcome])

    def _record_ignored(
        self, node: AttributeNode, expected: _Side, candidate: _Side, outcomes: Outcomes
    ) -> None:
        """Record an ignored field unless it is absent on both sides."""
        presences = self._presence(expected), self._presence(candidate)
        if any(presences):
            outcomes.cells.append(node.register() | IGNORED_FACTS[presences[0]][presences[1]])
