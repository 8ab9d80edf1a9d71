"""Objects with the same keys are compared by one function written for them.

The source of such a function holds nothing but numbers: keys, nodes and cells are bound to names
in its namespace, so no text of a document or a rule is ever executed. A function is written once
a shape was seen often enough to know what its fields usually are; a field that is something else
that day takes the long way, which is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from fieldmark.model.block import OutcomeBlock
from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.plan.classify import MATCH_FACT

if TYPE_CHECKING:
    from fieldmark.plan.node import Node

__all__ = ["LEARNT", "Shape", "Values"]

LEARNT: Final = 8
"""Sights of a shape before a function is written for it."""

Values: TypeAlias = Sequence[JsonValue | Missing]
WriteField: TypeAlias = (
    "Callable[[Node, JsonValue | Missing, JsonValue | Missing, OutcomeBlock], None]"
)
WriteObjects: TypeAlias = "Callable[[Node, JsonObject, JsonObject, OutcomeBlock], None]"
_WritePair: TypeAlias = Callable[[JsonObject, Values, OutcomeBlock], None]

_TEXT: Final = """\
    if v{i} == o{i} and v{i}.__class__ is str and v{i} and not v{i}.isspace(): add(m{i})
    else: field(n{i}, v{i}, o{i}, block)
"""
_AGREED: Final = """\
    if v{i} == o{i} and v{i}.__class__ is str and v{i} in a{i}: add(m{i})
    else: field(n{i}, v{i}, o{i}, block)
"""
_NUMBER: Final = """\
    if v{i} == o{i} and v{i}.__class__ is o{i}.__class__ and (
        v{i}.__class__ is int or v{i}.__class__ is float and v{i} - v{i} == 0): add(m{i})
    else: field(n{i}, v{i}, o{i}, block)
"""
_OBJECT: Final = """\
    if v{i} and o{i} and v{i}.__class__ is dict and o{i}.__class__ is dict:
        objects(n{i}, v{i}, o{i}, block)
    else: field(n{i}, v{i}, o{i}, block)
"""
_ANY: Final = "    field(n{i}, v{i}, o{i}, block)\n"


class Shape:
    """The keys of an object, and what is below them.

    `take` gives the values of the keys in another object; one that is not there is a `KeyError`.
    `pair` writes two objects of which the first has this shape. `every` is what is written where
    all fields match, if text and numbers are all that such objects usually hold.
    """

    __slots__ = ("_keys", "_kinds", "children", "every", "pair", "seen", "take")

    def __init__(self, keys: tuple[str, ...], children: tuple[Node, ...]) -> None:
        self.children = children
        self.seen = 0
        self.pair: _WritePair | None = None
        self.every: list[int] = []
        self._keys = keys
        self._kinds: Sequence[str] = ()
        self.take: Callable[[JsonObject], Values] = (
            cast("Callable[[JsonObject], Values]", itemgetter(*keys))
            if len(keys) > 1
            else lambda document: (document[keys[0]],)
        )

    def learn(self, values: Values, field: WriteField, objects: WriteObjects) -> None:
        """Write the function for this shape, going by what its values are today."""
        kinds = [_kind(child, value) for child, value in zip(self.children, values, strict=True)]
        names: dict[str, object] = {"field": field, "objects": objects}
        for number, child in enumerate(self.children):
            names[f"n{number}"] = child
            names[f"m{number}"] = child.base | MATCH_FACT
            names[f"a{number}"] = child.agreed
        # The source is made of the templates above and of numbers.
        exec(_source(kinds), names)  # noqa: S102
        self.pair = cast(_WritePair, names["pair"])
        self._kinds = kinds
        if all(kind in (_TEXT, _NUMBER) for kind in kinds):
            self.every = [child.base | MATCH_FACT for child in self.children]

    def plain(self, objects: Sequence[JsonObject]) -> bool:
        """Whether all objects have this shape and hold nothing but text and finite numbers."""
        if not self.every or not all(map(self._keys.__eq__, map(tuple, objects))):
            return False
        columns = zip(*map(dict.values, objects), strict=True)
        return all(map(_is_plain, self._kinds, columns))


def _is_plain(kind: str, column: Sequence[JsonValue]) -> bool:
    """Whether a column holds only text that is not blank, or only finite numbers."""
    kinds = set(map(type, column))
    if kind is _TEXT:
        texts = cast("Sequence[str]", column)
        return kinds == {str} and "" not in texts and True not in map(str.isspace, texts)
    if float not in kinds:
        return kinds == {int}
    try:
        return kinds <= {int, float} and all(map(isfinite, cast("Sequence[float]", column)))
    except OverflowError:
        return False  # an integer beyond all floats


def _kind(child: Node, value: JsonValue | Missing) -> str:
    """The template that fits what a field holds today."""
    if isinstance(value, dict):
        return _OBJECT if child.open else _ANY
    if isinstance(value, bool) or child.base < 0:
        return _ANY
    if isinstance(value, int | float):
        return _NUMBER if child.number_match else _ANY
    if child.text_match:
        return _TEXT
    return _AGREED if child.agreed else _ANY


def _source(kinds: Sequence[str]) -> str:
    ours = "".join(f"v{number}, " for number in range(len(kinds)))
    theirs = "".join(f"o{number}, " for number in range(len(kinds)))
    lines = [
        "def pair(expected, others, block):\n",
        f"    {ours} = expected.values()\n",
        f"    {theirs} = others\n",
        "    add = block.cells.append\n",
        *(kind.format(i=number) for number, kind in enumerate(kinds)),
    ]
    return "".join(lines)
