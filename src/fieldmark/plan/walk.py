"""Walks two documents once, side by side, and writes one cell a field.

Equal text and equal numbers are settled on the spot; everything else goes through `_field`,
where the shapes of the two sides decide, and ends in `_leaf`, where presence and comparator do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from fieldmark.model.block import OutcomeBlock
from fieldmark.model.comparison import MATCHED, Comparison, DearComparator, TextPair
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Outcome, Presence
from fieldmark.model.rule import Scope
from fieldmark.plan.classify import (
    EMPTY_FACTS,
    IGNORED_FACTS,
    MATCH_FACT,
    VALUE_FACTS,
    acceptable,
    outcome_of_values,
)
from fieldmark.plan.node import Mode, Node

__all__ = ["Question", "Walk"]

_ERROR_FACT = VALUE_FACTS[Outcome.ERROR]
_HALLUCINATION = EMPTY_FACTS[Presence.ABSENT, Presence.VALUE]
_OMISSION = EMPTY_FACTS[Presence.VALUE, Presence.ABSENT]


Container: TypeAlias = list[JsonValue] | JsonObject


class Question(NamedTuple):
    """A comparison that waits for its comparator to be asked a whole column at a time."""

    block: OutcomeBlock
    position: int
    base: int
    comparator: DearComparator
    pair: TextPair
    expected: JsonValue
    candidate: JsonValue


class Walk:
    """One way through two documents, for one plan."""

    __slots__ = ("_extras", "_presence", "questions")

    def __init__(
        self, presence: Callable[[JsonValue | Missing], Presence], scope: Scope
    ) -> None:
        self._presence = presence
        self._extras = scope is not Scope.TRUTH
        self.questions: list[Question] = []

    def field(
        self,
        node: Node,
        expected: JsonValue | Missing,
        candidate: JsonValue | Missing,
        block: OutcomeBlock,
    ) -> None:
        """Record what happened at one place and below it."""
        mode = node.mode
        if mode is not Mode.WALK:
            if mode is Mode.LEAF:
                self._leaf(node, expected, candidate, block)
            elif mode is Mode.IGNORE:
                self._ignore(node, expected, candidate, block)
            return
        if node.silent:
            self._configured(node, expected, candidate, block)
            return
        containers = node.containers
        if expected.__class__ in containers and expected:
            self._container(node, expected, candidate, block)  # type: ignore[arg-type]
        elif candidate.__class__ not in containers:
            self._leaf(node, expected, candidate, block)
        elif candidate:
            self._against_container(node, expected, candidate, block)  # type: ignore[arg-type]
        elif expected.__class__ in containers and self._presence(expected) is Presence.VALUE:
            alike = expected.__class__ is candidate.__class__
            self._write(node, Outcome.MATCH if alike else Outcome.FORMAT_ERROR, block)
        else:
            self._leaf(node, expected, candidate, block)

    def _container(
        self, node: Node, expected: Container, candidate: JsonValue | Missing, block: OutcomeBlock
    ) -> None:
        """A truth that holds something inside, against anything."""
        if candidate and candidate.__class__ is expected.__class__:
            if expected.__class__ is dict:
                self._objects(node, expected, candidate, block)  # type: ignore[arg-type]
            else:
                self._lists(node, expected, candidate, block)  # type: ignore[arg-type]
            return
        self._omit(node, expected, block)
        hollow = not candidate and candidate.__class__ in node.containers
        if not hollow and self._presence(candidate) is Presence.VALUE:
            self._invent(node, candidate, block)  # type: ignore[arg-type]

    def _against_container(
        self, node: Node, expected: JsonValue | Missing, candidate: Container, block: OutcomeBlock
    ) -> None:
        """A truth that holds nothing inside, against a container that does."""
        if expected.__class__ in node.containers or self._presence(expected) is not Presence.VALUE:
            self._invent(node, candidate, block)
        else:
            self._write(node, Outcome.FORMAT_ERROR, block)

    def _write(self, node: Node, outcome: Outcome, block: OutcomeBlock) -> None:
        """One outcome of two values that no comparator was asked about."""
        block.cells.append(node.number() | VALUE_FACTS[outcome])

    def _configured(
        self,
        node: Node,
        expected: JsonValue | Missing,
        candidate: JsonValue | Missing,
        block: OutcomeBlock,
    ) -> None:
        """A place that is no field itself: the configured fields below it, found or not."""
        ours = expected if isinstance(expected, list) else []
        theirs = candidate if isinstance(candidate, list) else []
        if ours and theirs:
            self._lists(node, ours, theirs, block)
        elif ours or theirs:
            self._omit(node, ours, block)
            self._invent(node, theirs, block)
        before = expected if isinstance(expected, dict) else {}
        after = candidate if isinstance(candidate, dict) else {}
        keys = [*node.wanted, *before, *after] if node.deep else node.wanted
        for key in dict.fromkeys(keys):
            sides = before.get(key, MISSING), after.get(key, MISSING)
            self.field(node.child(key), *sides, block)

    def _objects(
        self, node: Node, expected: JsonObject, candidate: JsonObject, block: OutcomeBlock
    ) -> None:
        """Two non-empty objects, key by key; equal text and equal numbers are settled here."""
        keys = tuple(expected)
        take, children = node.shapes.get(keys) or node.shape(keys)
        try:
            others = take(candidate)
            lacking = 0
        except KeyError:
            others = [candidate.get(key, MISSING) for key in keys]
            lacking = others.count(MISSING)
        add = block.cells.append
        for value, other, child in zip(expected.values(), others, children, strict=True):
            kind = value.__class__
            if kind is str:
                if value == other:
                    if child.text_match:
                        if value and not value.isspace():  # type: ignore[union-attr]
                            add(child.text_match)
                            continue
                    elif value in child.agreed:
                        add(child.base | MATCH_FACT)
                        continue
            elif kind is other.__class__:
                if kind is dict:
                    if child.open and value and other:
                        self._objects(child, value, other, block)  # type: ignore[arg-type]
                        continue
                elif value == other and child.number_match:
                    if kind is int or (kind is float and value - value == 0):  # type: ignore[operator]
                        add(child.number_match)
                        continue
            self.field(child, value, other, block)
        if len(candidate) > len(keys) - lacking and self._extras:
            known = node.children
            for key, other in candidate.items():
                if key not in expected:
                    self.field(known.get(key) or node.child(key), MISSING, other, block)

    def _lists(
        self, node: Node, expected: list[JsonValue], candidate: list[JsonValue], block: OutcomeBlock
    ) -> None:
        """Two non-empty lists: aligned, then item by item."""
        alignment = node.aligner.align(expected, candidate)
        cells, mark = block.cells, block.items.append
        if alignment.failed is not None:
            block.comparisons[len(cells)] = Comparison.error(alignment.failed, note=alignment.note)
            cells.append(node.number() | _ERROR_FACT)
            return
        block.fallback = block.fallback or alignment.fallback
        path = node.item_path
        for ours, theirs, similarity, _ in alignment.pairs:
            mark((len(cells), path, ours, theirs, similarity))
            below, item, other = node.item(ours), expected[ours], candidate[theirs]
            if below.open and item.__class__ is dict is other.__class__ and item and other:
                self._objects(below, item, other, block)  # type: ignore[arg-type]
            else:
                self.field(below, item, other, block)
        for ours in alignment.unmatched_expected:
            mark((len(cells), path, ours, None, None))
            self._omit(node.item(ours), expected[ours], block, empties=False)
        if self._extras:
            for theirs in alignment.unmatched_candidate:
                mark((len(cells), path, None, theirs, None))
                self._invent(node.item(theirs), candidate[theirs], block, empties=False)

    def _omit(
        self, node: Node, expected: JsonValue, block: OutcomeBlock, *, empties: bool = True
    ) -> None:
        """A truth without counterpart: every leaf of it."""
        inside = node.mode is Mode.WALK and expected and expected.__class__ in node.containers
        if inside and isinstance(expected, dict):
            for key, value in expected.items():
                self._omit(node.children.get(key) or node.child(key), value, block, empties=empties)
        elif inside and isinstance(expected, list):
            for place, value in enumerate(expected):
                block.items.append((len(block.cells), node.item_path, place, None, None))
                self._omit(node.item(place), value, block, empties=False)
        elif not node.silent and (empties or self._presence(expected) is Presence.VALUE):
            self.field(node, expected, MISSING, block)

    def _invent(
        self, node: Node, candidate: JsonValue, block: OutcomeBlock, *, empties: bool = True
    ) -> None:
        """A candidate without counterpart: every leaf of it."""
        if not self._extras:
            return
        inside = node.mode is Mode.WALK and candidate and candidate.__class__ in node.containers
        if inside and isinstance(candidate, dict):
            for key, value in candidate.items():
                below = node.children.get(key) or node.child(key)
                self._invent(below, value, block, empties=empties)
        elif inside and isinstance(candidate, list):
            for place, value in enumerate(candidate):
                block.items.append((len(block.cells), node.item_path, None, place, None))
                self._invent(node.item(place), value, block, empties=False)
        elif not node.silent and (empties or self._presence(candidate) is Presence.VALUE):
            self.field(node, MISSING, candidate, block)

    def _ignore(
        self,
        node: Node,
        expected: JsonValue | Missing,
        candidate: JsonValue | Missing,
        block: OutcomeBlock,
    ) -> None:
        ours, theirs = self._presence(expected), self._presence(candidate)
        if ours or theirs:
            block.cells.append(node.number() | IGNORED_FACTS[ours, theirs])

    def _leaf(
        self,
        node: Node,
        expected: JsonValue | Missing,
        candidate: JsonValue | Missing,
        block: OutcomeBlock,
    ) -> None:
        """One field: empty sides by table, two values by the comparator."""
        if expected is MISSING and not self._extras:
            return
        base = node.number()
        theirs = self._presence(candidate)
        if node.any_of:
            expected, ours = acceptable(expected, theirs, self._presence)
        else:
            ours = self._presence(expected)
        if ours is not Presence.VALUE or theirs is not Presence.VALUE:
            block.cells.append(base | EMPTY_FACTS[ours, theirs])
            return
        assert expected is not MISSING and candidate is not MISSING  # noqa: S101, PT018
        if node.dear is None:
            comparison = node.comparator.compare(expected, candidate)
        else:
            answer = node.dear.settle(expected, candidate)
            if not isinstance(answer, Comparison):
                question = (block, len(block.cells), base, node.dear, answer, expected, candidate)
                self.questions.append(Question(*question))
                block.cells.append(base | _ERROR_FACT)
                return
            comparison = answer
        if comparison is not MATCHED:
            block.comparisons[len(block.cells)] = comparison
        elif expected.__class__ is str and expected == candidate:
            node.agree(expected)  # type: ignore[arg-type]
        shown = candidate if node.any_of else expected
        block.cells.append(base | VALUE_FACTS[outcome_of_values(comparison, shown, candidate)])

    def answer(self) -> None:
        """Ask every comparator that was left waiting, one column of distinct pairs at a time."""
        waiting, self.questions = self.questions, []
        columns: dict[int, dict[TextPair, Comparison]] = {}
        for question in waiting:
            columns.setdefault(id(question.comparator), {}).setdefault(question.pair, MATCHED)
        comparators = {id(question.comparator): question.comparator for question in waiting}
        for number, column in columns.items():
            pairs = list(column)
            column.update(zip(pairs, comparators[number].ask(pairs), strict=True))
        for block, position, base, comparator, pair, expected, candidate in waiting:
            comparison = columns[id(comparator)][pair]
            outcome = outcome_of_values(comparison, expected, candidate)
            block.cells[position] = base | VALUE_FACTS[outcome]
            if comparison is not MATCHED:
                block.comparisons[position] = comparison
