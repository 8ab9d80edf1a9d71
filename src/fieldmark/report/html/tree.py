"""Two documents as one tree, side by side, with what happened at every place.

A node is `[key, mark, expected, candidate, told, members]`. A key is a name, or for an item of a
list `[place, place, similarity]` with `null` on the side that lacks it. A mark is the number of an
outcome, `NOT_COMPARED`, or `null` where only the members were compared. `told` is 0 or what the
comparator said.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from fieldmark.model.comparison import Comparison
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcomes import AttributeTable
from fieldmark.report.html.places import ItemPair, Place, Placed, Told, placed
from fieldmark.report.html.regions import Region, is_region
from fieldmark.report.html.slots import HIDDEN, both_slots, cut_text, shell
from fieldmark.values.paths import ROOT, join
from fieldmark.wire.case_result import CaseResult

__all__ = ["NOT_COMPARED", "CaseTree", "case_tree"]

NOT_COMPARED: Final = 8
"""The mark of what no rule asked about."""

_FLAGS: Final = ("coerced", "ambiguous", "approximate")
_Side = JsonValue | Missing


class CaseTree(NamedTuple):
    """The nodes of a case, and the regions of a page among them."""

    nodes: list[JsonValue]
    regions: list[Region]


def case_tree(case: CaseResult) -> CaseTree:
    """Both documents as one tree; where they were not kept, one node for each outcome."""
    if case.expected is MISSING and case.candidate is MISSING:
        nodes: list[JsonValue] = [
            [each.path, int(each.outcome), HIDDEN, HIDDEN, _said(each.comparison)]
            for each in case.outcomes.records(case.attributes)
        ]
        return CaseTree(nodes, [])
    tree = _Tree(placed(case.outcomes, case.attributes), case.attributes)
    root = tree.node("", Place(""), case.expected, case.candidate)
    members = root[5] if len(root) > 5 and isinstance(root[5], list) else [root]  # noqa: PLR2004
    return CaseTree([*members, *tree.elsewhere()], tree.regions)


class _Tree:
    """Builds the nodes of one case, and remembers which outcomes have found their place."""

    def __init__(self, found: Placed, table: AttributeTable) -> None:
        self._found = found
        self._table = table
        self._seen: set[Place] = set()
        self.regions: list[Region] = []

    def node(
        self, key: JsonValue, place: Place, expected: _Side, candidate: _Side
    ) -> list[JsonValue]:
        """One place, and everything below it if something below it was compared."""
        name = place if place.attribute else Place(ROOT)
        told = self._found.outcomes.get(name)
        if told is not None:
            self._seen.add(name)
        if isinstance(expected, list | dict) or isinstance(candidate, list | dict):
            self._look_for_region(place, told, expected, candidate)
        members: list[JsonValue] = []
        if place.attribute in self._found.inner:
            members = [
                *self._keys(place, expected, candidate),
                *self._items(place, expected, candidate),
            ]
        if not members:
            mark = NOT_COMPARED if told is None else int(told.outcome)
            return [key, mark, *both_slots(expected, candidate), _said(told and told.comparison)]
        mark_above = None if told is None else int(told.outcome)
        said = _said(told and told.comparison)
        return [key, mark_above, shell(expected), shell(candidate), said, members]

    def _look_for_region(
        self, place: Place, told: Told | None, expected: _Side, candidate: _Side
    ) -> None:
        comparator = "" if told is None else self._table.attributes[told.attribute].comparator
        if is_region(place.attribute, comparator):
            outcome = None if told is None else told.outcome
            overlap = (
                None if told is None or told.comparison is None else told.comparison.similarity
            )
            self.regions.append(Region(_written(place), expected, candidate, outcome, overlap))

    def _keys(self, place: Place, expected: _Side, candidate: _Side) -> list[JsonValue]:
        ours = expected if isinstance(expected, dict) else {}
        theirs = candidate if isinstance(candidate, dict) else {}
        return [
            self.node(
                key,
                Place(join(place.attribute, key), place.items),
                ours.get(key, MISSING),
                theirs.get(key, MISSING),
            )
            for key in dict.fromkeys((*ours, *theirs))
        ]

    def _items(self, place: Place, expected: _Side, candidate: _Side) -> list[JsonValue]:
        ours = expected if isinstance(expected, list) else []
        theirs = candidate if isinstance(candidate, list) else []
        attribute = f"{place.attribute}[]"
        known = self._found.pairings.get(Place(attribute, place.items), {})
        nodes: list[JsonValue] = []
        for pair in _in_order(known, len(ours), len(theirs)):
            one, two = pair
            nodes.append(
                self.node(
                    [one, two, known.get(pair)],
                    Place(attribute, (*place.items, pair)),
                    MISSING if one is None else ours[one],
                    MISSING if two is None else theirs[two],
                )
            )
        return nodes

    def elsewhere(self) -> list[JsonValue]:
        """Outcomes of fields that stand in neither document, or under another name."""
        return [
            [_written(place), int(told.outcome), HIDDEN, HIDDEN, _said(told.comparison)]
            for place, told in self._found.outcomes.items()
            if place not in self._seen and _worth_showing(told)
        ]


def _in_order(known: dict[ItemPair, float | None], ours: int, theirs: int) -> list[ItemPair]:
    """The pairs in the order of the truth, then what was invented; with items that none paired."""
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


def _worth_showing(told: Told) -> bool:
    return told.comparison is not None or told.outcome.label not in {"both_empty", "ignored"}


def _written(place: Place) -> str:
    """The attribute with the places of the truth in its brackets."""
    text = place.attribute
    for one, two in place.items:
        text = text.replace("[]", f"[{two if one is None else one}]", 1)
    return text


def _said(comparison: Comparison | None) -> JsonValue:
    if comparison is None:
        return 0
    said: JsonObject = {}
    if comparison.similarity is not None:
        said["q"] = round(comparison.similarity, 4)
    if comparison.score not in {0.0, 1.0, comparison.similarity}:
        said["s"] = round(comparison.score, 4)
    if comparison.reason is not None:
        said["r"] = comparison.reason.value
    if flags := [name for name in _FLAGS if getattr(comparison, name)]:
        said["f"] = list[JsonValue](flags)
    if comparison.note:
        said["n"] = cut_text(comparison.note)
    return said or 0
