"""Stored attributes: paths as a tree with shared prefixes, and the numbers used in rows.

The attributes of the first segment have small numbers. All other numbers are derived from the
content of the attribute, so a worker can write rows without knowing what other workers have seen. A
list whose items were aligned is stored as an attribute with the comparator `align`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Final, TypeAlias

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import CELL_BITS, FACT_MASK
from fieldmark.model.outcomes import (
    Attribute,
    AttributeTable,
    ItemMark,
    ItemPlace,
    Outcomes,
    renumber,
)
from fieldmark.values.paths import PathError, parse_path

NumberedAttribute: TypeAlias = tuple[int, Attribute]
"""An attribute with its stored number."""
StoredItem: TypeAlias = "tuple[int, int, ItemPlace | None, ItemPlace | None, float | None]"
"""An item mark with the stored number of its list."""

_CONTENT: Final = 1 << 55
"""The smallest number derived from content; a cell with such a number still fits into 63 bits."""
_ROOT: Final = -1
_ALIGN: Final = "align"


class RowNumbers:
    """Stored numbers for the attributes of a table, whose own numbers depend on earlier cases.

    `seeds` are the attributes with small numbers, by default the attributes of the first segment.
    `lists` has the numbers of the lists that rows have used so far.
    """

    __slots__ = ("_bases", "_limit", "_new", "_table", "lists", "seeds")

    def __init__(self, table: AttributeTable, seeds: Sequence[Attribute] | None = None) -> None:
        self._table = table
        self._bases: list[int] = []
        self.lists: dict[str, int] = {}
        self._limit = 0
        self._new: list[NumberedAttribute] = []
        self.seeds: dict[Attribute, int] | None = None
        if seeds is not None:
            self._set_seeds(seeds)

    def _set_seeds(self, seeds: Iterable[Attribute]) -> None:
        self.seeds = {attribute: number for number, attribute in enumerate(seeds)}
        attributes = self._table.attributes
        while len(self._bases) < len(attributes) and (
            self.seeds.get(attributes[len(self._bases)]) == len(self._bases)
        ):
            self._bases.append(len(self._bases) << CELL_BITS)
        self._limit = len(self._bases) << CELL_BITS

    def begin_segment(self, outcomes: Sequence[Outcomes]) -> None:
        """Take the seeds from the first segment, after it has been compared."""
        if self.seeds is None:
            lists = dict.fromkeys(mark[1] for block in outcomes for mark in block.items)
            seeds = [*self._table.attributes, *map(_list_attribute, lists)]
            self._set_seeds(seeds)
            self._new += enumerate(seeds)

    def cells(self, cells: list[int]) -> list[int]:
        """Return the cells of a case as its row stores them."""
        if max(cells, default=0) < self._limit:
            return cells
        bases, attributes = self._bases, self._table.attributes
        while len(bases) < len(attributes):
            bases.append(self._number(attributes[len(bases)]) << CELL_BITS)
        return [bases[cell >> CELL_BITS] | cell & FACT_MASK for cell in cells]

    def items(self, items: Sequence[ItemMark]) -> list[StoredItem]:
        """Return the item marks of a case as its row stores them."""
        numbers = self.lists
        for path in dict.fromkeys([mark[1] for mark in items]):
            if path not in numbers:
                numbers[path] = self._number(_list_attribute(path))
        return [
            (start, numbers[path], expected, candidate, similarity)
            for start, path, expected, candidate, similarity in items
        ]

    def take_new(self) -> list[NumberedAttribute]:
        """Return the attributes that rows have used for the first time since the last call."""
        new, self._new = self._new, []
        return new

    def _number(self, attribute: Attribute) -> int:
        number = (self.seeds or {}).get(attribute)
        if number is None:
            content = repr(astuple(attribute)).encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(content, digest_size=7).digest()
            number = int.from_bytes(digest, "big") & (_CONTENT - 1) | _CONTENT
            self._new.append((number, attribute))
        return number


def is_list(attribute: Attribute) -> bool:
    """Return whether a stored attribute is a list whose items were aligned."""
    return attribute.comparator == _ALIGN


def _list_attribute(path: str) -> Attribute:
    return Attribute(path=path, comparator=_ALIGN)


class AttributeTreeWriter:
    """Turns numbered attributes into the lines of `attributes.jsonl`.

    A path is a chain of nodes: `{"node": 2, "parent": 1, "step": ".amount"}`. An attribute names
    its node: `{"attribute": 0, "node": 2, "comparator": "exact", …}`.
    """

    __slots__ = ("_nodes", "attributes")

    def __init__(self) -> None:
        self.attributes: dict[int, Attribute] = {}
        self._nodes: dict[tuple[int, str], int] = {}

    def records(self, new: Iterable[NumberedAttribute]) -> Iterator[JsonObject]:
        """Return the lines for attributes that are not yet written."""
        for number, attribute in new:
            known = self.attributes.setdefault(number, attribute)
            if known is not attribute:
                if known != attribute:
                    raise ValueError(f"{known.path} and {attribute.path} have the same number")
                continue
            node = _ROOT
            for step in path_steps(attribute.path):
                key = node, step
                if key not in self._nodes:
                    self._nodes[key] = len(self._nodes)
                    parent = None if node == _ROOT else node
                    yield {"node": self._nodes[key], "parent": parent, "step": step}
                node = self._nodes[key]
            yield {
                "attribute": number,
                "node": node,
                "comparator": attribute.comparator,
                "weight": attribute.weight,
                "required": attribute.required,
                "configured": attribute.configured,
            }


def path_steps(path: str) -> list[str]:
    """Split a path into the text of its steps; an invalid path is one step.

    >>> path_steps("items[].price.net")
    ['items', '[]', '.price', '.net']
    """
    try:
        starts = parse_path(path).starts
    except PathError:
        return [path]
    edges = [start - (path[start - 1 : start] == ".") for start in starts]
    return [path[start:end] for start, end in zip(edges, [*edges[1:], len(path)], strict=True)]


class AttributeTreeReader:
    """Parses the lines of `attributes.jsonl`; an invalid line raises `ValueError`."""

    __slots__ = ("_paths", "attributes")

    def __init__(self) -> None:
        self.attributes: dict[int, Attribute] = {}
        self._paths: dict[int, str] = {}

    def add(self, record: JsonValue) -> None:
        """Add one line."""
        match record:
            case {"node": int(node), "parent": int() | None as parent, "step": str(step)}:
                above = "" if parent is None else self._path(parent)
                self._paths[node] = above + step
            case {
                "attribute": int(number),
                "node": int(node),
                "comparator": str(comparator),
                "weight": float() | int() as weight,
                "required": bool(required),
                "configured": bool(configured),
            } if number >= 0:
                self.attributes[number] = Attribute(
                    path=self._path(node),
                    comparator=comparator,
                    weight=float(weight),
                    required=required,
                    configured=configured,
                )
            case _:
                raise ValueError("must be a node or an attribute")

    def _path(self, node: int) -> str:
        path = self._paths.get(node)
        if path is None:
            raise ValueError(f"node {node} is not defined")
        return path


class _AddedWhenUsed(dict[int, int]):
    """The numbers of attributes in a table by stored number; an attribute is added when used."""

    __slots__ = ("_stored", "_table")

    def __init__(self, stored: Mapping[int, Attribute], table: AttributeTable) -> None:
        self._stored = stored
        self._table = table

    def __missing__(self, stored: int) -> int:
        self[stored] = number = self._table.add(self._stored[stored])
        return number


class _CellsByStored(dict[int, int]):
    """The cells of a table by stored cell: every row has the same integers, not its own copies."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: dict[int, int]) -> None:
        self.numbers = numbers

    def __missing__(self, stored: int) -> int:
        [self[stored]] = renumber([stored], self.numbers)
        return self[stored]


