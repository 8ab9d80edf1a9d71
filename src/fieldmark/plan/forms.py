"""Objects of one shape are compared by one function written for them, nested objects included.

The source of such a function holds nothing but numbers: keys, nodes and sets are bound to names
in its namespace, so no text of a document or a rule is ever executed. It settles fields that hold
equal text or equal numbers, which are most of them, and lists the others, which take the long way
that is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.plan.classify import MATCH_FACT

if TYPE_CHECKING:
    from fieldmark.plan.attribute_node import Node

__all__ = ["NUMBER", "TEXT", "Form", "Unsettled", "kind_of_field"]

Value: TypeAlias = "JsonValue | Missing"
Unsettled: TypeAlias = "tuple[int, int, Node, Value, Value]"
"""The fields from one number to another, below a node, on both sides. Where the two numbers are
the same, both sides are objects, and it is about the keys that only the candidate has."""
_Settle: TypeAlias = "Callable[[JsonObject, JsonObject], list[Unsettled]]"

TEXT: Final = "v{i} == o{i} and v{i}.__class__ is str and v{i} and not v{i}.isspace()"
AGREED: Final = "v{i} == o{i} and v{i}.__class__ is str and v{i} in a{i}"
NUMBER: Final = """\
v{i} == o{i} and v{i}.__class__ is o{i}.__class__ and (
    v{i}.__class__ is float and v{i} - v{i} == 0 or v{i}.__class__ is int)"""
OBJECT: Final = "v{i}.__class__ is dict is o{i}.__class__ and tuple(v{i}) == k{i}"
ANY: Final = "False"
"""What settles a field, or lets us look inside it, by what it usually holds."""

_NESTED: Final = 100
"""Fields of a function; objects inside beyond that are looked at by functions of their own."""


def kind_of_field(node: Node, value: Value) -> str:
    """The test that fits what a field holds today."""
    if isinstance(value, dict):
        return OBJECT if node.open else ANY
    if isinstance(value, bool) or node.base < 0:
        return ANY
    if isinstance(value, int | float):
        return NUMBER if node.number_match else ANY
    if node.text_match:
        return TEXT
    return AGREED if node.agreed else ANY


class Form:
    """The fields of such objects in the order of the walk, and the function that settles them.

    `every` is what is written where all of them match.
    """

    __slots__ = ("_fields", "_names", "every", "settle")

    def __init__(self, node: Node, document: JsonObject) -> None:
        self.every: list[int] = []
        self._names: dict[str, object] = {"n": node}
        self._fields = 0
        lines = [
            "def settle(v, o):",
            " unsettled = []",
            " add = unsettled.append",
            *self._object("", node, document, " "),
            " return unsettled",
        ]
        # The source is made of the tests above and of numbers.
        exec("\n".join(lines), self._names)  # noqa: S102
        self.settle = cast(_Settle, self._names["settle"])

    def _object(self, name: str, node: Node, document: JsonObject, indent: str) -> Iterator[str]:
        """Lines that look at the object in v<name> and its counterpart in o<name>."""
        numbers = range(self._fields, self._fields + len(document))
        self._fields += len(document)
        keys = tuple(document)
        ours = "".join(f"v{number}, " for number in numbers)
        theirs = "".join(f"o{number}, " for number in numbers)
        self._names |= {
            f"k{name}": keys,
            f"b{name}": dict.fromkeys(keys, MISSING),
            f"t{name}": _taking(keys),
        }
        # A candidate that lacks keys gets them from the blank, without a value.
        yield f"{indent}{ours} = v{name}.values()"
        yield f"{indent}d{name} = o{name} if len(o{name}) >= {len(keys)} else b{name} | o{name}"
        yield f"{indent}try: {theirs} = t{name}(d{name})"
        yield f"{indent}except KeyError:"
        yield f"{indent} d{name} = b{name} | o{name}"
        yield f"{indent} {theirs} = t{name}(d{name})"
        for number, (key, value) in zip(numbers, document.items(), strict=True):
            yield from self._field(number, node.child(key), value, indent)
        here = len(self.every)
        yield f"{indent}if len(d{name}) > {len(keys)}:"
        yield f"{indent} add(({here}, {here}, n{name}, v{name}, o{name}))"

    def _field(self, number: int, node: Node, value: JsonValue, indent: str) -> Iterator[str]:
        """Lines that settle one field or leave it over."""
        start = len(self.every)
        kind = kind_of_field(node, value)
        self._names |= {f"n{number}": node, f"a{number}": node.agreed}
        if kind is OBJECT and value and self._fields < _NESTED and _is_known(node, value):
            yield f"{indent}if {OBJECT.format(i=number)}:"
            yield from self._object(str(number), node, cast("JsonObject", value), indent + " ")
        else:
            kind = ANY if kind is OBJECT else kind
            self.every.append(node.base | MATCH_FACT)
            yield f"{indent}if {kind.format(i=number)}: pass"
        end = len(self.every)
        yield f"{indent}else: add(({start}, {end}, n{number}, v{number}, o{number}))"


def _is_known(node: Node, value: JsonValue) -> bool:
    """Whether objects like this one were seen often."""
    shape = node.shapes.get(tuple(cast("JsonObject", value)))
    return shape is not None and shape.form is not None


def _taking(keys: Sequence[str]) -> Callable[[JsonObject], Sequence[Value]]:
    """What takes the values of all the keys out of an object."""
    if len(keys) == 1:
        return lambda document: (document[keys[0]],)
    return cast("Callable[[JsonObject], Sequence[Value]]", itemgetter(*keys))
