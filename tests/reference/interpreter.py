"""The outcomes of all fields of two documents, by direct recursive definition.

Slow on purpose, as an oracle for the fast plan. The interpreter uses nothing of `fieldmark.plan`;
comparators and aligners are black boxes. Not supported: paths with fixed indexes, comparators with
a provider, and lists above the limits of an aligner.

A *place* is a tuple of keys and `ITEM`s. A value is *empty* (absent, null or blank), a *scalar*
(also a list that is compared as a whole), a *hollow* container ({} or []), or a *full* container.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple, TypeAlias

from fieldmark.align.exact_methods import Index
from fieldmark.align.greedy import Greedy
from fieldmark.align.optimal import Optimal
from fieldmark.compare.exact import Exact
from fieldmark.model.alignment import Aligner, Alignment
from fieldmark.model.comparison import Comparator
from fieldmark.model.json import MISSING, JsonValue, Missing, kind_of
from fieldmark.model.outcome import CELL_BITS, Outcome, Presence, fact_of
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.plan.plan import Plan
from fieldmark.values.paths import join

__all__ = ["Fact", "interpret", "planned"]
ITEM: Final = 0
ANYTHING: Final = 1
Place: TypeAlias = "tuple[str | int, ...]"
Value: TypeAlias = "JsonValue | Missing"


class Fact(NamedTuple):
    """One outcome, for comparison with the plan."""

    attribute: str
    outcome: str
    expected: str
    candidate: str


class Shape(Enum):
    EMPTY = auto()
    SCALAR = auto()
    HOLLOW = auto()
    FULL = auto()


class Emission(NamedTuple):
    place: Place
    outcome: Outcome
    expected: Presence
    candidate: Presence


def interpret(expected: Value, candidate: Value, rules: Rules) -> Counter[Fact]:
    """Return the multiset of outcomes of two documents."""
    return Counter(
        Fact(text_of(at), outcome.name, before.name, after.name)
        for at, outcome, before, after in Interpreter(rules).emissions(expected, candidate)
    )


def planned(plan: Plan, expected: Value, candidate: Value) -> Counter[Fact]:
    """Return the outcomes of a plan as those of the interpreter."""
    cells = plan.compare(expected, candidate).cells
    return Counter(
        Fact(plan.table.path(cell >> CELL_BITS), *(each.name for each in fact_of(cell)))
        for cell in cells
    )


def text_of(place: Place) -> str:
    """Return a place as an attribute: keys joined by dots, `[]` for list items, `$` for the document."""
    text = ""
    for step in place:
        text = text + "[]" if step == ITEM else join(text, str(step))
    return text or "$"


def steps_of(path: str) -> Place:
    """Return the steps of a rule's path: plain keys, `[*]` or `[]`, and `**`."""
    dotted = path.replace("[*]", "[]").replace("[]", ".[]").removeprefix(".")
    special = {"[]": ITEM, "**": ANYTHING}
    return tuple(special.get(word, word) for word in dotted.split("."))


def covers(pattern: Place, place: Place) -> bool:
    """Whether a rule's path matches a place; `**` matches any number of steps."""
    if not pattern:
        return not place
    if pattern[0] == ANYTHING:
        return any(covers(pattern[1:], place[skip:]) for skip in range(len(place) + 1))
    return bool(place) and pattern[0] == place[0] and covers(pattern[1:], place[1:])


def precedence(rank: int, rule: Rule) -> tuple[bool, int]:
    """Exact paths take precedence over patterns, and later rules over earlier ones."""
    return ("*" not in rule.path and "[]" not in rule.path, rank)


