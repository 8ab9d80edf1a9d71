"""The syntax tree of an expression: operands have a value, conditions hold or not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Final, TypeAlias

from fieldmark.compare.regex import Regex
from fieldmark.evaluators.expressions.values import (
    CONTEXT,
    EMPTY_WORDS,
    HOLDS,
    CheckResult,
    Element,
    Elements,
    Environment,
    ExpressionPath,
    Truth,
    Value,
    all_of,
    any_of,
    check_range,
    day_of,
    describe_value,
    divide,
    fails,
    fault,
    format_value,
    not_applicable,
    number_of,
    present,
    to_decimal,
    worst,
)
from fieldmark.model.json import MISSING, JsonValue
from fieldmark.model.outcome import Presence
from fieldmark.values.dates import is_iso_date
from fieldmark.values.equality import equal, typed_key
from fieldmark.values.numbers import Tolerance
from fieldmark.values.presence import presence
from fieldmark.values.text import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(ABC):
    """A part of an expression, with its source text."""

    text: str


class Operand(Node):
    """A part of an expression that has a value."""

    __slots__ = ()

    @abstractmethod
    def evaluate(self, env: Environment) -> Value | CheckResult:
        """Return the value, or why there is none."""


class Condition(Node):
    """A part of an expression that holds or not."""

    __slots__ = ()

    @abstractmethod
    def check(self, env: Environment) -> CheckResult:
        """Return whether it holds, and if not, why."""


# --- operands -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant(Operand):
    """A number, a string, true, false or null."""

    constant: Decimal | str | bool | None

    def evaluate(self, env: Environment) -> Value | CheckResult:  # noqa: ARG002 - constant
        """Return the constant; null is not a value."""
        return not_applicable("null is not a value") if self.constant is None else self.constant


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldNode(Operand):
    """The value at a path; absent, null and blank are not values."""

    path: ExpressionPath

    def evaluate(self, env: Environment) -> Value | CheckResult:
        """Return the value; for a path with `[]`, the list of all values that are present."""
        if not self.path.is_list:
            return present(self.text, self.path.read(env))
        elements = self.path.elements(env)
        if isinstance(elements, CheckResult):
            return elements
        if any(isinstance(value, CheckResult) for value in elements.values):
            return worst(*elements.values)
        values: list[JsonValue] = [
            value  # type: ignore[misc]  # a path only leads to JSON
            for value in elements.values
            if value is not MISSING and value is not None
        ]
        return values


class ArithmeticOperator(StrEnum):
    """An arithmetic operator."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"


_OPERATIONS: Final[Mapping[ArithmeticOperator, Callable[[Decimal, Decimal], Decimal]]] = {
    ArithmeticOperator.ADD: CONTEXT.add,
    ArithmeticOperator.SUBTRACT: CONTEXT.subtract,
    ArithmeticOperator.MULTIPLY: CONTEXT.multiply,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic(Operand):
    """A calculation from left to right with operators of the same precedence."""

    first: Operand
    terms: tuple[tuple[ArithmeticOperator, Operand], ...]

    def evaluate(self, env: Environment) -> Value | CheckResult:
        """Return the result; the difference of two dates is a number of days."""
        result = self.first.evaluate(env)
        name = self.first.text
        for operator, operand in self.terms:
            other = operand.evaluate(env)
            minus = operator is ArithmeticOperator.SUBTRACT
            if minus and isinstance(result, date) and isinstance(other, date):
                result = Decimal((result - other).days)
            else:
                left, right = number_of(name, result), number_of(operand.text, other)
                if isinstance(left, CheckResult) or isinstance(right, CheckResult):
                    result = worst(left, right)
                elif operator is ArithmeticOperator.DIVIDE:
                    result = divide(left, right, self.text)
                else:
                    result = check_range(_OPERATIONS[operator](left, right), self.text)
            name = self.text
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Minus(Operand):
    """A number with the opposite sign."""

    operand: Operand

    def evaluate(self, env: Environment) -> Value | CheckResult:
        """Return the negated number."""
        number = number_of(self.operand.text, self.operand.evaluate(env))
        return number if isinstance(number, CheckResult) else number.copy_negate()


# --- functions of values --------------------------------------------------------------------------

_NamedValue: TypeAlias = tuple[str, Value]
_ValueFunction: TypeAlias = Callable[[Sequence[_NamedValue]], Value | CheckResult]
_MAX_PLACES: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Operand):
    """A call of a function with values as arguments."""

    name: str
    arguments: tuple[Operand, ...]

    def evaluate(self, env: Environment) -> Value | CheckResult:
        """Return the result of the function."""
        values = [argument.evaluate(env) for argument in self.arguments]
        named: list[_NamedValue] = []
        for argument, value in zip(self.arguments, values, strict=True):
            if isinstance(value, CheckResult):
                return worst(*values)
            env.spend_size(value)
            named.append((argument.text, value))
        return VALUE_FUNCTIONS[self.name](named)


