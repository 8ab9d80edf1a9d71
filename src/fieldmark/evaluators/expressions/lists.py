"""Lists inside expressions, and the figures that are drawn from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final, Protocol, TypeAlias

from fieldmark.evaluators.expressions.amounts import CONTEXT, as_amount, bounded, divided
from fieldmark.evaluators.expressions.findings import (
    Finding,
    Scope,
    Value,
    fault,
    not_applicable,
    trouble,
)
from fieldmark.evaluators.expressions.operands import Field, Operand, amount_of
from fieldmark.evaluators.expressions.places import Element, Elements, present
from fieldmark.evaluators.expressions.wording import described
from fieldmark.model.json import MISSING

__all__ = ["FIGURES", "Count", "EachItem", "Figure", "Listed", "Source", "at_item", "items_of"]


class Source(Protocol):
    """Where the values of a list come from."""

    @property
    def text(self) -> str:
        """The source as it was written."""
        ...

    def elements(self, scope: Scope) -> Elements | Finding:
        """The values, or why there is no list."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The values of one list, or of several operands put together."""

    text: str
    operands: tuple[Operand, ...]

    def elements(self, scope: Scope) -> Elements | Finding:
        """All values in the order in which they were written."""
        if len(self.operands) == 1:
            return items_of(self.operands[0], scope)
        values: list[Value | Finding] = []
        names: list[str] = []
        for operand in self.operands:
            value = operand.value(scope)
            inner = items_of(operand, scope) if isinstance(value, list) else None
            if isinstance(inner, Elements):
                values += [present(inner.named(i), each) for i, each in enumerate(inner.values)]
                names += map(inner.named, range(len(inner.values)))
            else:
                values.append(value)
                names.append(operand.text)
        return Elements([*values], names.__getitem__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EachItem:
    """What an operand is for each item of a list; inside it, paths begin at the item."""

    text: str
    items: Field
    operand: Operand
    cost: int

    def elements(self, scope: Scope) -> Elements | Finding:
        """One value for each item."""
        found = items_of(self.items, scope)
        if isinstance(found, Finding):
            return found
        scope.spend(self.cost * len(found.values))
        values = [self._of(item, scope) for item in found.values]
        for place, value in enumerate(values):
            if isinstance(value, Finding) and not isinstance(found.values[place], Finding):
                values[place] = at_item(found.named(place), value)
        return Elements([*values], found.named)

    def _of(self, item: Element, scope: Scope) -> Value | Finding:
        if isinstance(item, Finding):
            return item
        return self.operand.value(scope.within(item))  # type: ignore[arg-type] # items are JSON


def at_item(name: str, finding: Finding) -> Finding:
    """What was found at one item, with its name before the reason."""
    return finding._replace(reason=f"{name}: {finding.reason}")


def items_of(operand: Operand, scope: Scope) -> Elements | Finding:
    """The items of an operand that is a list, whether it was written with `[]` or without."""
    if isinstance(operand, Field) and operand.place.many:
        return operand.place.elements(scope)
    value = operand.value(scope)
    if isinstance(value, Finding):
        return value
    if not isinstance(value, list):
        return fault(f"{operand.text} is {described(value)}, not a list")
    scope.spend(len(value))
    return Elements([*value], lambda place: f"{operand.text}[{place}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many values of a list are there."""

    text: str
    source: Source

    def value(self, scope: Scope) -> Value | Finding:
        """The number of values that are neither absent nor null nor blank."""
        found = self.source.elements(scope)
        if isinstance(found, Finding):
            return found
        return Decimal(sum(not isinstance(present("", each), Finding) for each in found.values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number for all numbers of a list: `sum`, `avg`, `min` or `max`."""

    text: str
    name: str
    source: Source

    def value(self, scope: Scope) -> Value | Finding:
        """The figure; one value that is missing, or no number, leaves none."""
        found = self.source.elements(scope)
        if isinstance(found, Finding):
            return found
        days = [each for each in found.values if isinstance(each, date)]
        if days and len(days) == len(found.values) and self.name in _OF_DATES:
            return _OF_DATES[self.name](days)
        amounts = [_amount(found, place) for place in range(len(found.values))]
        numbers = [each for each in amounts if isinstance(each, Decimal)]
        if len(numbers) < len(amounts):
            return trouble(*amounts)
        if not numbers and self.name != "sum":
            return not_applicable(f"{self.source.text} is empty")
        return FIGURES[self.name](numbers, self.text)


def _amount(found: Elements, place: int) -> Decimal | Finding:
    """The number at a place of a list; its name is only made up where it is needed."""
    value = found.values[place]
    number = None if isinstance(value, Finding) or value is MISSING else as_amount(value)
    if number is not None:
        return number
    name = found.named(place)
    return amount_of(name, present(name, value))


def _sum(numbers: Sequence[Decimal], text: str) -> Decimal | Finding:
    total = Decimal(0)
    for number in numbers:
        total = CONTEXT.add(total, number)
    return bounded(total, text)


def _mean(numbers: Sequence[Decimal], text: str) -> Decimal | Finding:
    total = _sum(numbers, text)
    return total if isinstance(total, Finding) else divided(total, Decimal(len(numbers)), text)


_Figure: TypeAlias = Callable[[Sequence[Decimal], str], Decimal | Finding]
FIGURES: Final[Mapping[str, _Figure]] = {
    "sum": _sum,
    "avg": _mean,
    "min": lambda numbers, _: min(numbers),
    "max": lambda numbers, _: max(numbers),
}
_OF_DATES: Final[Mapping[str, Callable[[Sequence[date]], date]]] = {"min": min, "max": max}
