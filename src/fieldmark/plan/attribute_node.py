"""The tree of attributes: what the rules say of each place, found once and kept.

A node stands for an attribute, a path without indexes. It is made when a document first shows
its key, and decides its mode once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, cast

from fieldmark.align.index import Index
from fieldmark.align.whole import Whole
from fieldmark.compare.any_of import AnyOf
from fieldmark.compare.ignore import Ignore
from fieldmark.model.alignment import Aligner
from fieldmark.model.comparison import BatchComparator, Comparator
from fieldmark.model.json import JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS
from fieldmark.model.outcomes import Attribute, AttributeTable
from fieldmark.model.rule import Depth, Scope
from fieldmark.plan.classify import MATCH_FACT
from fieldmark.plan.flat import Flat
from fieldmark.plan.rule_matching import State, into_item, into_key
from fieldmark.plan.shapes import Shape
from fieldmark.values.paths import ANY_DEPTH, ANY_ITEM, ROOT, join

__all__ = ["Mode", "Node", "Setting"]

_CONTAINERS: Final = (dict, list)
_OBJECTS: Final = (dict,)
"""What is looked into where lists are compared as whole values."""


_SHAPES: Final = 256
_AGREED: Final = 4096


class Mode(IntEnum):
    """What to do at a place."""

    WALK = 0
    """ValueKind inside containers, compare what is none."""
    LEAF = 1
    """Compare the whole value, whatever it is."""
    IGNORE = 2
    """Record that the place is ignored."""
    SKIP = 3
    """Not a configured field: record nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What every node of a plan shares.

    `text_settles` says that equal text may be settled without asking what counts as empty.
    """

    scope: Scope
    depth: Depth
    default: Comparator
    aligner: Aligner
    table: AttributeTable
    text_settles: bool


class Node:
    """One attribute of the documents, with everything that was decided about it.

    `text_match` and `number_match` are the cell to write when both sides hold the same text or
    the same number; they stay 0 until the attribute is first met as a leaf, and for ever where
    the comparator must be asked about equal values too; `agreed` are texts about which it was.
    `any_item` is the node of every item of a list, unless a rule names places in it. `flat` is how
    objects here are compared whose fields hold no others, once some were seen.
    """

    __slots__ = (
        "_by_place",
        "_level",
        "_prefix",
        "_setting",
        "_states",
        "agreed",
        "aligner",
        "any_item",
        "any_of",
        "base",
        "children",
        "comparator",
        "containers",
        "dear",
        "deep",
        "flat",
        "ignored",
        "item_path",
        "mode",
        "number_match",
        "open",
        "path",
        "shapes",
        "silent",
        "text_match",
        "wanted",
    )

    def __init__(
        self,
        setting: Setting,
        states: Sequence[State],
        prefix: str = "",
        *,
        level: int = 0,
        addressed: bool = False,
    ) -> None:
        self._setting = setting
        self._states = tuple(states)
        self._prefix = prefix
        self._level = level
        self.any_item: Node | None = None
        self._by_place: dict[int, Node] = {}
        self.path = prefix or ROOT
        self.item_path = f"{prefix}[]"
        self.children: dict[str, Node] = {}
        self.shapes: dict[tuple[str, ...], Shape] = {}
        self.flat: Flat | None = None
        self.agreed: set[JsonValue] = set()
        self.base = -1
        self.text_match = 0
        self.number_match = 0
        self._choose_strategies()
        self._choose_mode(addressed=addressed)

    def _here(self) -> list[State]:
        return sorted((s for s in self._states if s.complete), key=lambda s: s.precedence)

    def _choose_strategies(self) -> None:
        here = self._here()
        comparators = [s.rule.comparator for s in here if s.rule.comparator is not None]
        aligners = [s.rule.aligner for s in here if s.rule.aligner is not None]
        self.comparator = (comparators or [self._setting.default])[-1]
        self.aligner = (aligners or [self._setting.aligner])[-1]
        if self.aligner.name == Whole.name and self._names_items():
            self.aligner = Index()
        self.containers = _OBJECTS if self.aligner.name == Whole.name else _CONTAINERS
        self.any_of = isinstance(self.comparator, AnyOf)
        self.ignored = isinstance(self.comparator, Ignore)
        dear = hasattr(self.comparator, "settle")
        self.dear = cast(BatchComparator, self.comparator) if dear else None

    def _choose_mode(self, *, addressed: bool) -> None:
        here = self._here()
        configured = self._setting.scope is Scope.CONFIGURED
        fields = [s for s in here if s.rule.comparator is not None or s.rule.aligner is None]
        self.silent = configured and not fields
        self.wanted = tuple(
            dict.fromkeys(
                segment
                for state in self._states
                for segment in state.segments[state.used : state.used + 1]
                if isinstance(segment, str)
            )
        )
        self.deep = any(ANY_DEPTH in state.segments[state.used :] for state in self._states)
        explicit = fields if configured else [s for s in here if s.rule.comparator is not None]
        if configured and not addressed and any(s.exact for s in fields):
            self.mode = Mode.SKIP
        elif any(not s.leaves_only for s in explicit):
            self.mode = Mode.IGNORE if self.ignored else Mode.LEAF
        elif self._setting.depth is Depth.TOP and self._level > 0:
            self.mode = Mode.LEAF
        else:
            self.mode = Mode.WALK if self._states or not configured else Mode.SKIP
        self.open = self.mode is Mode.WALK and not self.silent

    def child(self, key: str) -> Node:
        """The node below a key, made on first sight."""
        node = self.children.get(key)
        if node is None:
            states = into_key(self._states, key)
            prefix = join(self._prefix, key)
            node = Node(self._setting, states, prefix, level=self._level + 1)
            self.children[key] = node
        return node

    def shape(self, keys: tuple[str, ...]) -> Shape:
        """What is known of objects with these keys."""
        shape = Shape(keys, tuple(self.child(key) for key in keys))
        if len(self.shapes) < _SHAPES:
            self.shapes[keys] = shape
        return shape

    def plain_twin(self, items: list[JsonValue]) -> list[int]:
        """What to write for each of these items, all of which equal their partners.

        Nothing, if they are not all alike, or hold more than text and numbers: then each of them
        has to be looked at.
        """
        below = self.any_item
        if below is None or not below.open or not items or type(items[0]) is not dict:
            return []
        shape = below.shapes.get(tuple(items[0]))
        return shape.every if shape is not None and shape.plain(items) else []

    def item(self, place: int) -> Node:
        """The node of a list item; one for all places unless a rule names places."""
        if self.any_item is not None:
            return self.any_item
        node = self._by_place.get(place)
        if node is None:
            states = into_item(self._states, place)
            node = Node(self._setting, states, self.item_path, level=self._level + 1)
            if self._names_places():
                self._by_place[place] = node
            else:
                self.any_item = node
        return node

    def lists(self) -> Iterator[tuple[str, Aligner]]:
        """Every list that was met here or below, and how its items are paired."""
        items = [self.any_item] if self.any_item else list(self._by_place.values())
        if items and self.mode is Mode.WALK:
            yield self.path, self.aligner
        for below in (*self.children.values(), *items):
            yield from below.lists()

    def _names_items(self) -> bool:
        """Whether a rule is about the items of this list, which then cannot stay whole."""
        return any(
            isinstance(segment, int) or segment is ANY_ITEM
            for state in self._states
            for segment in state.segments[state.used : state.used + 1]
        )

    def _names_places(self) -> bool:
        return any(
            isinstance(segment, int)
            for state in self._states
            for segment in state.segments[state.used :]
        )

    def has_value(self, value: JsonValue | Missing) -> bool:
        """Whether a field surely holds more than nothing: a shorter way to ask for its presence."""
        kind = value.__class__
        if kind is str:
            return self.text_match > 0 and value != "" and not cast("str", value).isspace()
        return self.number_match > 0 and (kind is float or kind is int)

    @property
    def asks_values(self) -> bool:
        """Whether text that is not blank, and any number, goes straight to the comparator."""
        compared = self.mode in (Mode.WALK, Mode.LEAF) and not (self.silent or self.ignored)
        alone = self.dear is None and not self.any_of
        return compared and alone and self._setting.text_settles

    def agree(self, text: str) -> None:
        """Remember a text that matches itself, so that equal pairs of it are settled at once."""
        if not self.any_of and len(self.agreed) < _AGREED:
            self.agreed.add(text)

    def number(self) -> int:
        """The first cell of this attribute, which enters the table when it is first a leaf."""
        if self.base < 0:
            table, comparator = self._setting.table, self.comparator
            here = self._here()
            rule = here[-1].rule if here else None
            number = table.add(
                Attribute(
                    path=self.path,
                    comparator=comparator.name,
                    weight=rule.weight if rule else 1.0,
                    required=rule.required if rule else True,
                    configured=rule is not None,
                )
            )
            self.base = number << CELL_BITS
            if self.mode in (Mode.WALK, Mode.LEAF) and not (
                self.silent or self.any_of or self.ignored
            ):
                on_text = getattr(comparator, "reflexive_on_text", comparator.reflexive)
                on_numbers = getattr(comparator, "reflexive_on_numbers", comparator.reflexive)
                match = self.base | MATCH_FACT
                self.text_match = match if on_text and self._setting.text_settles else 0
                self.number_match = match if on_numbers else 0
        return self.base