def _abs(arguments: Sequence[_NamedValue]) -> Value | CheckResult:
    number = number_of(*arguments[0])
    return number if isinstance(number, CheckResult) else number.copy_abs()


def _round(arguments: Sequence[_NamedValue]) -> Value | CheckResult:
    """Round halves away from zero, as is usual on invoices."""
    number = number_of(*arguments[0])
    decimals = number_of(*arguments[1]) if len(arguments) > 1 else Decimal(0)
    if isinstance(number, CheckResult) or isinstance(decimals, CheckResult):
        return worst(number, decimals)
    if decimals != decimals.to_integral_value() or not 0 <= decimals <= _MAX_PLACES:
        text = arguments[0][0]
        return fault(f"cannot round {text} to {decimals} places; must be 0 to {_MAX_PLACES}")
    result = CONTEXT.quantize(number, Decimal(1).scaleb(-int(decimals)))
    # A number that is too long for the precision of the context has no decimal places.
    return result if result.is_finite() else number


def _len(arguments: Sequence[_NamedValue]) -> Value | CheckResult:
    name, value = arguments[0]
    if isinstance(value, (str, list)):
        return Decimal(len(value))
    return fault(f"{name} is {describe_value(value)}, not a string or list")


def _string_function(change: Callable[[str], str]) -> _ValueFunction:
    def function(arguments: Sequence[_NamedValue]) -> Value | CheckResult:
        name, value = arguments[0]
        if isinstance(value, str):
            return change(value)
        return fault(f"{name} is {describe_value(value)}, not a string")

    return function


VALUE_FUNCTIONS: Final[Mapping[str, _ValueFunction]] = {
    "abs": _abs,
    "round": _round,
    "len": _len,
    "lower": _string_function(str.lower),
    "upper": _string_function(str.upper),
    "date": lambda arguments: day_of(*arguments[0]),
}


# --- lists and aggregates -------------------------------------------------------------------------


