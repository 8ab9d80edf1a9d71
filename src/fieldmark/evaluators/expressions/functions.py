"""The functions of an expression by name, and how each is made from its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias, TypeVar

from fieldmark.evaluators.expressions.amounts import rounded
from fieldmark.evaluators.expressions.comparing import Said, day_of, weight_of
from fieldmark.evaluators.expressions.conditions import Condition, Fixed, Trusted
from fieldmark.evaluators.expressions.findings import Finding, Scope, Value, fault, trouble
from fieldmark.evaluators.expressions.lists import FIGURES, Count, EachItem, Figure, Listed, Source
from fieldmark.evaluators.expressions.operands import Constant, Field, Operand, amount_of
from fieldmark.evaluators.expressions.presences import Distinct, Quantified, Quantifier, There
from fieldmark.evaluators.expressions.wording import described
from fieldmark.values.text import nearest

__all__ = ["FUNCTIONS", "Arguments", "Node", "Refused", "as_condition", "as_operand", "called"]

Node: TypeAlias = Operand | Condition
Part = TypeVar("Part", Operand, Condition)
_Rule: TypeAlias = Callable[[Sequence[Said]], Value | Finding]


class Refused(Exception):
    """A call that cannot be made; says why, and which argument is to blame if one is."""

    def __init__(self, reason: str, argument: int | None = None) -> None:
        self.reason = reason
        self.argument = argument
        super().__init__(reason)


class Arguments(NamedTuple):
    """What stands between the brackets of a call, and how many tokens that are."""

    text: str
    nodes: tuple[Node, ...]
    cost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function of values."""

    text: str
    name: str
    arguments: tuple[Operand, ...]

    def value(self, scope: Scope) -> Value | Finding:
        """What the function makes of its arguments."""
        values = [argument.value(scope) for argument in self.arguments]
        said: list[Said] = []
        for argument, value in zip(self.arguments, values, strict=True):
            if isinstance(value, Finding):
                return trouble(*values)
            weight_of(value, scope)
            said.append(Said(argument.text, value))
        return _RULES[self.name](said)


def as_condition(node: Node) -> Condition:
    """A part of an expression as a condition; a path alone asks for its boolean."""
    if isinstance(node, Field) and not node.place.many:
        return Trusted(text=node.text, field=node)
    if isinstance(node, Constant) and isinstance(node.constant, bool):
        return Fixed(text=node.text, holds=node.constant)
    if isinstance(node, Condition):
        return node
    asked = "ask with all(...) or any(...)" if isinstance(node, Field) else "compare it"
    raise Refused(f"{node.text} is a value, not a condition; {asked}")


def as_operand(node: Node) -> Operand:
    """A part of an expression as a value, which null is not."""
    if isinstance(node, Constant) and node.constant is None:
        raise Refused("null is no value; write == null, or missing(...)")
    if isinstance(node, Operand):
        return node
    raise Refused(f"{node.text} is a condition, not a value")


def called(name: str, arguments: Arguments) -> Node:
    """The call of a function; a name or arguments that do not fit are refused."""
    make = FUNCTIONS.get(name)
    if make is None:
        near = nearest(name, FUNCTIONS)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(sorted(FUNCTIONS))}"
        raise Refused(f"there is no function {name} ({hint})")
    return make(name, arguments)


# --- functions of values --------------------------------------------------------------------------


def _magnitude(said: Sequence[Said]) -> Value | Finding:
    number = amount_of(*said[0])
    return number if isinstance(number, Finding) else number.copy_abs()


def _round(said: Sequence[Said]) -> Value | Finding:
    number = amount_of(*said[0])
    places = amount_of(*said[1]) if len(said) > 1 else Decimal(0)
    if isinstance(number, Finding) or isinstance(places, Finding):
        return trouble(number, places)
    return rounded(number, places, said[0].text)


def _length(said: Sequence[Said]) -> Value | Finding:
    name, value = said[0]
    if isinstance(value, (str, list)):
        return Decimal(len(value))
    return fault(f"{name} is {described(value)}, neither a text nor a list")


