"""Two values of an expression side by side: as numbers, as days, as texts or as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple

from fieldmark.evaluators.expressions.amounts import CONTEXT, as_amount
from fieldmark.evaluators.expressions.findings import Finding, Scope, Truth, Value, fault, trouble
from fieldmark.evaluators.expressions.operands import amount_of
from fieldmark.evaluators.expressions.wording import described, shown
from fieldmark.model.json import JsonValue
from fieldmark.values.dates import is_iso_date, read_day
from fieldmark.values.equality import equal
from fieldmark.values.numbers import Tolerance

__all__ = ["Margin", "Relation", "Said", "compared", "day_of", "same", "weight_of"]


class Relation(StrEnum):
    """How two values may stand to one another."""

    EQUAL = "=="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """How far two numbers may lie apart and still be equal; a share is one of the right number."""

    amount: Decimal
    percent: bool = False

    def admits(self, left: Decimal, right: Decimal) -> bool:
        """Whether two numbers lie near enough; the boundary is inside."""
        exact = Fraction(self.amount)
        limit = Tolerance(relative=exact / 100) if self.percent else Tolerance(absolute=exact)
        return limit.admits(right, left)


class Said(NamedTuple):
    """A value and the text that stands for it."""

    text: str
    value: Value


_ORDERS: Final[Mapping[Relation, frozenset[int]]] = {
    Relation.EQUAL: frozenset({0}),
    Relation.UNEQUAL: frozenset({-1, 1}),
    Relation.LESS: frozenset({-1}),
    Relation.AT_MOST: frozenset({-1, 0}),
    Relation.MORE: frozenset({1}),
    Relation.AT_LEAST: frozenset({0, 1}),
}
"""Where the left value may lie, seen from the right one: below it, on it, above it."""

_OF_EQUALITY: Final = (Relation.EQUAL, Relation.UNEQUAL)


def compared(relation: Relation, left: Said, right: Said, margin: Margin | None = None) -> Finding:
    """Whether two values stand in a relation; values that cannot be compared are a fault.

    >>> compared(Relation.LESS, Said("a", 2), Said("b", "10")).truth
    <Truth.TRUE: 'true'>
    """
    return (
        _by_number(relation, left, right, margin)
        or _by_day(relation, left, right)
        or _by_equality(relation, left, right)
    )


def same(left: Value, right: Value) -> bool:
    """Whether two values are equal; values of different kinds are simply not."""
    finding = compared(Relation.EQUAL, Said("", left), Said("", right))
    return finding.truth is Truth.TRUE


def day_of(said: Said) -> date | Finding:
    """The day that a value is or spells."""
    if isinstance(said.value, date):
        return said.value
    reading = read_day(said.value) if isinstance(said.value, str) else None
    if reading is None:
        return fault(f"{said.text} is {described(said.value)}, not a date")
    return reading.day


def weight_of(value: Value, scope: Scope) -> None:
    """Spend as many steps as it takes to look at a whole value."""
    pending: list[JsonValue] = [value] if isinstance(value, (list, dict)) else []
    if isinstance(value, str):
        scope.spend(len(value) // 1_000)
    while pending:
        item = pending.pop()
        scope.spend(1)
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def _by_number(
    relation: Relation, left: Said, right: Said, margin: Margin | None
) -> Finding | None:
    """As numbers, if one side is one, or if both spell numbers and have to be ordered."""
    if margin is None and not (_is_number(left.value) or _is_number(right.value)):
        spelled = as_amount(left.value) is not None and as_amount(right.value) is not None
        if relation in _OF_EQUALITY or not spelled:
            return None
    one, other = amount_of(*left), amount_of(*right)
    if isinstance(one, Finding) or isinstance(other, Finding):
        return trouble(one, other)
    if margin is None:
        holds = (one > other) - (one < other) in _ORDERS[relation]
    else:
        holds = margin.admits(one, other) is (relation is Relation.EQUAL)
    if holds or relation is not Relation.EQUAL:
        return _told(one, other, holds=holds)
    gap = CONTEXT.subtract(one, other).copy_abs()
    return _told(one, other, holds=False, note=f" (differs by {shown(gap)})")


def _by_day(relation: Relation, left: Said, right: Said) -> Finding | None:
    """As days, if one side is one, or if both are dates as ISO writes them and are ordered."""
    if not (isinstance(left.value, date) or isinstance(right.value, date)):
        spelled = _is_iso(left.value) and _is_iso(right.value)
        if relation in _OF_EQUALITY or not spelled:
            return None
    one, other = day_of(left), day_of(right)
    if isinstance(one, Finding) or isinstance(other, Finding):
        return trouble(one, other)
    return _told(one, other, holds=(one > other) - (one < other) in _ORDERS[relation])


def _by_equality(relation: Relation, left: Said, right: Said) -> Finding:
    """As what they are; only values of one kind can be equal, and they have no order."""
    kinds = f"{left.text} is {described(left.value)} and {right.text} is {described(right.value)}"
    if type(left.value) is not type(right.value):
        return fault(f"{kinds}: they cannot be compared")
    if relation not in _OF_EQUALITY:
        return fault(f"{kinds}: neither numbers nor dates")
    alike = equal(left.value, right.value)  # type: ignore[arg-type]  # numbers and days are done
    return _told(left.value, right.value, holds=alike is (relation is Relation.EQUAL))


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _is_iso(value: Value) -> bool:
    return isinstance(value, str) and is_iso_date(value)


def _told(left: Value, right: Value, *, holds: bool, note: str = "") -> Finding:
    if holds:
        return Finding(Truth.TRUE, "", left, right)
    return Finding(Truth.FALSE, f"{shown(left)} against {shown(right)}{note}", left, right)