class ListSource(Node):
    """The source of the values of a list."""

    __slots__ = ()

    @abstractmethod
    def elements(self, env: Environment) -> Elements | CheckResult:
        """Return the values, or why there is no list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueList(ListSource):
    """The values of one list, or of several operands."""

    operands: tuple[Operand, ...]

    def elements(self, env: Environment) -> Elements | CheckResult:
        """Return all values, in the order of the operands."""
        if len(self.operands) == 1:
            return items_of(self.operands[0], env)
        values: list[Element] = []
        names: list[str] = []
        for operand in self.operands:
            value = operand.evaluate(env)
            inner = items_of(operand, env) if isinstance(value, list) else None
            if isinstance(inner, Elements):
                values += [present(inner.name(i), item) for i, item in enumerate(inner.values)]
                names += map(inner.name, range(len(inner.values)))
            else:
                values.append(value)
                names.append(operand.text)
        return Elements(values, names.__getitem__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemExpressions(ListSource):
    """The value of an operand for each item of a list, with paths relative to the item."""

    items: FieldNode
    operand: Operand
    cost: int

    def elements(self, env: Environment) -> Elements | CheckResult:
        """Return one value for each item."""
        elements = items_of(self.items, env)
        if isinstance(elements, CheckResult):
            return elements
        env.spend(self.cost * len(elements.values))
        values: list[Element] = []
        for index, item in enumerate(elements.values):
            value = item
            if not isinstance(item, CheckResult):
                value = self.operand.evaluate(env.within(item))  # type: ignore[arg-type] # JSON
                if isinstance(value, CheckResult):
                    value = _at_item(elements.name(index), value)
            values.append(value)
        return Elements(values, elements.name)


def items_of(operand: Operand, env: Environment) -> Elements | CheckResult:
    """Return the items of an operand that is a list, written with or without `[]`."""
    if isinstance(operand, FieldNode) and operand.path.is_list:
        return operand.path.elements(env)
    value = operand.evaluate(env)
    if isinstance(value, CheckResult):
        return value
    if not isinstance(value, list):
        return fault(f"{operand.text} is {describe_value(value)}, not a list")
    env.spend(len(value))
    return Elements([*value], lambda index: f"{operand.text}[{index}]")


def _at_item(name: str, result: CheckResult) -> CheckResult:
    return result._replace(reason=f"{name}: {result.reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Operand):
    """The number of values of a list that are not absent, null or blank."""

    source: ListSource

    def evaluate(self, env: Environment) -> Value | CheckResult:
        """Return the number of values."""
        elements = self.source.elements(env)
        if isinstance(elements, CheckResult):
            return elements
        values = (present("", element) for element in elements.values)
        return Decimal(sum(not isinstance(value, CheckResult) for value in values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Operand):
    """An aggregate of the numbers of a list: `sum`, `avg`, `min` or `max`."""

    name: str
    source: ListSource

    def evaluate(self, env: Environment) -> Value | CheckResult:
        """Return the aggregate; undefined if any value is missing or not a number."""
        elements = self.source.elements(env)
        if isinstance(elements, CheckResult):
            return elements
        days = [element for element in elements.values if isinstance(element, date)]
        if days and len(days) == len(elements.values) and self.name in _DATE_AGGREGATES:
            return _DATE_AGGREGATES[self.name](days)
        numbers: list[Decimal] = []
        errors: list[Decimal | CheckResult] = []
        for index, value in enumerate(elements.values):
            number = None
            if not isinstance(value, CheckResult) and value is not MISSING:
                number = to_decimal(value)
            if number is not None:
                numbers.append(number)
            else:  # names are only built for messages
                name = elements.name(index)
                errors.append(number_of(name, present(name, value)))
        if errors:
            return worst(*errors)
        if not numbers and self.name != "sum":
            return not_applicable(f"{self.source.text} is empty")
        return AGGREGATES[self.name](numbers, self.text)


def _sum(numbers: Sequence[Decimal], text: str) -> Decimal | CheckResult:
    total = Decimal(0)
    for number in numbers:
        total = CONTEXT.add(total, number)
    return check_range(total, text)


def _mean(numbers: Sequence[Decimal], text: str) -> Decimal | CheckResult:
    total = _sum(numbers, text)
    return total if isinstance(total, CheckResult) else divide(total, Decimal(len(numbers)), text)


_AggregateFunction: TypeAlias = Callable[[Sequence[Decimal], str], Decimal | CheckResult]
AGGREGATES: Final[Mapping[str, _AggregateFunction]] = {
    "sum": _sum,
    "avg": _mean,
    "min": lambda numbers, _: min(numbers),
    "max": lambda numbers, _: max(numbers),
}
_DATE_AGGREGATES: Final[Mapping[str, Callable[[Sequence[date]], date]]] = {"min": min, "max": max}


# --- comparisons ----------------------------------------------------------------------------------


class Relation(StrEnum):
    """A comparison operator."""

    EQUAL = "=="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="

    @property
    def is_equality(self) -> bool:
        """Whether it tests equality, not order."""
        return self in {Relation.EQUAL, Relation.UNEQUAL}


_ORDERS: Final[Mapping[Relation, frozenset[int]]] = {
    Relation.EQUAL: frozenset({0}),
    Relation.UNEQUAL: frozenset({-1, 1}),
    Relation.LESS: frozenset({-1}),
    Relation.AT_MOST: frozenset({-1, 0}),
    Relation.MORE: frozenset({1}),
    Relation.AT_LEAST: frozenset({0, 1}),
}
"""The results of comparing left with right (-1, 0 or 1) for which a relation holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Condition):
    """A comparison of two operands."""

    left: Operand
    relation: Relation
    right: Operand
    tolerance: Tolerance | None = None

    def check(self, env: Environment) -> CheckResult:
        """Return whether the relation holds; values that cannot be compared are a fault."""
        left, right = self.left.evaluate(env), self.right.evaluate(env)
        if isinstance(left, CheckResult) or isinstance(right, CheckResult):
            return worst(left, right)
        env.spend_size(left)
        env.spend_size(right)
        return _compare(
            (self.left.text, left), self.relation, (self.right.text, right), self.tolerance
        )


