"""Walks two documents once, side by side, and writes one cell a field.

Equal text and equal numbers are settled on the spot; everything else goes through `_field`,
where the shapes of the two sides decide, and ends in `_leaf`, where presence and comparator do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fieldmark.model.comparison import MATCHED, BatchComparator, Comparison
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Outcome, Presence
from fieldmark.model.outcomes import Outcomes
from fieldmark.model.rule import Scope
from fieldmark.plan.attribute_node import Mode, Node
from fieldmark.plan.classify import (
    FACT_OF_PRESENCES,
    IGNORED_FACTS,
    LOST,
    MATCH_FACT,
    NULLED,
    VALUE_FACTS,
    acceptable,
    outcome_of_values,
)
from fieldmark.plan.deferred_comparisons import Question, Questions
from fieldmark.plan.twins import write_run

__all__ = ["Walk"]

_ERROR_FACT = VALUE_FACTS[Outcome.ERROR]
_VALUE = Presence.VALUE
_INVENTED = FACT_OF_PRESENCES[Presence.ABSENT][_VALUE]
_WALK, _LEAF, _IGNORE = Mode.WALK, Mode.LEAF, Mode.IGNORE


Side: TypeAlias = JsonValue | Missing
Container: TypeAlias = list[JsonValue] | JsonObject


class Walk:
    """One way through two documents, for one plan."""

    __slots__ = ("_extras", "_presence", "questions")

    def __init__(self, presence: Callable[[Side], Presence], scope: Scope) -> None:
        self._presence = presence
        self._extras = scope is not Scope.TRUTH
        self.questions = Questions()

    def field(self, node: Node, expected: Side, candidate: Side, block: Outcomes) -> None:
        """Record what happened at one place and below it."""
        mode = node.mode
        if mode is not _WALK:
            if mode is _LEAF:
                self._leaf(node, expected, candidate, block)
            elif mode is _IGNORE:
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
        elif expected.__class__ in containers and self._presence(expected) is _VALUE:
            alike = expected.__class__ is candidate.__class__
            self._write(node, Outcome.MATCH if alike else Outcome.FORMAT_ERROR, block)
        else:
            self._leaf(node, expected, candidate, block)

    def _container(self, node: Node, expected: Container, candidate: Side, block: Outcomes) -> None:
        """A truth that holds something inside, against anything."""
        if candidate and candidate.__class__ is expected.__class__:
            if expected.__class__ is dict:
                self.objects(node, expected, candidate, block)  # type: ignore[arg-type]
            else:
                self._lists(node, expected, candidate, block)  # type: ignore[arg-type]
            return
        self._alone(node, expected, block, invented=False)
        hollow = not candidate and candidate.__class__ in node.containers
        if not hollow and self._presence(candidate) is _VALUE:
            self._alone(node, candidate, block, invented=True)  # type: ignore[arg-type]

    def _against_container(
        self, node: Node, expected: Side, candidate: Container, block: Outcomes
    ) -> None:
        """A truth that holds nothing inside, against a container that does."""
        if not self._extras:
            self._leaf(node, expected, candidate, block)
        elif expected.__class__ in node.containers or self._presence(expected) is not _VALUE:
            self._alone(node, candidate, block, invented=True)
        else:
            self._write(node, Outcome.FORMAT_ERROR, block)

    def _write(self, node: Node, outcome: Outcome, block: Outcomes) -> None:
        """One outcome of two values that no comparator was asked about."""
        if node.ignored:
            outcome = Outcome.IGNORED
        block.cells.append(node.number() | VALUE_FACTS[outcome])

    def _configured(self, node: Node, expected: Side, candidate: Side, block: Outcomes) -> None:
        """A place that is no field itself: the configured fields below it, found or not."""
        ours = expected if isinstance(expected, list) else []
        theirs = candidate if isinstance(candidate, list) else []
        if ours and theirs:
            self._lists(node, ours, theirs, block)
        elif ours or theirs:
            self._alone(node, ours, block, invented=False)
            self._alone(node, theirs, block, invented=True)
        before = expected if isinstance(expected, dict) else {}
        after = candidate if isinstance(candidate, dict) else {}
        keys = [*node.wanted, *before, *after] if node.deep else node.wanted
        for key in dict.fromkeys(keys):
            sides = before.get(key, MISSING), after.get(key, MISSING)
            self.field(node.child(key), *sides, block)

    def objects(
        self, node: Node, expected: JsonObject, candidate: JsonObject, block: Outcomes
    ) -> None:
        """Two non-empty objects, key by key."""
        flat = node.flat
        if flat is not None and flat.compare(self, expected, candidate, block):
            return
        keys = tuple(expected)
        shape = node.shapes.get(keys) or node.shape(keys)
        form = shape.form
        if form is None:
            for key, child in zip(keys, shape.children, strict=True):
                self.field(child, expected[key], candidate.get(key, MISSING), block)
            if len(candidate) > len(keys) or not candidate.keys() <= expected.keys():
                self._further(node, expected, candidate, block)
            shape.see(node, expected)
            return
        unsettled = form.settle(expected, candidate)
        if not unsettled:
            block.cells += form.every
            return
        cells, every, done = block.cells, form.every, 0
        for start, end, below, value, other in unsettled:
            cells += every[done:start]
            if start < end:
                self.unsettled(below, value, other, block)
            else:
                self._further(below, value, other, block)  # type: ignore[arg-type]
            done = end
        cells += every[done:]

    def unsettled(self, node: Node, expected: Side, candidate: Side, block: Outcomes) -> None:
        """A field that is not settled by being the same: often it is only gone."""
        if (candidate is MISSING or candidate is None) and node.has_value(expected):
            block.cells.append(node.base | (NULLED if candidate is None else LOST))
        elif expected is not MISSING or self._extras:
            self.field(node, expected, candidate, block)

    def _further(
        self, node: Node, expected: JsonObject, candidate: JsonObject, block: Outcomes
    ) -> None:
        """The keys that only the candidate has."""
        if self._extras:
            for key, other in candidate.items():
                if key not in expected:
                    self.field(node.child(key), MISSING, other, block)

    def _lists(
        self, node: Node, expected: list[JsonValue], candidate: list[JsonValue], block: Outcomes
    ) -> None:
        """Two non-empty lists: aligned, then item by item."""
        alignment = node.aligner.align(expected, candidate)
        cells, mark = block.cells, block.items.append
        if alignment.failed is not None:
            block.comparisons[len(cells)] = Comparison.error(alignment.failed, note=alignment.note)
            cells.append(node.number() | _ERROR_FACT)
            return
        block.fallback = block.fallback or alignment.fallback
        path, pairs, place = node.item_path, alignment.pairs, 0
        twin = node.plain_twin([expected[pair[0]] for pair in pairs if pair[3]])
        while (place := write_run(pairs, place, path, twin, block)) < len(pairs):
            ours, theirs, similarity, _ = pairs[place]
            place += 1
            mark((len(cells), path, ours, theirs, similarity))
            below, item, other = node.any_item or node.item(ours), expected[ours], candidate[theirs]
            if below.open and item and item.__class__ is dict is other.__class__ and other:
                self.objects(below, item, other, block)
            else:
                self.field(below, item, other, block)
        for ours in alignment.unmatched_expected:
            mark((len(cells), path, ours, None, None))
            self._alone(node.item(ours), expected[ours], block, invented=False, empties=False)
        if self._extras:
            for theirs in alignment.unmatched_candidate:
                mark((len(cells), path, None, theirs, None))
                self._alone(
                    node.item(theirs), candidate[theirs], block, invented=True, empties=False
                )

    def _alone(
        self,
        node: Node,
        value: JsonValue,
        block: Outcomes,
        *,
        invented: bool,
        empties: bool = True,
    ) -> None:
        """A value without counterpart, lost or invented: every leaf of it."""
        if invented and not self._extras:
            return
        inside = node.mode is _WALK and value and value.__class__ in node.containers
        if inside and isinstance(value, dict):
            fact = _INVENTED if invented else LOST
            for key, inner in value.items():
                below = node.children.get(key) or node.child(key)
                if below.has_value(inner):
                    block.cells.append(below.base | fact)
                else:
                    self._alone(below, inner, block, invented=invented, empties=empties)
        elif inside and isinstance(value, list):
            for place, inner in enumerate(value):
                places = (None, place) if invented else (place, None)
                block.items.append((len(block.cells), node.item_path, *places, None))
                self._alone(node.item(place), inner, block, invented=invented, empties=False)
        elif not node.silent and (empties or self._presence(value) is _VALUE):
            if invented:
                self.field(node, MISSING, value, block)
            else:
                self.field(node, value, MISSING, block)

    def _ignore(self, node: Node, expected: Side, candidate: Side, block: Outcomes) -> None:
        ours, theirs = self._presence(expected), self._presence(candidate)
        if ours or theirs:
            block.cells.append(node.number() | IGNORED_FACTS[ours][theirs])

    def _leaf(self, node: Node, expected: Side, candidate: Side, block: Outcomes) -> None:
        """One field: empty sides by table, two values by the comparator."""
        if expected is MISSING and not self._extras:
            return
        if node.ignored:
            self._ignore(node, expected, candidate, block)
            return
        base = node.base if node.base >= 0 else node.number()
        theirs = self._presence(candidate)
        if node.any_of:
            expected, ours = acceptable(expected, theirs, self._presence)
        else:
            ours = self._presence(expected)
        if ours is not _VALUE or theirs is not _VALUE:
            block.cells.append(base | FACT_OF_PRESENCES[ours][theirs])
        elif node.dear is not None:
            self._settle(node, node.dear, expected, candidate, block)  # type: ignore[arg-type]
        else:
            said = node.comparator.compare(expected, candidate)  # type: ignore[arg-type]
            at = len(block.cells)
            block.cells.append(self.said(node, said, expected, candidate, block, at))  # type: ignore[arg-type]

    @staticmethod
    def said(
        node: Node,
        comparison: Comparison,
        expected: JsonValue,
        candidate: JsonValue,
        block: Outcomes,
        position: int,
    ) -> int:
        """The cell for what a comparator said of two values; what it said beyond that is noted."""
        if comparison is MATCHED:
            if expected.__class__ is str and expected == candidate:
                node.agree(expected)
            return node.base | MATCH_FACT
        block.comparisons[position] = comparison
        shown = candidate if node.any_of else expected
        return node.base | VALUE_FACTS[outcome_of_values(comparison, shown, candidate)]

    def _settle(
        self,
        node: Node,
        comparator: BatchComparator,
        expected: JsonValue,
        candidate: JsonValue,
        block: Outcomes,
    ) -> None:
        """Decide at once what needs no provider; the rest waits for its column."""
        answer = comparator.settle(expected, candidate)
        position = len(block.cells)
        if isinstance(answer, Comparison):
            block.cells.append(self.said(node, answer, expected, candidate, block, position))
            return
        block.cells.append(node.base | _ERROR_FACT)
        self.questions.ask(
            Question(block, position, node.base, comparator, answer, expected, candidate)
        )