class StoredAttributes:
    """The attributes of a stored run, with their numbers in a table.

    Runs that share a table have the same numbers for the same attributes. With `when_used`, only
    attributes that decoded rows use are added to the table.
    """

    __slots__ = ("_cells", "_lists", "stored", "table")

    def __init__(
        self,
        stored: Mapping[int, Attribute],
        table: AttributeTable | None = None,
        *,
        when_used: bool = False,
    ) -> None:
        self.stored = stored
        self.table = AttributeTable() if table is None else table
        self._cells = _CellsByStored(_AddedWhenUsed(stored, self.table) if when_used else {})
        self._lists: dict[int, str] = {}
        for number, attribute in sorted(stored.items()):
            if is_list(attribute):
                self._lists[number] = attribute.path
            elif not when_used:
                self._cells.numbers[number] = self.table.add(attribute)

    @property
    def seeds(self) -> list[Attribute]:
        """Return the attributes with small numbers, in order."""
        return [attribute for number, attribute in sorted(self.stored.items()) if number < _CONTENT]

    def cells(self, stored: list[int]) -> list[int]:
        """Return the cells of a row with the numbers of the table."""
        return [*map(self._cells.__getitem__, stored)]

    def list_path(self, number: int) -> str:
        """Return the path of an aligned list."""
        return self._lists[number]