def _compare(
    left: _NamedValue, relation: Relation, right: _NamedValue, tolerance: Tolerance | None = None
) -> CheckResult:
    """Compare as numbers, as dates, or as JSON values."""
    return (
        _compare_numbers(left, relation, right, tolerance)
        or _compare_days(left, relation, right)
        or _compare_values(left, relation, right)
    )


def _compare_numbers(
    left: _NamedValue, relation: Relation, right: _NamedValue, tolerance: Tolerance | None
) -> CheckResult | None:
    """Compare as numbers if one side is a number, or to order two numeric strings."""
    if tolerance is None and not (_is_number(left[1]) or _is_number(right[1])):
        spelled = to_decimal(left[1]) is not None and to_decimal(right[1]) is not None
        if relation.is_equality or not spelled:
            return None
    first, second = number_of(*left), number_of(*right)
    if isinstance(first, CheckResult) or isinstance(second, CheckResult):
        return worst(first, second)
    if tolerance is None:
        holds = (first > second) - (first < second) in _ORDERS[relation]
    else:
        holds = tolerance.admits(second, first) is (relation is Relation.EQUAL)
    if holds or relation is not Relation.EQUAL:
        return _compared(first, second, holds=holds)
    gap = CONTEXT.subtract(first, second).copy_abs()
    return _compared(first, second, holds=False, note=f" (differs by {format_value(gap)})")


def _compare_days(left: _NamedValue, relation: Relation, right: _NamedValue) -> CheckResult | None:
    """Compare as dates if one side is a date, or to order two ISO dates."""
    if not (isinstance(left[1], date) or isinstance(right[1], date)):
        spelled = all(isinstance(value, str) and is_iso_date(value) for _, value in (left, right))
        if relation.is_equality or not spelled:
            return None
    first, second = day_of(*left), day_of(*right)
    if isinstance(first, CheckResult) or isinstance(second, CheckResult):
        return worst(first, second)
    return _compared(first, second, holds=(first > second) - (first < second) in _ORDERS[relation])


def _compare_values(left: _NamedValue, relation: Relation, right: _NamedValue) -> CheckResult:
    """Compare as JSON values; only values of the same type can be equal, and none are ordered."""
    (left_text, first), (right_text, second) = left, right
    if type(first) is type(second) and relation.is_equality:
        same = equal(first, second)  # type: ignore[arg-type]  # neither numbers nor dates
        return _compared(first, second, holds=same is (relation is Relation.EQUAL))
    types = f"{left_text} is {describe_value(first)} and {right_text} is {describe_value(second)}"
    if type(first) is not type(second):
        return fault(f"{types}; they cannot be compared")
    return fault(f"{types}; only numbers and dates have an order")


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _compared(left: Value, right: Value, *, holds: bool, note: str = "") -> CheckResult:
    if holds:
        return CheckResult(Truth.TRUE, "", left, right)
    reason = f"{format_value(left)} vs. {format_value(right)}{note}"
    return CheckResult(Truth.FALSE, reason, left, right)


# --- conditions on one value ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BooleanValue(Condition):
    """`true` or `false` as a condition."""

    holds: bool

    def check(self, env: Environment) -> CheckResult:  # noqa: ARG002 - constant
        """Return the constant."""
        return HOLDS if self.holds else fails("the condition is false")


