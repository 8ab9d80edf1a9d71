"""The outcomes of one case, as arrays; records are views made when someone looks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from fieldmark.model.comparison import Comparison
from fieldmark.model.outcome import CELL_BITS, Outcome, Presence, fact_of

__all__ = ["Attribute", "AttributeTable", "FieldOutcome", "ItemMark", "OutcomeBlock"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """A path without indexes, and what the rules say of it."""

    path: str
    comparator: str
    weight: float = 1.0
    required: bool = True
    configured: bool = False


class AttributeTable:
    """Numbers attributes in the order in which they are first met."""

    __slots__ = ("_numbers", "attributes")

    def __init__(self) -> None:
        self.attributes: list[Attribute] = []
        self._numbers: dict[str, int] = {}

    def add(self, attribute: Attribute) -> int:
        """The number of an attribute, given on first sight."""
        number = self._numbers.get(attribute.path)
        if number is None:
            number = self._numbers[attribute.path] = len(self.attributes)
            self.attributes.append(attribute)
        return number

    def path(self, number: int) -> str:
        """The path of the attribute with this number."""
        return self.attributes[number].path

    def __len__(self) -> int:
        return len(self.attributes)


class ItemMark(NamedTuple):
    """From outcome `start` on, fields below `attribute` belong to this pair of list items.

    A side that is `None` has no such item. `similarity` is what the pairing was decided on.
    """

    start: int
    attribute: str
    expected: int | None
    candidate: int | None
    similarity: float | None


class FieldOutcome(NamedTuple):
    """One outcome as a record."""

    path: str
    attribute: int
    outcome: Outcome
    expected_presence: Presence
    candidate_presence: Presence
    comparison: Comparison | None


@dataclass(slots=True)
class OutcomeBlock:
    """What happened to every field of one case.

    `cells` has one integer a field, in the order of the walk. `comparisons` holds what the
    comparator said wherever it said more than the cell does, by position. `items` says which
    list items the fields from some position on belong to.
    """

    cells: list[int] = field(default_factory=list)
    comparisons: dict[int, Comparison] = field(default_factory=dict)
    items: list[ItemMark] = field(default_factory=list)

    def records(self, table: AttributeTable) -> Iterator[FieldOutcome]:
        """Every outcome with its concrete path."""
        marks = iter(self.items)
        upcoming = next(marks, None)
        places: dict[str, int] = {}
        for position, cell in enumerate(self.cells):
            while upcoming is not None and upcoming.start <= position:
                place = upcoming.candidate if upcoming.expected is None else upcoming.expected
                places[upcoming.attribute] = 0 if place is None else place
                upcoming = next(marks, None)
            number = cell >> CELL_BITS
            outcome, expected, candidate = fact_of(cell)
            yield FieldOutcome(
                _concrete(table.path(number), places),
                number,
                outcome,
                expected,
                candidate,
                self.comparisons.get(position),
            )


def _concrete(attribute: str, places: dict[str, int]) -> str:
    """An attribute with its `[]` replaced by the indexes of the items it belongs to."""
    start = attribute.find("[]")
    if start < 0:
        return attribute
    parts: list[str] = []
    done = 0
    while start >= 0:
        end = start + 2
        parts.append(f"{attribute[done:start]}[{places.get(attribute[:end], 0)}]")
        done = end
        start = attribute.find("[]", done)
    return "".join(parts) + attribute[done:]
