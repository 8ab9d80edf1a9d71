"""Two documents as one tree, side by side, with what happened at every place.

A node is `[key, mark, expected, candidate, comparison, members]`. A key is a name, or for an item
of a list `[index, index, similarity]` with `null` on the side that lacks it. A mark is the number
of an outcome, `NOT_COMPARED`, or `null` where only the members were compared. `comparison` is 0 or
what the comparator found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from fieldmark.model.comparison import Comparison
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, Outcome, fact_of
from fieldmark.model.outcomes import AttributeTable, ItemMark, Outcomes
from fieldmark.report.html.regions import Region, is_region
from fieldmark.report.html.value_encoding import (
    HIDDEN,
    NOT_COMPARED,
    encode_container,
    encode_pair,
    truncate,
)
from fieldmark.values.paths import ANY_ITEM, ROOT, PathError, join, parse_path
from fieldmark.wire.case_result import FLAGS, CaseResult

__all__ = ["CaseTree", "case_tree"]

_Side = JsonValue | Missing
_ItemPair: TypeAlias = "tuple[int | None, int | None]"
"""The indexes of two paired items; a side that has no such item is `None`."""


class CaseTree(NamedTuple):
    """The nodes of a case, and the regions of a page among them."""

    nodes: list[JsonValue]
    regions: list[Region]


def case_tree(case: CaseResult) -> CaseTree:
    """Both documents as one tree; where they were not kept, one node for each outcome."""
    if case.expected is MISSING and case.candidate is MISSING:
        nodes: list[JsonValue] = [
            [each.path, int(each.outcome), HIDDEN, HIDDEN, _encode_comparison(each.comparison)]
            for each in case.outcomes.records(case.attributes)
        ]
        return CaseTree(nodes, [])
    builder = _TreeBuilder(_place_outcomes(case.outcomes, case.attributes), case.attributes)
    root = builder.node("", _Place(""), case.expected, case.candidate)
    members = root[5] if len(root) > 5 and isinstance(root[5], list) else [root]  # noqa: PLR2004
    return CaseTree([*members, *builder.elsewhere()], builder.regions)


class _Place(NamedTuple):
    """An attribute inside pairs of items, the outermost first."""

    attribute: str
    items: tuple[_ItemPair, ...] = ()

    def path(self) -> str:
        """The attribute with the indexes of the truth in its brackets."""
        text = self.attribute
        for one, two in self.items:
            text = text.replace("[]", f"[{two if one is None else one}]", 1)
        return text


class _PlaceOutcome(NamedTuple):
    outcome: Outcome
    attribute: int
    comparison: Comparison | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlacedOutcomes:
    """The outcomes of a case by place, and how the items of its lists were paired.

    `inner` holds every attribute below which there are outcomes.
    """

    outcomes: dict[_Place, _PlaceOutcome] = field(default_factory=dict)
    pairings: dict[_Place, dict[_ItemPair, float | None]] = field(default_factory=dict)
    inner: set[str] = field(default_factory=set)


def _place_outcomes(block: Outcomes, table: AttributeTable) -> _PlacedOutcomes:
    """Every outcome of a block at its place; the first of several at the same place counts."""
    found = _PlacedOutcomes()
    items: dict[str, _ItemPair] = {}
    marks = iter(block.items)
    upcoming = next(marks, None)
    seen: set[str] = set()
    for position, cell in enumerate(block.cells):
        while upcoming is not None and upcoming[0] <= position:
            _enter_items(upcoming, items, found)
            upcoming = next(marks, None)
        number = cell >> CELL_BITS
        attribute = table.path(number)
        place = _Place(attribute, _enclosing_items(attribute, items) if items else ())
        outcome = _PlaceOutcome(fact_of(cell).outcome, number, block.comparisons.get(position))
        found.outcomes.setdefault(place, outcome)
        seen.add(attribute)
    while upcoming is not None:
        _enter_items(upcoming, items, found)
        upcoming = next(marks, None)
    found.inner.update(*map(_ancestors, seen))
    return found


def _enter_items(mark: ItemMark, items: dict[str, _ItemPair], found: _PlacedOutcomes) -> None:
    """From here on, fields below the list of two paired items belong to these items."""
    _, attribute, expected, candidate, similarity = mark
    items[attribute] = expected, candidate
    outer = _enclosing_items(attribute, items)[:-1]
    found.pairings.setdefault(_Place(attribute, outer), {})[expected, candidate] = similarity
    found.inner.add(attribute[:-2])
    found.inner.update(_ancestors(attribute[:-2]))


def _enclosing_items(attribute: str, items: dict[str, _ItemPair]) -> tuple[_ItemPair, ...]:
    return tuple(items[each] for each in _enclosing_lists(attribute) if each in items)


@lru_cache(maxsize=4096)
def _enclosing_lists(attribute: str) -> tuple[str, ...]:
    """Every beginning of an attribute that ends with `[]`."""
    found = []
    start = attribute.find("[]")
    while start >= 0:
        found.append(attribute[: start + 2])
        start = attribute.find("[]", start + 2)
    return tuple(found)


@lru_cache(maxsize=4096)
def _ancestors(attribute: str) -> tuple[str, ...]:
    """The attributes that an attribute is inside of, from the whole document on."""
    try:
        segments = parse_path(attribute).segments
    except PathError:
        return ()
    above = [""]
    for segment in segments:
        top = above[-1]
        above.append(f"{top}[]" if segment is ANY_ITEM else join(top, str(segment)))
    return tuple(above[:-1])


class _TreeBuilder:
    """Builds the nodes of one case, and records which outcomes have found their place."""

    def __init__(self, found: _PlacedOutcomes, table: AttributeTable) -> None:
        self._found = found
        self._table = table
        self._seen: set[_Place] = set()
        self.regions: list[Region] = []

    def node(
        self, key: JsonValue, place: _Place, expected: _Side, candidate: _Side
    ) -> list[JsonValue]:
        """One place, and everything below it if something below it was compared."""
        name = place if place.attribute else _Place(ROOT)
        own = self._found.outcomes.get(name)
        if own is not None:
            self._seen.add(name)
        if isinstance(expected, list | dict) or isinstance(candidate, list | dict):
            self._add_region(place, own, expected, candidate)
        comparison = _encode_comparison(own and own.comparison)
        members: list[JsonValue] = []
        if place.attribute in self._found.inner:
            members = [
                *self._keys(place, expected, candidate),
                *self._items(place, expected, candidate),
            ]
        if not members:
            mark = NOT_COMPARED if own is None else int(own.outcome)
            return [key, mark, *encode_pair(expected, candidate), comparison]
        sides = encode_container(expected), encode_container(candidate)
        return [key, None if own is None else int(own.outcome), *sides, comparison, members]

    def _add_region(
        self, place: _Place, own: _PlaceOutcome | None, expected: _Side, candidate: _Side
    ) -> None:
        comparator = "" if own is None else self._table.attributes[own.attribute].comparator
        if is_region(place.attribute, comparator):
            outcome = None if own is None else own.outcome
            overlap = None if own is None or own.comparison is None else own.comparison.similarity
            self.regions.append(Region(place.path(), expected, candidate, outcome, overlap))

    def _keys(self, place: _Place, expected: _Side, candidate: _Side) -> list[JsonValue]:
        ours = expected if isinstance(expected, dict) else {}
        theirs = candidate if isinstance(candidate, dict) else {}
        return [
            self.node(
                key,
                _Place(join(place.attribute, key), place.items),
                ours.get(key, MISSING),
                theirs.get(key, MISSING),
            )
            for key in dict.fromkeys((*ours, *theirs))
        ]

    def _items(self, place: _Place, expected: _Side, candidate: _Side) -> list[JsonValue]:
        ours = expected if isinstance(expected, list) else []
        theirs = candidate if isinstance(candidate, list) else []
        attribute = f"{place.attribute}[]"
        known = self._found.pairings.get(_Place(attribute, place.items), {})
        nodes: list[JsonValue] = []
        for pair in _sorted_pairs(known, len(ours), len(theirs)):
            one, two = pair
            nodes.append(
                self.node(
                    [one, two, known.get(pair)],
                    _Place(attribute, (*place.items, pair)),
                    MISSING if one is None else ours[one],
                    MISSING if two is None else theirs[two],
                )
            )
        return nodes

    def elsewhere(self) -> list[JsonValue]:
        """Outcomes of fields that stand in neither document, or under another name."""
        return [
            [place.path(), int(own.outcome), HIDDEN, HIDDEN, _encode_comparison(own.comparison)]
            for place, own in self._found.outcomes.items()
            if place not in self._seen
            and (own.comparison is not None or own.outcome not in _NOTHING_TO_SHOW)
        ]


_NOTHING_TO_SHOW: Final = frozenset({Outcome.BOTH_EMPTY, Outcome.IGNORED})


def _sorted_pairs(known: dict[_ItemPair, float | None], ours: int, theirs: int) -> list[_ItemPair]:
    """The pairs in the order of the truth, then extra items; with items that nothing paired."""
    pairs = [
        (one, two)
        for one, two in known
        if (one is None or one < ours) and (two is None or two < theirs)
    ]
    left = set(range(ours)) - {one for one, _ in pairs if one is not None}
    right = set(range(theirs)) - {two for _, two in pairs if two is not None}
    pairs += [(one, None) for one in left]
    pairs += [(None, two) for two in right]
    return sorted(pairs, key=lambda pair: (pair[0] is None, pair[0] or 0, pair[1] or 0))


def _encode_comparison(comparison: Comparison | None) -> JsonValue:
    if comparison is None:
        return 0
    encoded: JsonObject = {}
    if comparison.similarity is not None:
        encoded["q"] = round(comparison.similarity, 4)
    if comparison.score not in {0.0, 1.0, comparison.similarity}:
        encoded["s"] = round(comparison.score, 4)
    if comparison.reason is not None:
        encoded["r"] = comparison.reason.value
    if flags := [name for name in FLAGS if getattr(comparison, name)]:
        encoded["f"] = list[JsonValue](flags)
    if comparison.note:
        encoded["n"] = truncate(comparison.note)
    return encoded or 0
