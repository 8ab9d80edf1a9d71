"""The outcomes of one case as arrays; records are created on access."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from fieldmark.model.comparison import Comparison
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, Outcome, Presence, fact_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """A path without indexes, and the rules that apply to it."""

    path: str
    comparator: str
    weight: float = 1.0
    required: bool = True
    configured: bool = False


class AttributeTable:
    """Numbers attributes in the order of their first occurrence.

    A path has several numbers if rules treat fields below it differently, such as `rows[0]` and
    `rows[1]` with different weights; `firsts` maps every number to the first one of its path.
    """

    __slots__ = ("_firsts", "_numbers", "attributes", "firsts")

    def __init__(self) -> None:
        self.attributes: list[Attribute] = []
        self.firsts: list[int] = []
        self._firsts: dict[str, int] = {}
        self._numbers: dict[Attribute, int] = {}

    def add(self, attribute: Attribute) -> int:
        """Return the number of an attribute, assigning one if it is new."""
        number = self._numbers.get(attribute)
        if number is None:
            number = self._numbers[attribute] = len(self.attributes)
            self.attributes.append(attribute)
            self.firsts.append(self._firsts.setdefault(attribute.path, number))
        return number

    @property
    def one_number_a_path(self) -> bool:
        """Whether every path has a single number."""
        return len(self._firsts) == len(self.attributes)

    def path(self, number: int) -> str:
        """Return the path of the attribute with this number."""
        return self.attributes[number].path

    def __len__(self) -> int:
        return len(self.attributes)


ItemPlace: TypeAlias = "int | str"
"""The index of a list item, or the key of an entry of a map as it is written in a path."""

ItemMark: TypeAlias = "tuple[int, str, ItemPlace | None, ItemPlace | None, float | None]"
"""(start, attribute, expected, candidate, similarity): from outcome `start` on, fields below the
list or map `attribute` belong to this pair of items. A side that is `None` has no such item, and
`similarity` is what the alignment was based on. A plain tuple, because every item has one.
"""


class FieldOutcome(NamedTuple):
    """One outcome as a record; an aligned item may have another index in the candidate.

    `label` is different for every item: `rows[0→2].x` is aligned with another index, and
    `rows[→2].x` is in an item without counterpart in the truth.
    """

    path: str
    candidate_path: str
    attribute: int
    outcome: Outcome
    expected_presence: Presence
    candidate_presence: Presence
    comparison: Comparison | None
    label: str


@dataclass(slots=True, init=False)
class Outcomes:
    """The outcome of every field of one case.

    `cells` has one integer per field, in traversal order. `comparisons` contains, by position, the
    results of comparators that say more than the cell does. `items` says which list items the
    fields from a position on belong to. `fallback` says that a list was aligned by a cheaper method
    than the configured one. `times` is how often each cell occurs, once that has been counted.
    """

    cells: list[int]
    comparisons: dict[int, Comparison]
    items: list[ItemMark]
    fallback: bool
    times: Mapping[int, int] | None

    def __init__(
        self,
        cells: list[int] | None = None,
        comparisons: dict[int, Comparison] | None = None,
        items: list[ItemMark] | None = None,
        *,
        fallback: bool = False,
    ) -> None:
        # Written by hand, because every case has one and default factories are slow.
        self.cells = [] if cells is None else cells
        self.comparisons = {} if comparisons is None else comparisons
        self.items = [] if items is None else items
        self.fallback = fallback
        self.times = None

    def records(
        self, table: AttributeTable, facts: Container[int] | None = None
    ) -> Iterator[FieldOutcome]:
        """Yield every outcome, or only outcomes in `facts`, with its concrete path."""
        marks = iter(self.items)
        upcoming = next(marks, None)
        steps: dict[str, str] = {}
        candidate_steps: dict[str, str] = {}
        labels: dict[str, str] = {}
        reordered = any(mark[3] is not None and mark[2] != mark[3] for mark in self.items)
        for position, cell in enumerate(self.cells):
            if facts is not None and cell & FACT_MASK not in facts:
                continue
            while upcoming is not None and upcoming[0] <= position:
                _, attribute, expected, candidate, _ = upcoming
                steps[attribute] = item_step(candidate if expected is None else expected, attribute)
                candidate_steps[attribute] = item_step(
                    expected if candidate is None else candidate, attribute
                )
                if reordered:
                    labels[attribute] = (
                        steps[attribute]
                        if candidate in (None, expected)
                        else f"[{_name(expected)}→{_name(candidate)}]"
                    )
                upcoming = next(marks, None)
            number = cell >> CELL_BITS
            attribute = table.path(number)
            path = _concrete(attribute, steps) if steps else attribute
            yield FieldOutcome(
                path,
                _concrete(attribute, candidate_steps) if steps else attribute,
                number,
                *fact_of(cell),
                self.comparisons.get(position),
                _concrete(attribute, labels) if reordered else path,
            )


def renumber(cells: Iterable[int], numbers: Sequence[int] | Mapping[int, int]) -> list[int]:
    """Return the cells with the numbers of their attributes replaced."""
    return [numbers[cell >> CELL_BITS] << CELL_BITS | cell & FACT_MASK for cell in cells]


def item_step(item: ItemPlace | None, attribute: str) -> str:
    """Return the step of a path that stands for `[]` at the end of an attribute."""
    if isinstance(item, str):
        return item if item.startswith("[") or attribute == "[]" else f".{item}"
    return f"[{item or 0}]"


def _name(item: ItemPlace | None) -> str:
    """Return an index, or a key without the brackets around its quotes."""
    return "" if item is None else str(item).removeprefix("[").removesuffix("]")


def _concrete(attribute: str, steps: Mapping[str, str]) -> str:
    """Return an attribute with each `[]` replaced by the step of the item that it belongs to."""
    parts: list[str] = []
    done = 0
    start = attribute.find("[]")
    while start >= 0:
        step = steps.get(attribute[: start + 2])
        if step is not None:
            parts.append(f"{attribute[done:start]}{step}")
            done = start + 2
        start = attribute.find("[]", start + 2)
    return "".join(parts) + attribute[done:]