@dataclass(frozen=True, slots=True, kw_only=True)
class Truthy(Condition):
    """A path as a condition: its boolean value, or whether it has another value."""

    path: ExpressionPath

    def check(self, env: Environment) -> CheckResult:
        """Return whether the value is true, or present and not a boolean."""
        value = self.path.read(env)
        state = presence(value)
        if state is not Presence.VALUE:
            return fails(f"{self.text} is {EMPTY_WORDS[state]}")
        return fails(f"{self.text} is false") if value is False else HOLDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership(Condition):
    """A value that must be in a list; with `allow_empty`, it may also be missing."""

    operand: Operand
    choices: Operand | tuple[Operand, ...]
    allow_empty: bool = False

    def check(self, env: Environment) -> CheckResult:
        """Return whether the value is in the list."""
        value = self.operand.evaluate(env)
        if isinstance(value, CheckResult):
            absent = value.truth is Truth.NOT_APPLICABLE
            return HOLDS if self.allow_empty and absent else value
        choices: list[Value | CheckResult]
        if isinstance(self.choices, tuple):
            choices = [choice.evaluate(env) for choice in self.choices]
        else:
            listed = self.choices.evaluate(env)
            if isinstance(listed, CheckResult):
                return listed
            if not isinstance(listed, list):
                return fault(f"{self.choices.text} is {describe_value(listed)}, not a list")
            env.spend_size(listed)
            choices = [*listed]
        for choice in choices:
            if isinstance(choice, CheckResult):
                continue
            if _compare(("", value), Relation.EQUAL, ("", choice)).truth is Truth.TRUE:
                return CheckResult(Truth.TRUE, "", value)
        return CheckResult(Truth.FALSE, f"{format_value(value)} is not in the list", value)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternMatch(Condition):
    """A string that must match a pattern as a whole."""

    operand: Operand
    regex: Regex

    def check(self, env: Environment) -> CheckResult:
        """Return whether the string matches."""
        value = self.operand.evaluate(env)
        if isinstance(value, CheckResult):
            return value
        if not isinstance(value, str):
            return fault(f"{self.operand.text} is {describe_value(value)}, not a string")
        env.spend_size(value)
        comparison = self.regex.compare("", value)
        if comparison.matched:
            return CheckResult(Truth.TRUE, "", value)
        if comparison.note:
            return fault(f"{self.operand.text}: {comparison.note}")
        return CheckResult(Truth.FALSE, f"{format_value(value)} does not match the pattern", value)


@dataclass(frozen=True, slots=True, kw_only=True)
class PresenceCheck(Condition):
    """A value that must be present, or if `wanted` is false must be missing.

    For a path with `[]`, there must be values and all must be present, or all must be missing.
    """

    field: FieldNode
    wanted: bool

    def check(self, env: Environment) -> CheckResult:
        """Return whether the value, or a list that is missing as a whole, is as wanted."""
        path = self.field.path
        if not path.is_list:
            return self._check(self.field.text, path.read(env))
        elements = path.elements(env)
        if isinstance(elements, CheckResult):
            return self._check(self.field.text, elements)
        if not elements.values:
            return fails(f"{self.field.text} is empty") if self.wanted else HOLDS
        return all_of(
            self._check(elements.name(i), element) for i, element in enumerate(elements.values)
        )

    def _check(self, name: str, element: Element) -> CheckResult:
        value = present(name, element)
        if not isinstance(value, CheckResult):
            return HOLDS if self.wanted else fails(f"{name} is {describe_value(value)}")
        if value.truth is Truth.FAULT:
            return value
        return fails(value.reason) if self.wanted else HOLDS


# --- conditions on lists --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique(Condition):
    """Values of a list that must all be different, ignoring empty values."""

    source: ListSource

    def check(self, env: Environment) -> CheckResult:
        """Return whether all values are different."""
        elements = self.source.elements(env)
        if isinstance(elements, CheckResult):
            return elements
        seen: dict[Hashable, int] = {}
        for index, element in enumerate(elements.values):
            value = present("", element)
            if isinstance(value, CheckResult):
                if value.truth is Truth.FAULT:
                    return value
                continue
            env.spend_size(value)
            if isinstance(value, Decimal):
                key: Hashable = str(CONTEXT.normalize(value)).encode()
            else:
                key = value.isoformat().encode() if isinstance(value, date) else typed_key(value)
            first = seen.setdefault(key, index)
            if first != index:
                both = f"{elements.name(first)} and {elements.name(index)}"
                return fails(f"{both} are both {format_value(value)}")
        return HOLDS if seen else not_applicable(f"{self.source.text} has no values")


