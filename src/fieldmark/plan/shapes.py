"""Objects with the same keys are compared by one function written for them.

The source of such a function holds nothing but numbers: keys, nodes and cells are bound to names
in its namespace, so no text of a document or a rule is ever executed. A function is written once
a shape was seen often enough to know what its fields usually are; a field that is something else
that day takes the long way, which is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
_WriteSame: TypeAlias = Callable[[JsonObject, list[int]], bool]

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

_SAME: Final[Mapping[str, str]] = {
    _TEXT: "v{i}.__class__ is str and v{i} and not v{i}.isspace()",
    _NUMBER: "(v{i}.__class__ is int or v{i}.__class__ is float and v{i} - v{i} == 0)",
}
"""What must hold of a value that equals its partner for the match to be written at once."""


class Shape:
    """The keys of an object, and what is below them.

    `take` gives the values of the keys in another object; one that is not there is a `KeyError`.
    `pair` writes two objects of which the first has this shape, and `same` an object that equals
    its partner, if it can do so at once.
    """

    __slots__ = ("children", "pair", "same", "seen", "take")

    def __init__(self, keys: tuple[str, ...], children: tuple[Node, ...]) -> None:
        self.children = children
        self.seen = 0
        self.pair: _WritePair | None = None
        self.same: _WriteSame | None = None
        self.take: Callable[[JsonObject], Values] = (
            cast("Callable[[JsonObject], Values]", itemgetter(*keys))
            if len(keys) > 1
            else lambda document: (document[keys[0]],)
        )

    def learn(self, values: Values, field: WriteField, objects: WriteObjects) -> None:
        """Write the functions for this shape, going by what its values are today."""
        kinds = [_kind(child, value) for child, value in zip(self.children, values, strict=True)]
        names: dict[str, object] = {"field": field, "objects": objects}
        for number, child in enumerate(self.children):
            names[f"n{number}"] = child
            names[f"m{number}"] = child.base | MATCH_FACT
            names[f"a{number}"] = child.agreed
        names["every"] = [child.base | MATCH_FACT for child in self.children]
        # The source is made of the templates above and of numbers.
        exec(_source(kinds), names)  # noqa: S102
        self.pair = cast(_WritePair, names["pair"])
        self.same = cast("_WriteSame | None", names.get("same"))


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
    if all(kind in _SAME for kind in kinds):
        tests = " and ".join(_SAME[kind].format(i=number) for number, kind in enumerate(kinds))
        lines += [
            "def same(expected, cells):\n",
            f"    {ours} = expected.values()\n",
            f"    if {tests}:\n",
            "        cells += every\n",
            "        return True\n",
            "    return False\n",
        ]
    return "".join(lines)
