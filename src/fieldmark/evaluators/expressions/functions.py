"""The functions of expressions by name, and how a call becomes a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from fieldmark.evaluators.expressions.lexer import ExpressionError
from fieldmark.evaluators.expressions.nodes import (
    AGGREGATES,
    Aggregate,
    BooleanValue,
    Condition,
    Constant,
    Count,
    FieldNode,
    ItemExpressions,
    ListSource,
    Node,
    Operand,
    PresenceCheck,
    Quantified,
    Quantifier,
    Truthy,
    Unique,
    ValueList,
)
from fieldmark.evaluators.expressions.values import (
    CONTEXT,
    CheckResult,
    Environment,
    Value,
    day_of,
    describe_value,
    fault,
    number_of,
    worst,
)
from fieldmark.values.text import nearest

__all__ = ["Arguments", "as_condition", "as_operand", "make_call"]

_MAX_PLACES: Final = 30


class Arguments(NamedTuple):
    """The arguments of a call: its text, the nodes with their columns, and the number of tokens."""

    text: str
    nodes: tuple[Node, ...]
    columns: tuple[int, ...]
    cost: int

    def operands(self) -> tuple[Operand, ...]:
        """All arguments as values."""
        return tuple(map(as_operand, self.nodes, self.columns))


def as_condition(node: Node, column: int) -> Condition:
    """A node as a condition; a path alone is its boolean."""
    if isinstance(node, FieldNode) and not node.path.is_list:
        return Truthy(text=node.text, path=node.path)
    if isinstance(node, Constant) and isinstance(node.constant, bool):
        return BooleanValue(text=node.text, holds=node.constant)
    if isinstance(node, Condition):
        return node
    hint = "ask with all(...) or any(...)" if isinstance(node, FieldNode) else "compare it"
    raise ExpressionError(column, f"{node.text} is a value, not a condition; {hint}")


def as_operand(node: Node, column: int) -> Operand:
    """A node as a value, which null is not."""
    if isinstance(node, Constant) and node.constant is None:
        raise ExpressionError(column, "null is no value; write == null, or missing(...)")
    if isinstance(node, Operand):
        return node
    raise ExpressionError(column, f"{node.text} is a condition, not a value")


def make_call(name: str, column: int, arguments: Arguments) -> Node:
    """The call of a function; an unknown name or wrong arguments are an error."""
    function = _FUNCTIONS.get(name)
    if function is None:
        near = nearest(name, _FUNCTIONS)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(sorted(_FUNCTIONS))}"
        raise ExpressionError(column, f"there is no function {name} ({hint})")
    given = len(arguments.nodes)
    least, most = function.arity
    if most is not None and not least <= given <= most:
        wanted = str(least) if least == most else f"{least} or {most}"
        plural = "" if most == 1 else "s"
        raise ExpressionError(column, f"{name} takes {wanted} argument{plural}, not {given}")
    if given < least:
        reason = f"{name} needs a list, for example {name}(items[].amount)"
        raise ExpressionError(column, reason)
    return function.make(name, arguments)


# --- functions of values --------------------------------------------------------------------------

_NamedValue: TypeAlias = tuple[str, Value]
_ValueFunction: TypeAlias = Callable[[Sequence[_NamedValue]], Value | CheckResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Operand):
    """A call of a function of values."""

    name: str
    arguments: tuple[Operand, ...]

    def evaluate(self, env: Environment) -> Value | CheckResult:
        """The result of the function."""
        values = [argument.evaluate(env) for argument in self.arguments]
        named: list[_NamedValue] = []
        for argument, value in zip(self.arguments, values, strict=True):
            if isinstance(value, CheckResult):
                return worst(*values)
            env.spend_size(value)
            named.append((argument.text, value))
        return _VALUE_FUNCTIONS[self.name](named)


def _abs(arguments: Sequence[_NamedValue]) -> Value | CheckResult:
    number = number_of(*arguments[0])
    return number if isinstance(number, CheckResult) else number.copy_abs()


def _round(arguments: Sequence[_NamedValue]) -> Value | CheckResult:
    """Round halves away from zero, as on an invoice."""
    number = number_of(*arguments[0])
    places = number_of(*arguments[1]) if len(arguments) > 1 else Decimal(0)
    if isinstance(number, CheckResult) or isinstance(places, CheckResult):
        return worst(number, places)
    if places != places.to_integral_value() or not 0 <= places <= _MAX_PLACES:
        text = arguments[0][0]
        return fault(f"{text} rounds to {places} places; 0 to {_MAX_PLACES} are possible")
    result = CONTEXT.quantize(number, Decimal(1).scaleb(-int(places)))
    # A number so long that the context has no room for the places has none to round.
    return result if result.is_finite() else number


def _len(arguments: Sequence[_NamedValue]) -> Value | CheckResult:
    name, value = arguments[0]
    if isinstance(value, (str, list)):
        return Decimal(len(value))
    return fault(f"{name} is {describe_value(value)}, neither a text nor a list")


def _text_function(change: Callable[[str], str]) -> _ValueFunction:
    def function(arguments: Sequence[_NamedValue]) -> Value | CheckResult:
        name, value = arguments[0]
        if isinstance(value, str):
            return change(value)
        return fault(f"{name} is {describe_value(value)}, not a text")

    return function


_VALUE_FUNCTIONS: Final[Mapping[str, _ValueFunction]] = {
    "abs": _abs,
    "round": _round,
    "len": _len,
    "lower": _text_function(str.lower),
    "upper": _text_function(str.upper),
    "date": lambda arguments: day_of(*arguments[0]),
}


# --- calls as nodes -------------------------------------------------------------------------------


def _call(name: str, arguments: Arguments) -> Node:
    return Call(text=arguments.text, name=name, arguments=arguments.operands())


def _aggregate(name: str, arguments: Arguments) -> Node:
    return Aggregate(text=arguments.text, name=name, source=_source(arguments))


def _count(_: str, arguments: Arguments) -> Node:
    return Count(text=arguments.text, source=_source(arguments))


def _unique(_: str, arguments: Arguments) -> Node:
    return Unique(text=arguments.text, source=_source(arguments))


def _presence(name: str, arguments: Arguments) -> Node:
    field = _field(name, arguments)
    return PresenceCheck(text=arguments.text, field=field, wanted=name == "exists")


def _quantified(name: str, arguments: Arguments) -> Node:
    return Quantified(
        text=arguments.text,
        quantifier=Quantifier(name),
        items=_field(name, arguments),
        condition=as_condition(arguments.nodes[1], arguments.columns[1]),
        cost=arguments.cost,
    )


def _source(arguments: Arguments) -> ListSource:
    """One list, a list of items with an operand for each, or several operands."""
    match arguments.nodes:
        case (FieldNode() as items, operand) if items.path.is_items:
            return ItemExpressions(
                text=items.text,
                items=items,
                operand=as_operand(operand, arguments.columns[1]),
                cost=arguments.cost,
            )
    operands = arguments.operands()
    return ValueList(text=operands[0].text, operands=operands)


def _field(name: str, arguments: Arguments) -> FieldNode:
    node = arguments.nodes[0]
    if isinstance(node, FieldNode):
        return node
    raise ExpressionError(arguments.columns[0], f"{name} needs a path here, not {node.text}")


class _Function(NamedTuple):
    """How a call becomes a node, and the least and largest number of its arguments."""

    make: Callable[[str, Arguments], Node]
    arity: tuple[int, int | None]


_FUNCTIONS: Final[Mapping[str, _Function]] = {
    **dict.fromkeys(_VALUE_FUNCTIONS, _Function(_call, (1, 1))),
    "round": _Function(_call, (1, 2)),
    **dict.fromkeys(AGGREGATES, _Function(_aggregate, (1, None))),
    **dict.fromkeys(Quantifier, _Function(_quantified, (2, 2))),
    "count": _Function(_count, (1, None)),
    "unique": _Function(_unique, (1, 2)),
    "exists": _Function(_presence, (1, 1)),
    "missing": _Function(_presence, (1, 1)),
}