@dataclass(frozen=True, slots=True)
class Interpreter:
    rules: Rules

    def governing(self, place: Place) -> list[Rule]:
        """Return the rules that match a place, in order of precedence."""
        ranked = sorted(enumerate(self.rules.fields), key=lambda pair: precedence(*pair))
        return [rule for _, rule in reversed(ranked) if covers(steps_of(rule.path), place)]

    def named_comparator(self, place: Place) -> Comparator | None:
        """Return the comparator that a rule sets for this place, if any."""
        named = (rule.comparator for rule in self.governing(place))
        return next((comparator for comparator in named if comparator is not None), None)

    def aligner_at(self, place: Place) -> Aligner:
        """Return the aligner of a list; a list with rules for its items is not compared as a whole."""
        named = (rule.aligner for rule in self.governing(place))
        aligner = next((each for each in named if each is not None), self.rules.aligner or Greedy())
        if aligner.name == "whole" and any(
            steps[len(place) : len(place) + 1] == (ITEM,) and covers(steps[: len(place)], place)
            for steps in (steps_of(rule.path) for rule in self.rules.fields)
        ):
            return Index()
        return aligner

    def align(self, at: Place, expected: list[JsonValue], candidate: list[JsonValue]) -> Alignment:
        """Align two lists; the rules for fields of their items decide how similar these are."""
        aligner = self.aligner_at(at)
        if not isinstance(aligner, Greedy | Optimal):
            return aligner.align(expected, candidate)
        return aligner.align(expected, candidate, ItemRules(self, (*at, ITEM)))

    def ignored(self, place: Place) -> bool:
        return getattr(self.named_comparator(place), "name", "") == "ignore"

    def is_leaf(self, place: Place) -> bool:
        """Whether the value at a place is compared as a whole, even a container."""
        return self.named_comparator(place) is not None

    def presence(self, value: Value) -> Presence:
        if value is MISSING:
            return Presence.ABSENT
        if value is None:
            return Presence.NULL
        blanks = {"", *(token.strip().casefold() for token in self.rules.empty_tokens)}
        if isinstance(value, str) and value.strip().casefold() in blanks:
            return Presence.BLANK
        if self.rules.empty_containers and value in ([], {}):
            return Presence.BLANK
        return Presence.VALUE

    def takes_any(self, place: Place) -> bool:
        return getattr(self.named_comparator(place), "name", "") == "any_of"

    def expected_presence(self, at: Place, expected: Value, candidate: Value) -> Presence:
        """Return the presence of acceptable values: blank if all are empty; null if an empty candidate matches one."""
        if not self.takes_any(at) or not isinstance(expected, list):
            return self.presence(expected)
        filled = [self.presence(value) is Presence.VALUE for value in expected]
        if not any(filled):
            return Presence.BLANK
        found_empty = self.presence(candidate) is not Presence.VALUE and not all(filled)
        return Presence.NULL if found_empty else Presence.VALUE

    def shape(self, at: Place, value: Value) -> Shape:
        if self.presence(value) is not Presence.VALUE:
            return Shape.EMPTY
        if isinstance(value, list) and self.aligner_at(at).name == "whole":
            return Shape.SCALAR
        if isinstance(value, dict | list):
            return Shape.FULL if value else Shape.HOLLOW
        return Shape.SCALAR

    def emissions(self, expected: Value, candidate: Value) -> Iterator[Emission]:
        if self.rules.scope is Scope.CONFIGURED:
            compared = [rule for rule in self.rules.fields if rule.comparator or not rule.aligner]
            paths = [steps_of(rule.path) for rule in compared]
            # A list with only a rule for its alignment counts as in the union of both documents.
            lists = [
                at
                for at in (
                    steps_of(rule.path) for rule in self.rules.fields if rule not in compared
                )
                if ITEM not in at
                and not any(path[: len(at)] == at and not self.ignored(path) for path in paths)
            ]
            others = [path for path in paths if not any(path[: len(at)] == at for at in lists)]
            yield from self.configured((), others, expected, candidate)
            for at in lists:
                yield from self.pair(at, found(expected, at), found(candidate, at))
            return
        # An empty object is a document without fields.
        before = MISSING if expected == {} else expected
        after = MISSING if candidate == {} else candidate
        if before is MISSING and after is MISSING:
            return
        for emission in self.pair((), before, after):
            if self.rules.scope is not Scope.TRUTH or emission.expected is not Presence.ABSENT:
                yield emission

    def pair(self, at: Place, expected: Value, candidate: Value) -> Iterator[Emission]:
        """Compare two values at one place."""
        if self.ignored(at) or self.is_leaf(at):
            yield from self.leaf(at, expected, candidate)
            return
        if self.rules.depth is Depth.TOP and at:
            yield from self.parts(at, expected, candidate)
            return
        before, after = self.shape(at, expected), self.shape(at, candidate)
        if before is Shape.FULL and after is Shape.FULL:
            yield from self.containers(at, expected, candidate)
        elif before is Shape.FULL:
            yield from self.alone(at, expected, candidate=False)
            if after is Shape.SCALAR:
                yield Emission(at, Outcome.HALLUCINATION, Presence.ABSENT, Presence.VALUE)
        elif after is Shape.FULL and self.rules.scope is Scope.TRUTH:
            yield from self.leaf(at, expected, candidate)
        elif after is Shape.FULL and before is Shape.SCALAR:
            yield Emission(at, Outcome.FORMAT_ERROR, Presence.VALUE, Presence.VALUE)
        elif after is Shape.FULL:
            yield from self.alone(at, candidate, candidate=True)
        elif before is Shape.HOLLOW and after is Shape.HOLLOW:
            same_type = kind_of(expected) is kind_of(candidate)  # type: ignore[arg-type]
            outcome = Outcome.MATCH if same_type else Outcome.FORMAT_ERROR
            yield Emission(at, outcome, Presence.VALUE, Presence.VALUE)
        else:
            yield from self.leaf(at, expected, candidate)

    def inside(self, at: Place, value: Value) -> Iterator[tuple[Place, Value]]:
        """Yield the direct members of a container that rules may apply to."""
        if isinstance(value, dict):
            yield from (((*at, key), inner) for key, inner in value.items())
        elif isinstance(value, list) and self.aligner_at(at).name != "whole":
            yield from (((*at, ITEM), item) for item in value)

    def applies(self, at: Place, value: Value) -> bool:
        """Whether a rule applies to a value or to anything inside it."""
        return bool(self.governing(at)) or any(
            self.applies(*member) for member in self.inside(at, value)
        )

    def parts(self, at: Place, expected: Value, candidate: Value) -> Iterator[Emission]:
        """Compare members with rules one by one, and all other members together."""
        values = [side for side in (expected, candidate) if self.presence(side) is Presence.VALUE]
        ruled = [
            place[-1]
            for side in values
            for place, inner in self.inside(at, side)
            if self.applies(place, inner)
        ]
        if not ruled or len({kind_of(side) for side in values}) == 2:
            yield from self.leaf(at, expected, candidate)
        elif isinstance(values[0], list) and len(values) == 2 and all(values):
            yield from self.containers(at, expected, candidate)
        elif isinstance(values[0], list):
            for side in (expected, candidate):
                for item in side if isinstance(side, list) else []:
                    yield from self.unmatched((*at, ITEM), item, candidate=side is candidate)
        else:
            rest = []
            for side in (expected, candidate):
                others = isinstance(side, dict) and {
                    k: v for k, v in side.items() if k not in ruled
                }
                rest.append(side if others is False else others)
            for key in dict.fromkeys(ruled):
                yield from self.pair((*at, key), found(expected, (key,)), found(candidate, (key,)))
            if any(isinstance(side, dict) and side for side in rest):
                yield from self.leaf(at, *rest)

    def containers(self, at: Place, expected: Value, candidate: Value) -> Iterator[Emission]:
        """Compare two containers that are not empty."""
        if isinstance(expected, dict) and isinstance(candidate, dict):
            for key in [*expected, *(key for key in candidate if key not in expected)]:
                inner = expected.get(key, MISSING), candidate.get(key, MISSING)
                yield from self.pair((*at, key), *inner)
        elif isinstance(expected, list) and isinstance(candidate, list):
            alignment = self.align(at, expected, candidate)
            for ours, theirs, _ in alignment.pairs:
                yield from self.pair((*at, ITEM), expected[ours], candidate[theirs])
            for index in alignment.unmatched_expected:
                yield from self.unmatched((*at, ITEM), expected[index], candidate=False)
            for index in alignment.unmatched_candidate:
                yield from self.unmatched((*at, ITEM), candidate[index], candidate=True)
        else:
            yield from self.alone(at, expected, candidate=False)
            yield from self.alone(at, candidate, candidate=True)

    def alone(self, at: Place, value: Value, *, candidate: bool) -> Iterator[Emission]:
        """Count a value that is absent on the other side; items of a list are unaligned."""
        if self.rules.depth is Depth.TOP and at:
            sides = (MISSING, value) if candidate else (value, MISSING)
            if at[-1] != ITEM or self.presence(value) is Presence.VALUE:
                yield from self.pair(at, *sides)
        elif self.is_leaf(at) or self.shape(at, value) is not Shape.FULL:
            sides = (MISSING, value) if candidate else (value, MISSING)
            yield from self.leaf(at, *sides)
        elif isinstance(value, dict):
            for key, inner in value.items():
                yield from self.alone((*at, key), inner, candidate=candidate)
        elif isinstance(value, list):
            for item in value:
                yield from self.unmatched((*at, ITEM), item, candidate=candidate)

    def unmatched(self, at: Place, item: Value, *, candidate: bool) -> Iterator[Emission]:
        """Count an unaligned item: its values that are not empty, or the item itself."""
        yield from self.values_or_item(
            at, item, self.alone(at, item, candidate=candidate), candidate=candidate
        )

    def values_or_item(
        self, at: Place, item: Value, inside: Iterator[Emission], *, candidate: bool
    ) -> Iterator[Emission]:
        filled = [
            each
            for each in inside
            if Presence.VALUE in (each.expected, each.candidate) or self.rules.depth is Depth.TOP
        ]
        yield from filled
        if not filled and self.presence(item) is Presence.VALUE and not self.is_leaf(at):
            sides = (MISSING, item) if candidate else (item, MISSING)
            yield self.outcome(at, *sides)

    def leaf(self, at: Place, expected: Value, candidate: Value) -> Iterator[Emission]:
        """Compare two values as a whole; no outcome if neither exists."""
        if expected is not MISSING or candidate is not MISSING:
            yield self.outcome(at, expected, candidate)

    def outcome(self, at: Place, expected: Value, candidate: Value) -> Emission:
        before = self.expected_presence(at, expected, candidate)
        after = self.presence(candidate)
        if self.ignored(at):
            return Emission(at, Outcome.IGNORED, before, after)
        table = {
            (True, True): self.verdict,
            (True, False): lambda *_: Outcome.OMISSION,
            (False, True): lambda *_: Outcome.HALLUCINATION,
            (False, False): lambda *_: Outcome.BOTH_EMPTY,
        }
        decide = table[before is Presence.VALUE, after is Presence.VALUE]
        return Emission(at, decide(at, expected, candidate), before, after)

    def verdict(self, at: Place, expected: JsonValue, candidate: JsonValue) -> Outcome:
        """Return the outcome of the comparator for two values that are not empty."""
        comparator = self.named_comparator(at) or self.rules.default or Exact()
        comparison = comparator.compare(expected, candidate)
        if comparison.failed:
            return Outcome.ERROR
        if comparison.matched:
            return Outcome.MATCH
        kinds_differ = kind_of(expected) is not kind_of(candidate) and not self.takes_any(at)
        if comparison.wrong_kind or kinds_differ:
            return Outcome.FORMAT_ERROR
        return Outcome.WRONG_VALUE

    def configured(
        self, at: Place, paths: list[Place], expected: Value, candidate: Value
    ) -> Iterator[Emission]:
        """Compare the fields with paths relative to this place; a list is aligned once for all of them."""
        inside: dict[Place, list[Place]] = {}
        for path in paths:
            if ITEM in path:
                cut = path.index(ITEM)
                inside.setdefault(path[:cut], []).append(path[cut + 1 :])
            else:
                sides = found(expected, path), found(candidate, path)
                if sides != (MISSING, MISSING) or not self.ignored((*at, *path)):
                    yield self.outcome((*at, *path), *sides)
        for prefix, rests in inside.items():
            sides = found(expected, prefix), found(candidate, prefix)
            yield from self.configured_items((*at, *prefix), rests, *sides)

    def configured_items(
        self, at: Place, paths: list[Place], expected: Value, candidate: Value
    ) -> Iterator[Emission]:
        """Compare the fields of the items of two lists; a rule that says "list" counts other values."""
        sides = expected, candidate
        listed = any(rule.aligner and not rule.comparator for rule in self.governing(at))
        if listed and not isinstance(expected, list) and self.presence(expected) is Presence.VALUE:
            yield self.outcome(at, *sides)
            return
        if (
            listed
            and not isinstance(candidate, list)
            and self.presence(candidate) is Presence.VALUE
        ):
            yield self.outcome(at, MISSING, candidate)
        before = expected if isinstance(expected, list) else []
        after = candidate if isinstance(candidate, list) else []
        alignment = self.align(at, before, after)
        inner: Place = (*at, ITEM)
        for ours, theirs, _ in alignment.pairs:
            yield from self.configured(inner, paths, before[ours], after[theirs])
        for index in alignment.unmatched_expected:
            inside = self.configured(inner, paths, before[index], MISSING)
            yield from self.values_or_item(inner, before[index], inside, candidate=False)
        for index in alignment.unmatched_candidate:
            inside = self.configured(inner, paths, MISSING, after[index])
            yield from self.values_or_item(inner, after[index], inside, candidate=True)


def found(value: Value, path: Place) -> Value:
    """Return the value at plain keys below a value."""
    for key in path:
        value = value.get(str(key), MISSING) if isinstance(value, dict) else MISSING
    return value


@dataclass(frozen=True)
class ItemRules:
    """The rules for a place inside a list item."""

    interpreter: Interpreter
    place: Place

    @property
    def leaf_comparator(self) -> Comparator | None:
        return self.interpreter.named_comparator(self.place)

    whole_comparator = leaf_comparator

    def child(self, key: str) -> ItemRules:
        return ItemRules(self.interpreter, (*self.place, key))

    def item(self, _index: int) -> ItemRules:
        return ItemRules(self.interpreter, (*self.place, ITEM))