class Quantifier(StrEnum):
    """Whether a condition must hold for all items or for any."""

    ALL = "all"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantified(Condition):
    """A condition that must hold for all items of a list, or for any; paths start at the item.

    An item is skipped if the condition does not apply to it. `any` of no items does not hold, and
    `all` of no items does not apply.
    """

    quantifier: Quantifier
    items: FieldNode
    condition: Condition
    cost: int

    def check(self, env: Environment) -> CheckResult:
        """Return whether it holds, with the reason of the first item that decides."""
        elements = items_of(self.items, env)
        if isinstance(elements, CheckResult):
            return elements
        env.spend(self.cost * len(elements.values))
        results = [self._check_item(elements, index, env) for index in range(len(elements.values))]
        applying = [result for result in results if result.truth is not Truth.NOT_APPLICABLE]
        if self.quantifier is Quantifier.ANY:
            if not results:
                return fails(f"{self.items.text} is empty")
            if not applying:
                return not_applicable(f"applies to no item of {self.items.text}")
            best = any_of(applying)
            if best.truth is not Truth.FALSE:
                return best
            return fails(f"holds for 0 of {plural(len(applying), 'item')}")
        if not applying:
            return all_of(results) if results else not_applicable(f"{self.items.text} is empty")
        first = all_of(applying)
        failing = sum(result.truth is not Truth.TRUE for result in applying)
        if failing <= 1:
            return first
        count = f"{failing} of {plural(len(applying), 'item')} fail"
        return first._replace(reason=f"{first.reason}; {count}")

    def _check_item(self, elements: Elements, index: int, env: Environment) -> CheckResult:
        item = elements.values[index]
        if isinstance(item, CheckResult):
            return item
        if item is MISSING:
            return not_applicable(f"{elements.name(index)} is missing")
        result = self.condition.check(env.within(item))  # type: ignore[arg-type]  # items are JSON
        return HOLDS if result.truth is Truth.TRUE else _at_item(elements.name(index), result)


# --- logical operators ----------------------------------------------------------------------------


class BooleanOperator(StrEnum):
    """A logical operator."""

    AND = "and"
    OR = "or"


@dataclass(frozen=True, slots=True, kw_only=True)
class BooleanOperation(Condition):
    """Conditions; all of them, or at least one, must hold."""

    operator: BooleanOperator
    conditions: tuple[Condition, ...]

    def check(self, env: Environment) -> CheckResult:
        """Return whether they hold; every condition is checked."""
        join = all_of if self.operator is BooleanOperator.AND else any_of
        return join([condition.check(env) for condition in self.conditions])


@dataclass(frozen=True, slots=True, kw_only=True)
class Not(Condition):
    """A condition that must not hold; a result that is neither true nor false is unchanged.

    `because` completes the reason: the value must not do this.
    """

    condition: Condition
    because: str = ""

    def check(self, env: Environment) -> CheckResult:
        """Return whether the condition does not hold."""
        result = self.condition.check(env)
        if result.truth is Truth.TRUE:
            reason = f"{self.condition.text} holds"
            if self.because:
                reason = f"{format_value(result.left)} {self.because}"
            return result._replace(truth=Truth.FALSE, reason=reason)
        if result.truth is Truth.FALSE:
            return result._replace(truth=Truth.TRUE, reason="")
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditional(Condition):
    """`if ... then ... else ...`; does not apply if the premise is false and there is no `else`."""

    premise: Condition
    then: Condition
    otherwise: Condition | None = None

    def check(self, env: Environment) -> CheckResult:
        """Return the result of the branch that the premise selects."""
        premise = self.premise.check(env)
        if premise.truth is Truth.TRUE:
            return self.then.check(env)
        if premise.truth is not Truth.FALSE:
            return premise
        if self.otherwise is not None:
            return self.otherwise.check(env)
        return not_applicable(f"{self.premise.text} does not hold")