def _cased(change: Callable[[str], str]) -> _Rule:
    def rule(said: Sequence[Said]) -> Value | Finding:
        name, value = said[0]
        if isinstance(value, str):
            return change(value)
        return fault(f"{name} is {described(value)}, not a text")

    return rule


_RULES: Final[Mapping[str, _Rule]] = {
    "abs": _magnitude,
    "round": _round,
    "len": _length,
    "lower": _cased(str.lower),
    "upper": _cased(str.upper),
    "date": lambda said: day_of(said[0]),
}
_TWO_ARGUMENTS: Final = frozenset({"round"})

# --- making calls ---------------------------------------------------------------------------------


def _plain(name: str, arguments: Arguments) -> Node:
    _check_number(name, arguments, 1, 2 if name in _TWO_ARGUMENTS else 1)
    operands = tuple(_blamed(as_operand, arguments, place) for place in range(len(arguments.nodes)))
    return Call(text=arguments.text, name=name, arguments=operands)


def _figure(name: str, arguments: Arguments) -> Node:
    return Figure(text=arguments.text, name=name, source=_source(name, arguments))


def _count(name: str, arguments: Arguments) -> Node:
    return Count(text=arguments.text, source=_source(name, arguments))


def _distinct(name: str, arguments: Arguments) -> Node:
    _check_number(name, arguments, 1, 2)
    return Distinct(text=arguments.text, source=_source(name, arguments))


def _there(name: str, arguments: Arguments) -> Node:
    _check_number(name, arguments, 1, 1)
    return There(text=arguments.text, field=_field_of(arguments, 0, name), wanted=name == "exists")


def _quantified(name: str, arguments: Arguments) -> Node:
    _check_number(name, arguments, 2, 2)
    return Quantified(
        text=arguments.text,
        quantifier=Quantifier(name),
        items=_field_of(arguments, 0, name),
        condition=_blamed(as_condition, arguments, 1),
        cost=arguments.cost,
    )


FUNCTIONS: Final[Mapping[str, Callable[[str, Arguments], Node]]] = {
    **dict.fromkeys(_RULES, _plain),
    **dict.fromkeys(FIGURES, _figure),
    **dict.fromkeys(Quantifier, _quantified),
    "count": _count,
    "unique": _distinct,
    "exists": _there,
    "missing": _there,
}


def _source(name: str, arguments: Arguments) -> Source:
    """One list, a list of items with an operand for each, or several operands."""
    nodes = arguments.nodes
    if not nodes:
        raise Refused(f"{name} needs a list, for example {name}(items[].amount)")
    first = nodes[0]
    of_items = isinstance(first, Field) and first.place.of_items
    if len(nodes) == 2 and of_items and isinstance(first, Field):  # noqa: PLR2004 - items, operand
        operand = _blamed(as_operand, arguments, 1)
        return EachItem(text=first.text, items=first, operand=operand, cost=arguments.cost)
    operands = tuple(_blamed(as_operand, arguments, place) for place in range(len(nodes)))
    return Listed(text=operands[0].text, operands=operands)


def _blamed(read: Callable[[Node], Part], arguments: Arguments, place: int) -> Part:
    """An argument as what it must be; if it cannot be that, it is to blame."""
    try:
        return read(arguments.nodes[place])
    except Refused as refused:
        raise Refused(refused.reason, place) from None


def _field_of(arguments: Arguments, place: int, name: str) -> Field:
    node = arguments.nodes[place]
    if isinstance(node, Field):
        return node
    raise Refused(f"{name} needs a path here, not {node.text}", place)


def _check_number(name: str, arguments: Arguments, least: int, most: int) -> None:
    given = len(arguments.nodes)
    if least <= given <= most:
        return
    wanted = str(least) if least == most else f"{least} or {most}"
    plural = "" if most == 1 else "s"
    raise Refused(f"{name} takes {wanted} argument{plural}, not {given}")
