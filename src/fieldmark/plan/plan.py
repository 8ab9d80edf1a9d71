"""Rules become a plan once; the plan compares any number of documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from fieldmark.align.greedy import Greedy
from fieldmark.compare.exact import Exact
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import Comparison
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import Outcome, Presence, Reason, fact
from fieldmark.model.outcomes import AttributeTable, Outcomes
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.plan.attribute_node import Node, Setting
from fieldmark.plan.rule_matching import State
from fieldmark.plan.walk import Walk
from fieldmark.values.paths import ROOT, Path, PathError, attribute_of, parse_path, resolve
from fieldmark.values.presence import presence_of

if TYPE_CHECKING:
    from fieldmark.model._lines import Line
    from fieldmark.plan.line_pairs import LinePairs

__all__ = ["Plan", "compile_plan"]

_PLAIN: Final = frozenset((dict, list, str, int, float, bool, type(None), Missing))
"""The classes of documents that are values."""

_NOT_FOUND: Final = fact(Outcome.OMISSION, Presence.ABSENT, Presence.ABSENT)
"""A configured field whose path cannot be read is lost, whatever the documents hold."""


class Plan:
    """Compares documents under one set of rules.

    `table` numbers the attributes as they are met, so a plan belongs to one run at a time.
    """

    __slots__ = (
        "_addresses",
        "_lines",
        "_root",
        "_unreadable",
        "_walk",
        "_whole",
        "rules",
        "table",
    )

    def __init__(self, rules: Rules, table: AttributeTable | None = None) -> None:
        scope = rules.scope or Scope.UNION
        self.rules = rules
        self.table = AttributeTable() if table is None else table
        setting = Setting(
            scope=scope,
            depth=rules.depth or Depth.LEAF,
            default=rules.default or Exact(),
            aligner=rules.aligner or Greedy(),
            table=self.table,
            text_settles=not rules.empty_tokens,
        )
        states, unreadable = _read(rules.fields)
        presence = presence_of(
            rules.empty_tokens, containers=rules.empty_containers, blanks=rules.empty_blanks
        )
        self._walk = Walk(presence, scope)
        self._lines: LinePairs | None = None
        self._addresses: list[_Address] = []
        self._unreadable: list[Node] = []
        named = [state for state in states if state.rule.path != ROOT]
        self._root: Node | None = Node(setting, named)
        self._whole = Node(setting, [_at_root(state) for state in states])
        if scope is Scope.CONFIGURED:
            self._addresses = [_address(setting, state) for state in states if _addressed(state)]
            self._unreadable = [
                Node(setting, [State(0, rule, ())], rule.path, addressed=True)
                for rule in unreadable
            ]
            if all(_addressed(state) for state in states):
                self._root = None

    def lists(self) -> Mapping[str, Aligner]:
        """The lists that were met so far, and how the items of each are paired."""
        roots = [] if self._root is None else [self._root, self._whole]
        return {path: aligner for root in roots for path, aligner in root.lists()}

    def compare(self, expected: JsonValue, candidate: JsonValue | Missing) -> Outcomes:
        """What happened to every field of one pair of documents."""
        return self.compare_all([(expected, candidate)])[0]

    def compare_all(
        self, pairs: Iterable[tuple[JsonValue | Line, JsonValue | Missing | Line]]
    ) -> list[Outcomes]:
        """What happened in every pair; comparators that ask a provider are asked once for all.

        Documents may be lines if the plan takes them.
        """
        columns = list(map(list, zip(*pairs, strict=True)))
        if not columns:
            return []
        expected, candidate = columns
        kinds = {*map(type, expected), *map(type, candidate)}
        if kinds <= _PLAIN:
            blocks = list(map(self._pair, expected, candidate))
        else:
            blocks = self._of_lines().compare(expected, candidate, self._pair)
        self._walk.questions.answer()
        return blocks

    @property
    def takes_lines(self) -> bool:
        """Whether documents may be lines: not if fields are looked up, or a model is asked."""
        comparators = (self.rules.default, *(rule.comparator for rule in self.rules.fields))
        asking = any(hasattr(comparator, "settle") for comparator in comparators)
        walked = self._root is not None and self._root.open
        return walked and not (asking or self._addresses or self._unreadable)

    def _of_lines(self) -> LinePairs:
        if self._lines is None:
            from fieldmark.plan.line_pairs import LinePairs

            assert self._root is not None  # noqa: S101 - else the plan takes no lines
            self._lines = LinePairs(self._walk, self._root)
        return self._lines

    def _pair(self, expected: JsonValue, candidate: JsonValue | Missing) -> Outcomes:
        block = Outcomes()
        if self._addresses or self._unreadable:
            self._look_up(expected, candidate, block)
        if self._root is not None:
            self._documents(self._root, expected, candidate, block)
        return block

    def _documents(
        self,
        root: Node,
        expected: JsonValue | Missing,
        candidate: JsonValue | Missing,
        block: Outcomes,
    ) -> None:
        """Two whole documents; an empty object is a document without fields.

        Rules for `$` are about documents that are no objects.
        """
        if expected.__class__ is not dict:
            root = self._whole
        if expected.__class__ is dict is candidate.__class__ and expected and root.open:
            self._walk.objects(root, expected, candidate, block)
            return
        before = MISSING if expected == {} else expected
        after = MISSING if candidate == {} else candidate
        if before is not MISSING or after is not MISSING:
            self._walk.field(root, before, after, block)

    def discard_deferred(self) -> None:
        """Drop what was left unanswered by a comparison that crashed."""
        self._walk.questions.forget()

    def _look_up(
        self, expected: JsonValue, candidate: JsonValue | Missing, block: Outcomes
    ) -> None:
        """The fields that are named by one path each, looked up on both sides."""
        for path, node, places in self._addresses:
            for prefix, place in places:
                block.items.append((len(block.cells), prefix, place, place, None))
            self._walk.field(node, _at(expected, path), _at(candidate, path), block)
        for node in self._unreadable:
            block.comparisons[len(block.cells)] = Comparison.differs(Reason.INVALID_PATH)
            block.cells.append(node.number() | _NOT_FOUND)


class _Address(NamedTuple):
    """One place in a document, its node, and the list places on the way to it."""

    path: Path
    node: Node
    places: tuple[tuple[str, int], ...]


def compile_plan(rules: Rules, table: AttributeTable | None = None) -> Plan:
    """A plan for these rules, with a table of its own or that of another plan."""
    return Plan(rules, table)


def _read(fields: Iterable[Rule]) -> tuple[list[State], list[Rule]]:
    """The rules whose path can be read, and those that apply nowhere because theirs cannot."""
    states: list[State] = []
    unreadable: list[Rule] = []
    for rank, rule in enumerate(fields):
        try:
            states.append(State(rank, rule, parse_path(rule.path).segments))
        except PathError:
            unreadable.append(rule)
    return states, unreadable


def _addressed(state: State) -> bool:
    """Whether a configured rule names one place as a field, rather than how to align a list."""
    return state.exact and (state.rule.comparator is not None or state.rule.aligner is None)


def _at_root(state: State) -> State:
    """A rule for the whole document is about the root; others start there."""
    return state._replace(segments=()) if state.rule.path == ROOT else state


def _address(setting: Setting, state: State) -> _Address:
    path = parse_path(state.rule.path)
    places: list[tuple[str, int]] = []
    for number, (segment, tail) in enumerate(zip(path.segments, path.tails, strict=True), start=1):
        if isinstance(segment, int) and tail.startswith("["):
            way = Path(path.text, path.segments[:number], path.tails[:number])
            places.append((attribute_of(way), segment))
    here = state._replace(used=len(state.segments))
    node = Node(setting, [here], attribute_of(path), addressed=True)
    return _Address(path, node, tuple(places))


def _at(document: JsonValue | Missing, path: Path) -> JsonValue | Missing:
    return MISSING if document is MISSING else resolve(document, path)
