"""Where each outcome of a case belongs: which attribute, inside which pairs of list items."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from fieldmark.model.comparison import Comparison
from fieldmark.model.outcome import CELL_BITS, Outcome, fact_of
from fieldmark.model.outcomes import AttributeTable, ItemMark, Outcomes
from fieldmark.values.paths import ANY_ITEM, PathError, join, parse_path

__all__ = ["ItemPair", "Place", "Placed", "Told", "placed"]

ItemPair: TypeAlias = "tuple[int | None, int | None]"
"""The places of two paired items; a side that has no such item is `None`."""


class Place(NamedTuple):
    """An attribute inside pairs of items, the outermost first."""

    attribute: str
    items: tuple[ItemPair, ...] = ()


class Told(NamedTuple):
    """What happened at a place."""

    outcome: Outcome
    attribute: int
    comparison: Comparison | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """The outcomes of a case by place, and how the items of its lists were paired.

    `inner` holds every attribute below which there are outcomes.
    """

    outcomes: dict[Place, Told] = field(default_factory=dict)
    pairings: dict[Place, dict[ItemPair, float | None]] = field(default_factory=dict)
    inner: set[str] = field(default_factory=set)


def placed(block: Outcomes, table: AttributeTable) -> Placed:
    """Every outcome of a block at its place; the first of several at the same place counts."""
    found = Placed()
    items: dict[str, ItemPair] = {}
    marks = iter(block.items)
    upcoming = next(marks, None)
    seen: set[str] = set()
    for position, cell in enumerate(block.cells):
        while upcoming is not None and upcoming[0] <= position:
            _pair(upcoming, items, found)
            upcoming = next(marks, None)
        number = cell >> CELL_BITS
        attribute = table.path(number)
        place = Place(attribute, _inside(attribute, items) if items else ())
        told = Told(fact_of(cell).outcome, number, block.comparisons.get(position))
        found.outcomes.setdefault(place, told)
        seen.add(attribute)
    while upcoming is not None:
        _pair(upcoming, items, found)
        upcoming = next(marks, None)
    found.inner.update(*map(_above, seen))
    return found


def _pair(mark: ItemMark, items: dict[str, ItemPair], found: Placed) -> None:
    """Two items are paired: from here on, fields below their list belong to them."""
    _, attribute, expected, candidate, similarity = mark
    items[attribute] = expected, candidate
    outer = _inside(attribute, items)[:-1]
    found.pairings.setdefault(Place(attribute, outer), {})[expected, candidate] = similarity
    found.inner.add(attribute[:-2])
    found.inner.update(_above(attribute[:-2]))


def _inside(attribute: str, items: dict[str, ItemPair]) -> tuple[ItemPair, ...]:
    return tuple(items[each] for each in _lists(attribute) if each in items)


@lru_cache(maxsize=4096)
def _lists(attribute: str) -> tuple[str, ...]:
    """Every beginning of an attribute that ends with `[]`: the lists that it is in."""
    found = []
    start = attribute.find("[]")
    while start >= 0:
        found.append(attribute[: start + 2])
        start = attribute.find("[]", start + 2)
    return tuple(found)


@lru_cache(maxsize=4096)
def _above(attribute: str) -> tuple[str, ...]:
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
