"""The tree of attributes: the strategies that the rules select for each path without indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum, auto
from typing import Final, NamedTuple, cast

from fieldmark.align.exact_methods import Index
from fieldmark.align.leaves import RuleAligner
from fieldmark.align.sequence import SEQUENCE, SIMILARITY, Auto, is_series
from fieldmark.compare.exact import Ignore
from fieldmark.compare.wrappers import AnyOf, Tokens
from fieldmark.model.alignment import Aligner, Alignment
from fieldmark.model.comparison import BatchComparator, Comparator
from fieldmark.model.json import JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS
from fieldmark.model.outcomes import Attribute, AttributeTable
from fieldmark.model.rule import Depth, Scope
from fieldmark.plan.rule_matching import RuleMatch, match_item, match_key
from fieldmark.values.paths import ANY_DEPTH, ANY_ITEM, ROOT, Segment, join

_CONTAINERS: Final = (dict, list)
_OBJECTS_ONLY: Final = (dict,)
_ANY_INDEX: Final = -1
"""An index that no rule names."""


class NodeMode(IntEnum):
    """How the values of an attribute are compared."""

    WALK = auto()
    """Descend into containers, compare scalars."""
    LEAF = auto()
    """Compare the whole value, whatever its type."""
    SKIP = auto()
    """Record nothing: the attribute is not configured."""
    SPLIT = auto()
    """Compare the parts that rules apply to, and the rest as one value."""
    ENTRIES = auto()
    """Align the values of an object like list items."""


_WITH_PARTS: Final = frozenset({NodeMode.WALK, NodeMode.SPLIT, NodeMode.ENTRIES})
_COMPARED: Final = _WITH_PARTS | {NodeMode.LEAF}


class PlanSettings(NamedTuple):
    """State shared by all nodes of a plan.

    `text_is_value` is true if every non-blank string is a value, because the rules declare no
    empty tokens.
    """

    scope: Scope
    depth: Depth
    default: Comparator
    aligner: Aligner
    table: AttributeTable
    text_is_value: bool


class AttributeNode:
    """One attribute of the documents; nodes are created when a document first has their key.

    `base` is the attribute number shifted into place for a cell, or -1 until the attribute is
    registered. `item_node` is the node of all list items unless a rule names an index. A
    `structural` node is not a field itself but has configured fields below it; if it
    `holds_items`, a rule says that it is a list. With `tokens`, every word of a value is
    counted. `align` aligns the items of a list, `aligned_by_rules` if their fields have rules;
    `is_list` says whether a value is a list of values that the comparator reads one by one;
    `leaf_comparator` and `whole_comparator` are the rules that decide the similarity of items
    there (`LeafRules`). A rule that needs a provider does not, because it would be asked about
    every pair of items. `orders_series` says that lists of numbers, dates or lists keep their
    order, and `is_series` that there was such a list.
    """

    __slots__ = (
        "_indexed_items",
        "_item_path",
        "_level",
        "_matches",
        "_prefix",
        "_settings",
        "aligned_by_rules",
        "aligner",
        "any_of",
        "base",
        "batch_comparator",
        "children",
        "comparator",
        "configured_keys",
        "container_types",
        "descends_everywhere",
        "has_rule",
        "holds_items",
        "ignored",
        "is_list",
        "is_series",
        "item_node",
        "leaf_comparator",
        "mode",
        "orders_series",
        "path",
        "structural",
        "tokens",
        "truth_only",
        "walks",
        "whole_comparator",
    )

    def __init__(
        self,
        settings: PlanSettings,
        matches: Sequence[RuleMatch],
        prefix: str = "",
        *,
        level: int = 0,
        addressed: bool = False,
        is_item: bool = False,
    ) -> None:
        self._settings = settings
        self._matches = tuple(matches)
        self._prefix = prefix
        self._level = level
        self._indexed_items: dict[int, AttributeNode] = {}
        self.item_node: AttributeNode | None = None
        self.path = prefix or ROOT
        self._item_path = ""
        self.children: dict[str, AttributeNode] = {}
        self.base = -1
        complete = self._complete_matches()
        comparators = [m.rule.comparator for m in complete if m.rule.comparator is not None]
        aligners = [m.rule.aligner for m in complete if m.rule.aligner is not None]
        self.comparator = (comparators or [settings.default])[-1]
        self.aligner = (aligners or [settings.aligner])[-1]
        next_segments = [segment for match in self._matches for segment in match.remaining[:1]]
        if self.aligner.name == "whole" and any(
            isinstance(segment, int) or segment is ANY_ITEM for segment in next_segments
        ):
            self.aligner = Index()  # a rule applies to the items, so the list is not one value
        self.orders_series = isinstance(self.aligner, Auto)
        self.is_series = False
        if self.orders_series:
            self.aligner = SIMILARITY
        self.aligned_by_rules = getattr(self.aligner, "uses_rules", False) and any(
            match.rule.comparator for match in match_item(self._matches, _ANY_INDEX)
        )
        self.container_types = _OBJECTS_ONLY if self.aligner.name == "whole" else _CONTAINERS
        self.has_rule = bool(complete)
        rules = [match.rule for match in complete[-1:] or self._matches]
        self.truth_only = bool(rules) and all(rule.truth_only for rule in rules)
        self.any_of = isinstance(self.comparator, AnyOf)
        self.ignored = isinstance(self.comparator, Ignore)
        by_word = hasattr(self.comparator, "words")
        self.tokens = cast("Tokens", self.comparator) if by_word else None
        is_batch = hasattr(self.comparator, "settle")
        self.batch_comparator = cast(BatchComparator, self.comparator) if is_batch else None
        configured = settings.scope is Scope.CONFIGURED
        fields = [m for m in complete if m.is_field]
        self.structural = configured and not fields
        self.holds_items = self.structural and bool(aligners) and not self.truth_only
        self.configured_keys = tuple(dict.fromkeys(s for s in next_segments if isinstance(s, str)))
        self.descends_everywhere = any(ANY_DEPTH in match.remaining for match in self._matches)
        own = comparators[-1] if comparators else None
        if hasattr(own.inner if isinstance(own, AnyOf) else own, "settle"):
            own = None  # it needs a provider
        # One rule for a value or for a list of such values: how they match, and how to align them.
        reads_lists = not is_item and any(m.rule.comparator and m.rule.aligner for m in complete)
        self.is_list: Callable[[list[JsonValue]], bool] | None = (
            getattr(own, "is_list", None) if reads_lists else None
        )
        whole = any(m.rule.comparator is not None and not m.leaves_only for m in complete)
        self.leaf_comparator = own
        self.whole_comparator = own if whole else None
        explicit = fields if configured else [m for m in complete if m.rule.comparator is not None]
        if configured and not addressed and any(m.exact for m in fields):
            self.mode = NodeMode.SKIP  # looked up by its path instead
        elif any(not m.leaves_only for m in explicit):
            self.mode = NodeMode.LEAF
        elif settings.depth is Depth.TOP and level > 0 and not self.structural:
            whole = all(match.complete for match in self._matches)
            self.mode = NodeMode.LEAF if whole else NodeMode.SPLIT
        else:
            self.mode = NodeMode.WALK if self._matches or not configured else NodeMode.SKIP
        if self.mode is NodeMode.WALK and self.aligner.name == "entries":
            self.mode = NodeMode.ENTRIES
        self.walks = self.mode is NodeMode.WALK and not self.structural

    def _complete_matches(self) -> list[RuleMatch]:
        """Return the rules for exactly this attribute, the strongest last."""
        return sorted((m for m in self._matches if m.complete), key=lambda m: m.precedence)

    def child(self, key: str) -> AttributeNode:
        """Return the node below an object key."""
        node = self.children.get(key)
        if node is None:
            matches = match_key(self._matches, key)
            prefix = join(self._prefix, key)
            node = AttributeNode(self._settings, matches, prefix, level=self._level + 1)
            self.children[key] = node
        return node

    @property
    def item_path(self) -> str:
        """The path of all items; created on first use, because most attributes are not lists."""
        if not self._item_path:
            self._item_path = f"{self._prefix}[]"
        return self._item_path

    def item(self, index: int) -> AttributeNode:
        """Return the node of a list item, the same for all items unless a rule names an index."""
        node = self.item_node or self._indexed_items.get(index)
        if node is None and self.is_list is not None:
            node = self.item_node = AttributeNode(
                self._settings,
                self._complete_matches(),
                self.item_path,
                level=self._level + 1,
                addressed=True,
                is_item=True,
            )
        elif node is None:
            matches = match_item(self._matches, index)
            node = AttributeNode(self._settings, matches, self.item_path, level=self._level + 1)
            if any(isinstance(s, int) for match in self._matches for s in match.remaining):
                self._indexed_items[index] = node
            else:
                self.item_node = node
        return node

    def align(self, expected: list[JsonValue], candidate: list[JsonValue]) -> Alignment:
        """Align the items of two lists; rules for their fields decide how similar these are."""
        aligner = self.aligner
        if self.orders_series and is_series(expected):
            self.is_series = True
            aligner = SEQUENCE
        if self.aligned_by_rules:
            return cast(RuleAligner, aligner).align(expected, candidate, self.item(_ANY_INDEX))
        return aligner.align(expected, candidate)

    @property
    def entry_node(self) -> AttributeNode:
        """The node of the values of an object that is used as a map."""
        return self.item(_ANY_INDEX)

    def applies_in(self, value: JsonValue | Missing) -> bool:
        """Whether a rule applies to this value or to a part of it."""
        return self.has_rule or any(node.applies_in(inner) for _, node, inner in self.parts(value))

    def parts(
        self, value: JsonValue | Missing
    ) -> Iterator[tuple[str | int, AttributeNode, JsonValue]]:
        """Yield the keys or indexes of a container that rules may apply to, with their values."""
        if self.mode is not NodeMode.SPLIT:
            return
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key, self.child(key), inner
        elif isinstance(value, list) and list in self.container_types:
            for index, inner in enumerate(value):
                yield index, self.item(index), inner

    def lists(self) -> Iterator[tuple[str, Aligner]]:
        """Yield the path and the aligner of every list seen at or below this attribute."""
        items = [self.item_node] if self.item_node else list(self._indexed_items.values())
        if items and self.mode in _WITH_PARTS:
            yield self.path, SEQUENCE if self.is_series else self.aligner
        for below in (*self.children.values(), *items):
            yield from below.lists()

    def add_list(self, segments: Sequence[Segment], values: Sequence[JsonValue]) -> None:
        """Add a list to the known lists, by the path of its items below these expected values."""
        if not segments or self.mode not in _WITH_PARTS:
            return
        step, *remaining = segments
        if isinstance(step, str):
            inner = [value[step] for value in values if isinstance(value, dict) and step in value]
            self.child(step).add_list(remaining, inner)
        else:
            lists = [value for value in values if isinstance(value, list)]
            self.is_series |= self.orders_series and any(map(is_series, lists))
            self.item(_ANY_INDEX).add_list(remaining, [item for items in lists for item in items])

    @property
    def matches_equal_text(self) -> bool:
        """Whether two equal strings that are not blank are a match, whatever they contain."""
        on_text = getattr(self.comparator, "reflexive_on_text", self.comparator.reflexive)
        return self._compares and on_text and self._settings.text_is_value

    @property
    def matches_equal_numbers(self) -> bool:
        """Whether two equal numbers of the same type are a match."""
        on_numbers = getattr(self.comparator, "reflexive_on_numbers", self.comparator.reflexive)
        return self._compares and on_numbers

    @property
    def _compares(self) -> bool:
        return self.mode in _COMPARED and not (self.structural or self.any_of or self.ignored)

    @property
    def compares_values(self) -> bool:
        """Whether the comparator is called directly for two non-empty scalars."""
        special = self.tokens or self.batch_comparator is not None
        return self._compares and not special and self._settings.text_is_value

    def register(self) -> int:
        """Add the attribute to the table when it is first a leaf; return its `base`."""
        if self.base < 0:
            matches = self._complete_matches()
            rule = matches[-1].rule if matches else None
            number = self._settings.table.add(
                Attribute(
                    path=self.path,
                    comparator=self.comparator.name,
                    weight=rule.weight if rule else 1.0,
                    required=rule.required if rule else True,
                    configured=rule is not None,
                )
            )
            self.base = number << CELL_BITS
        return self.base
