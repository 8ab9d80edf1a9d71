"""What stands for a value in an expression: constants, paths and arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Final, Protocol, runtime_checkable

from fieldmark.evaluators.expressions.amounts import CONTEXT, as_amount, bounded, divided
from fieldmark.evaluators.expressions.findings import (
    Finding,
    Scope,
    Value,
    fault,
    not_applicable,
    trouble,
)
from fieldmark.evaluators.expressions.places import Place, present
from fieldmark.evaluators.expressions.wording import described
from fieldmark.model.json import MISSING, JsonValue

__all__ = ["Constant", "Field", "Negative", "Operand", "Sign", "Steps", "amount_of"]


@runtime_checkable
class Operand(Protocol):
    """A part of an expression that has a value, and the text that it was written as."""

    @property
    def text(self) -> str:
        """The part as it was written."""
        ...

    def value(self, scope: Scope) -> Value | Finding:
        """The value, or why there is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A number, a text, true, false or null."""

    text: str
    constant: Decimal | str | bool | None

    def value(self, scope: Scope) -> Value | Finding:  # noqa: ARG002 - the same in every scope
        """The constant; null is what is not there."""
        return not_applicable("null is no value") if self.constant is None else self.constant


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """The value at a path; what is absent, null or blank is not there."""

    text: str
    place: Place

    def value(self, scope: Scope) -> Value | Finding:
        """The value; of a path with `[]`, the list of the values that are there."""
        if not self.place.many:
            return present(self.text, self.place.read(scope))
        found = self.place.elements(scope)
        if isinstance(found, Finding):
            return found
        if any(isinstance(value, Finding) for value in found.values):
            return trouble(*found.values)
        kept: list[JsonValue] = [
            value  # type: ignore[misc]  # a path leads to JSON alone
            for value in found.values
            if value is not MISSING and value is not None
        ]
        return kept


class Sign(StrEnum):
    """An operator of arithmetic."""

    PLUS = "+"
    MINUS = "-"
    TIMES = "*"
    OVER = "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A calculation from left to right: a first value and what is done to it."""

    text: str
    first: Operand
    rest: tuple[tuple[Sign, Operand], ...]

    def value(self, scope: Scope) -> Value | Finding:
        """The result; a difference of two dates is a number of days."""
        so_far = self.first.value(scope)
        name = self.first.text
        for sign, operand in self.rest:
            other = operand.value(scope)
            if sign is Sign.MINUS and isinstance(so_far, date) and isinstance(other, date):
                so_far = Decimal((so_far - other).days)
            else:
                left, right = amount_of(name, so_far), amount_of(operand.text, other)
                so_far = _calculated(sign, left, right, self.text)
            name = self.text
        return so_far


@dataclass(frozen=True, slots=True, kw_only=True)
class Negative:
    """A number with its sign turned."""

    text: str
    operand: Operand

    def value(self, scope: Scope) -> Value | Finding:
        """The number below zero, or above it if it was below."""
        number = amount_of(self.operand.text, self.operand.value(scope))
        return number if isinstance(number, Finding) else number.copy_negate()


def amount_of(name: str, value: Value | Finding) -> Decimal | Finding:
    """The number that an operand has; anything else is a fault that names it."""
    if isinstance(value, Finding):
        return value
    number = as_amount(value)
    return fault(f"{name} is {described(value)}, not a number") if number is None else number


def _calculated(
    sign: Sign, left: Decimal | Finding, right: Decimal | Finding, text: str
) -> Decimal | Finding:
    if isinstance(left, Finding) or isinstance(right, Finding):
        return trouble(left, right)
    if sign is Sign.OVER:
        return divided(left, right, text)
    return bounded(_OPERATIONS[sign](left, right), text)


_OPERATIONS: Final[Mapping[Sign, Callable[[Decimal, Decimal], Decimal]]] = {
    Sign.PLUS: CONTEXT.add,
    Sign.MINUS: CONTEXT.subtract,
    Sign.TIMES: CONTEXT.multiply,
}
