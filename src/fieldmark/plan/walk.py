"""Parallel traversal of two documents that records one cell for each field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias, cast

from fieldmark.compare.wrappers import Tokens
from fieldmark.model.alignment import Alignment
from fieldmark.model.comparison import MATCHED, BatchComparator, Comparison, TextPair
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Kind, Missing, kind_of
from fieldmark.model.outcome import Outcome, Presence, fact_of
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
    wrong_container,
)
from fieldmark.values.paths import join
from fieldmark.values.text import shorten

_CONTAINER_TYPES: Final = (dict, list)
_ERROR_FACT: Final = VALUE_FACTS[Outcome.ERROR]
_VALUE: Final = Presence.VALUE
_MAX_NOTE_LENGTH: Final = 200
_MISSING_FACT: Final = PRESENCE_FACTS[Presence.VALUE][Presence.ABSENT]
_EXTRA_FACT: Final = PRESENCE_FACTS[Presence.ABSENT][Presence.VALUE]
_MAX_NOTES: Final = 20
"""The number of words of a field that are named."""
_MAX_WORD_LENGTH: Final = 60
_DESCENDING: Final = frozenset({NodeMode.WALK, NodeMode.ENTRIES})

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
    With `sparse`, lists contain `MISSING` in the place of items that were compared already.
    """

    __slots__ = ("_deferred", "_presence", "sparse", "with_extras")

    def __init__(self, presence: Callable[[_Side], Presence], scope: Scope) -> None:
        self._presence = presence
        self.with_extras = scope is not Scope.TRUTH
        self.sparse = False
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
            if not self._compare_listed_values(node, expected, candidate, outcomes):
                self._compare_leaf(node, expected, candidate, outcomes)
        elif node.structural and node.mode in _DESCENDING:
            self._compare_configured(node, expected, candidate, outcomes)
        elif node.mode is NodeMode.ENTRIES:
            self._compare_entries(node, expected, candidate, outcomes)
        elif node.mode is NodeMode.SPLIT:
            self._compare_parts(node, expected, candidate, outcomes)

    def compare_objects(
        self, node: AttributeNode, expected: JsonObject, candidate: JsonObject, outcomes: Outcomes
    ) -> None:
        """Compare two objects key by key, then record the keys that only the candidate has."""
        for key, value in expected.items():
            self.compare(node.child(key), value, candidate.get(key, MISSING), outcomes)
        if self.with_extras:
            for key, value in candidate.items():
                if key not in expected:
                    self.compare(node.child(key), MISSING, value, outcomes)

    def _compare_lists(
        self,
        node: AttributeNode,
        expected: list[JsonValue],
        candidate: list[JsonValue],
        outcomes: Outcomes,
    ) -> None:
        """Align two non-empty lists and compare the pairs of items."""
        if self.sparse:
            alignment = _align_sparse(node, expected, candidate)
        else:
            alignment = node.align(expected, candidate)
        cells, mark_item, path = outcomes.cells, outcomes.items.append, node.item_path
        if alignment.failed is not None:
            error = Comparison.error(alignment.failed, note=alignment.note)
            outcomes.comparisons[len(cells)] = error
            cells.append(node.register() | _ERROR_FACT)
            return
        outcomes.fallback = outcomes.fallback or alignment.fallback
        for index, other, similarity in alignment.pairs:
            mark_item((len(cells), path, index, other, similarity))
            self.compare(node.item(index), expected[index], candidate[other], outcomes)
        for index in alignment.unmatched_expected:
            mark_item((len(cells), path, index, None, None))
            self.record_unmatched_item(node.item(index), expected[index], outcomes)
        if self.with_extras:
            for other in alignment.unmatched_candidate:
                mark_item((len(cells), path, None, other, None))
                self.record_unmatched_item(node.item(other), candidate[other], outcomes, extra=True)

    def _compare_listed_values(
        self, node: AttributeNode, expected: _Side, candidate: _Side, outcomes: Outcomes
    ) -> bool:
        """Compare lists of values that a comparator reads one by one, such as boxes.

        The expected value says whether it is a list, or without one the value of the candidate.
        Return false if it is a single value.
        """
        if node.is_list is None:
            return False
        deciding = expected if self._presence(expected) is _VALUE else candidate
        if not isinstance(deciding, list) or not node.is_list(deciding):
            return False
        lists: list[list[JsonValue]] = []
        for side in (expected, candidate):
            single = not isinstance(side, list) or not node.is_list(side)
            present = self._presence(side) is _VALUE
            lists.append([] if not present else cast("list[JsonValue]", [side] if single else side))
        if all(lists):
            self._compare_lists(node, lists[0], lists[1], outcomes)
            return True
        for extra, items in enumerate(lists):
            for index, item in enumerate(items):
                places = (None, index) if extra else (index, None)
                outcomes.items.append((len(outcomes.cells), node.item_path, *places, None))
                self.record_unmatched_item(node.item(index), item, outcomes, extra=bool(extra))
        return True

    def _compare_entries(
        self, node: AttributeNode, expected: _Side, candidate: _Side, outcomes: Outcomes
    ) -> None:
        """Align the values of two objects like list items; their keys take the place of indexes."""
        if not (expected and candidate and type(expected) is dict is type(candidate)):
            if type(expected) in _CONTAINER_TYPES or type(candidate) in _CONTAINER_TYPES:
                self._compare_containers(node, expected, candidate, outcomes)
            else:
                self._compare_leaf(node, expected, candidate, outcomes)
            return
        first, path = len(outcomes.items), node.item_path
        self._compare_lists(node, [*expected.values()], [*candidate.values()], outcomes)
        expected_steps, candidate_steps = (
            [join("", key) for key in side] for side in (expected, candidate)
        )
        outcomes.items[first:] = [
            (
                start,
                path,
                None if index is None else expected_steps[cast(int, index)],
                None if other is None else candidate_steps[cast(int, other)],
                similarity,
            )
            if attribute == path
            else (start, attribute, index, other, similarity)
            for start, attribute, index, other, similarity in outcomes.items[first:]
        ]

    def _compare_containers(
        self, node: AttributeNode, expected: _Side, candidate: _Side, outcomes: Outcomes
    ) -> None:
        """Compare two values, where at least one is a container.

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
            start = len(outcomes.cells)
            self.record_unmatched(node, cast(JsonValue, expected), outcomes)
            empty_container = candidate_container and not candidate
            if not empty_container and self._presence(candidate) is _VALUE:
                self.record_unmatched(node, cast(JsonValue, candidate), outcomes, extra=True)
            self._explain_container(expected, candidate, outcomes, start)
        elif candidate_container and candidate and self.with_extras:
            if expected_container or self._presence(expected) is not _VALUE:
                self.record_unmatched(node, cast(JsonValue, candidate), outcomes, extra=True)
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
        # Another type in the place of a list or map is a field of its own.
        is_map = node.mode is NodeMode.ENTRIES
        holder = dict if is_map else list
        not_lists = [
            node.holds_items and type(side) is not holder and self._presence(side) is _VALUE
            for side in (expected, candidate)
        ]
        if not_lists[0]:
            self._compare_leaf(node, expected, candidate, outcomes)
            return
        start = len(outcomes.cells)
        items, other_items = (
            side if isinstance(side, holder) else holder() for side in (expected, candidate)
        )
        if not items or not other_items:
            self.record_unmatched(node, items, outcomes)
            self.record_unmatched(node, other_items, outcomes, extra=True)
        elif is_map:
            self._compare_entries(node, items, other_items, outcomes)
        else:
            self._compare_lists(node, items, other_items, outcomes)  # type: ignore[arg-type]
        fields = expected if isinstance(expected, dict) and not is_map else {}
        other_fields = candidate if isinstance(candidate, dict) and not is_map else {}
        keys = dict.fromkeys(node.configured_keys)
        if node.descends_everywhere:
            keys.update(dict.fromkeys((*fields, *other_fields)))
        for key in keys:
            child = node.child(key)
            sides = fields.get(key, MISSING), other_fields.get(key, MISSING)
            # Without a value, there are no leaves below a path.
            if not child.walks or sides != (MISSING, MISSING):
                self.compare(child, *sides, outcomes)
        if not_lists[1]:
            self._compare_leaf(node, MISSING, candidate, outcomes)
            outcomes.comparisons[len(outcomes.cells) - 1] = wrong_container(
                cast(JsonValue, candidate), Kind.OBJECT if is_map else Kind.ARRAY
            )
        self._explain_container(expected, candidate, outcomes, start)

    def _explain_container(
        self, expected: _Side, candidate: _Side, outcomes: Outcomes, start: int
    ) -> None:
        """Say which fields are missing because another type is in the place of a container."""
        if expected.__class__ in _CONTAINER_TYPES and self._presence(candidate) is _VALUE:
            needed = kind_of(cast(JsonValue, expected))
            if kind_of(cast(JsonValue, candidate)) is not needed:
                self.explain(outcomes, start, (cast(JsonValue, candidate), needed))

    def explain(
        self, outcomes: Outcomes, start: int, obstacle: tuple[JsonValue, Kind] | None
    ) -> None:
        """Give the missing fields from a position on the value in the place of their container."""
        if obstacle is None or self._presence(obstacle[0]) is not _VALUE:
            return
        reason = wrong_container(*obstacle)
        for position in range(start, len(outcomes.cells)):
            if fact_of(outcomes.cells[position]).outcome is Outcome.OMISSION:
                outcomes.comparisons.setdefault(position, reason)

    def _compare_parts(
        self, node: AttributeNode, expected: _Side, candidate: _Side, outcomes: Outcomes
    ) -> None:
        """Compare the parts of two values that rules apply to, and the rest as one value.

        Values of different types, and values without such parts, are compared as one value.
        """
        values = [side for side in (expected, candidate) if self._presence(side) is _VALUE]
        parts = {
            key: part
            for side in values
            for key, part, inner in node.parts(side)
            if part.applies_in(inner)
        }
        if not parts or len({*map(type, values)}) > 1:
            self._compare_leaf(node, expected, candidate, outcomes)
        elif isinstance(values[0], list):
            if len(values) > 1 and all(values):
                items, other_items = cast("list[list[JsonValue]]", values)
                self._compare_lists(node, items, other_items, outcomes)
            else:
                extra = not isinstance(expected, list) or not expected
                for index, inner in enumerate(
                    cast("list[JsonValue]", candidate if extra else expected)
                ):
                    places = (None, index) if extra else (index, None)
                    outcomes.items.append((len(outcomes.cells), node.item_path, *places, None))
                    self.record_unmatched_item(node.item(index), inner, outcomes, extra=extra)
        else:
            self._compare_object_parts(
                node, cast("dict[str, AttributeNode]", parts), expected, candidate, outcomes
            )

    def _compare_object_parts(
        self,
        node: AttributeNode,
        parts: Mapping[str, AttributeNode],
        expected: _Side,
        candidate: _Side,
        outcomes: Outcomes,
    ) -> None:
        sides = expected, candidate
        for key, part in parts.items():
            inner, other = (
                side.get(key, MISSING) if isinstance(side, dict) else MISSING for side in sides
            )
            self.compare(part, inner, other, outcomes)
        expected_part, candidate_part = (
            {key: inner for key, inner in side.items() if key not in parts}
            if isinstance(side, dict)
            else side
            for side in sides
        )
        if not any(isinstance(side, dict) and side for side in (expected_part, candidate_part)):
            return
        position = len(outcomes.cells)
        self._compare_leaf(node, expected_part, candidate_part, outcomes)
        if self._presence(expected_part) is self._presence(candidate_part) is _VALUE:
            comparison = outcomes.comparisons.get(position, MATCHED)
            note = f"compared without {shorten(', '.join(parts), _MAX_NOTE_LENGTH)}"
            outcomes.comparisons[position] = comparison._replace(note=comparison.note or note)

    def record_unmatched(
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
        if node.mode in _DESCENDING and value and value.__class__ in node.container_types:
            if isinstance(value, dict) and node.mode is NodeMode.ENTRIES:
                for key, inner in value.items():
                    name = join("", key)
                    names = (None, name) if extra else (name, None)
                    outcomes.items.append((len(outcomes.cells), node.item_path, *names, None))
                    self.record_unmatched_item(node.entry_node, inner, outcomes, extra=extra)
                return
            if isinstance(value, dict):
                for key, inner in value.items():
                    self.record_unmatched(
                        node.child(key), inner, outcomes, extra=extra, in_list=in_list
                    )
                return
            for index, inner in enumerate(cast("list[JsonValue]", value)):
                if cast(_Side, inner) is not MISSING:
                    places = (None, index) if extra else (index, None)
                    outcomes.items.append((len(outcomes.cells), node.item_path, *places, None))
                    self.record_unmatched_item(node.item(index), inner, outcomes, extra=extra)
        elif not node.structural and not (in_list and self._presence(value) is not _VALUE):
            expected, candidate = (MISSING, value) if extra else (value, MISSING)
            self.compare(node, expected, candidate, outcomes)

    def record_unmatched_item(
        self, node: AttributeNode, value: JsonValue, outcomes: Outcomes, *, extra: bool = False
    ) -> None:
        """Record the leaves of a list item without counterpart, or the item if it has none."""
        start = len(outcomes.cells)
        self.record_unmatched(node, value, outcomes, extra=extra, in_list=True)
        has_leaves = len(outcomes.cells) > start
        if has_leaves or node.mode is NodeMode.SKIP or node.ignored:
            return
        if not extra:
            outcomes.cells.append(node.register() | _MISSING_FACT)
        elif self.with_extras and not node.truth_only:
            outcomes.cells.append(node.register() | _EXTRA_FACT)

    def _compare_leaf(
        self, node: AttributeNode, expected: _Side, candidate: _Side, outcomes: Outcomes
    ) -> None:
        """Classify one field: by presence if a side is empty, else by its comparator."""
        if self.sparse:
            expected, candidate = _dense(expected), _dense(candidate)
        if expected is MISSING and (node.truth_only or not self.with_extras):
            return
        if node.ignored:
            presences = self._presence(expected), self._presence(candidate)
            if any(presences):
                outcomes.cells.append(node.register() | IGNORED_FACTS[presences[0]][presences[1]])
            return
        base = node.register()
        candidate_presence = self._presence(candidate)
        if node.any_of:
            expected, expected_presence = acceptable(expected, candidate_presence, self._presence)
        else:
            expected_presence = self._presence(expected)
        if node.tokens is not None and self._compare_words(
            node.tokens,
            base,
            expected if expected_presence is _VALUE else "",
            candidate if candidate_presence is _VALUE else "",
            outcomes,
        ):
            return
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

    @staticmethod
    def _compare_words(
        tokens: Tokens, base: int, expected: _Side, candidate: _Side, outcomes: Outcomes
    ) -> bool:
        """Record every word of two texts: in both, missing or extra.

        Return false if there are none, or if a value has no words because it is a container.
        """
        expected_words, candidate_words = (
            tokens.words(cast(JsonValue, side)) for side in (expected, candidate)
        )
        if (
            expected_words is None
            or candidate_words is None
            or not (expected_words or candidate_words)
        ):
            return False
        words, others = Counter(expected_words), Counter(candidate_words)
        cells, notes = outcomes.cells, 0
        cells += [base | MATCH_FACT] * (words & others).total()
        for fact, left in ((_MISSING_FACT, words - others), (_EXTRA_FACT, others - words)):
            for word in left.elements():
                if notes < _MAX_NOTES:
                    note = f"word {shorten(word, _MAX_WORD_LENGTH)!r}"
                    outcomes.comparisons[len(cells)] = Comparison(matched=False, note=note)
                    notes += 1
                cells.append(base | fact)
        return True

    def resolve_deferred(self) -> None:
        """Call every batch comparator once, with its distinct pairs, and write the cells."""
        deferred, self._deferred = self._deferred, []
        comparators = {id(field.comparator): field.comparator for field in deferred}
        pairs: dict[int, dict[TextPair, None]] = {number: {} for number in comparators}
        for field in deferred:
            pairs[id(field.comparator)][field.pair] = None
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


def _align_sparse(
    node: AttributeNode, expected: list[JsonValue], candidate: list[JsonValue]
) -> Alignment:
    """Align the items that are left in both lists."""
    indexes, other_indexes = (
        [index for index, item in enumerate(cast("list[_Side]", items)) if item is not MISSING]
        for items in (expected, candidate)
    )
    alignment = node.align(
        [cast(JsonValue, _dense(expected[index])) for index in indexes],
        [cast(JsonValue, _dense(candidate[index])) for index in other_indexes],
    )
    return alignment._replace(
        pairs=[
            (indexes[position], other_indexes[other_position], similarity)
            for position, other_position, similarity in alignment.pairs
        ],
        unmatched_expected=[indexes[index] for index in alignment.unmatched_expected],
        unmatched_candidate=[other_indexes[index] for index in alignment.unmatched_candidate],
    )


def _dense(value: _Side) -> _Side:
    """Return a value without the missing items of its lists."""
    if isinstance(value, list):
        return [
            cast(JsonValue, _dense(item))
            for item in cast("list[_Side]", value)
            if item is not MISSING
        ]
    if isinstance(value, dict):
        return {key: cast(JsonValue, _dense(item)) for key, item in value.items()}
    return value
