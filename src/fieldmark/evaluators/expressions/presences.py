"""Conditions about the values of a list, and about values being there at all."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from fieldmark.evaluators.expressions.amounts import CONTEXT
from fieldmark.evaluators.expressions.comparing import weight_of
from fieldmark.evaluators.expressions.conditions import Condition
from fieldmark.evaluators.expressions.findings import (
    HOLDS,
    Finding,
    Scope,
    Truth,
    Value,
    every,
    not_applicable,
    some,
    unmet,
)
from fieldmark.evaluators.expressions.lists import Source, at_item, items_of
from fieldmark.evaluators.expressions.operands import Field, Operand
from fieldmark.evaluators.expressions.places import Element, Elements, present
from fieldmark.evaluators.expressions.wording import described, shown
from fieldmark.model.json import MISSING
from fieldmark.values.canonical import typed_key

__all__ = ["Distinct", "Quantified", "Quantifier", "There"]


@dataclass(frozen=True, slots=True, kw_only=True)
class There:
    """A value that must be there, or with `wanted` false must not be.

    Of a path with `[]`, every value must be there and at least one, or none may be.
    """

    text: str
    field: Field
    wanted: bool

    def find(self, scope: Scope) -> Finding:
        """Whether it is as wanted; that a list is missing is an answer here, too."""
        place = self.field.place
        if not place.many:
            return self._answer(self.field.text, place.read(scope))
        found = place.elements(scope)
        if isinstance(found, Finding):
            return self._answer(self.field.text, found)
        if not found.values:
            return unmet(f"{self.field.text} is empty") if self.wanted else HOLDS
        answers = (self._answer(found.named(i), each) for i, each in enumerate(found.values))
        return every(answers)

    def _answer(self, name: str, value: Element) -> Finding:
        found = present(name, value)
        if not isinstance(found, Finding):
            return HOLDS if self.wanted else unmet(f"{name} is {described(found)}")
        if found.truth is Truth.FAULT:
            return found
        return unmet(found.reason) if self.wanted else HOLDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Distinct:
    """Values of a list of which no two may be equal; empty ones are no values."""

    text: str
    source: Source

    def find(self, scope: Scope) -> Finding:
        """Whether all are different."""
        found = self.source.elements(scope)
        if isinstance(found, Finding):
            return found
        seen: dict[Hashable, int] = {}
        for place, element in enumerate(found.values):
            value = present("", element)
            if isinstance(value, Finding):
                if value.truth is Truth.FAULT:
                    return value
                continue
            weight_of(value, scope)
            first = seen.setdefault(_key(value), place)
            if first != place:
                both = f"{found.named(first)} and {found.named(place)}"
                return unmet(f"{both} are both {shown(value)}")
        return HOLDS if seen else not_applicable(f"{self.source.text} has no values")


class Quantifier(StrEnum):
    """How many items a condition must hold for."""

    ALL = "all"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantified:
    """A condition that must hold for all items of a list, or for any; paths begin at the item.

    Items that it does not apply to are left out. Of no items at all, none fulfils it, and there
    is nothing that all of them could fulfil.
    """

    text: str
    quantifier: Quantifier
    items: Operand
    condition: Condition
    cost: int

    def find(self, scope: Scope) -> Finding:
        """Whether it holds for as many as it must; the first item that decides gives the reason."""
        found = items_of(self.items, scope)
        if isinstance(found, Finding):
            return found
        scope.spend(self.cost * len(found.values))
        answers = [self._answer(found, place, scope) for place in range(len(found.values))]
        applying = [each for each in answers if each.truth is not Truth.NOT_APPLICABLE]
        if self.quantifier is Quantifier.ANY:
            nobody = not_applicable(f"{self.items.text} has no item that it applies to")
            return _some_item(applying) if applying or not answers else nobody
        if applying:
            return _every_item(applying)
        return every(answers) if answers else not_applicable(f"{self.items.text} is empty")

    def _answer(self, found: Elements, place: int, scope: Scope) -> Finding:
        item = found.values[place]
        if isinstance(item, Finding):
            return item
        if item is MISSING:
            return not_applicable(f"{found.named(place)} is missing")
        # The items of a list are JSON.
        finding = self.condition.find(scope.within(item))  # type: ignore[arg-type]
        return HOLDS if finding.truth is Truth.TRUE else at_item(found.named(place), finding)


def _every_item(answers: list[Finding]) -> Finding:
    found = every(answers)
    bad = sum(answer.truth is not Truth.TRUE for answer in answers)
    if bad <= 1:
        return found
    return found._replace(reason=f"{found.reason}; {bad} of {len(answers)} items in all")


def _some_item(answers: list[Finding]) -> Finding:
    if not answers:
        return unmet("there are no items")
    best = some(answers)
    return unmet(f"no item of {len(answers)} does") if best.truth is Truth.FALSE else best


def _key(value: Value) -> Hashable:
    if isinstance(value, Decimal):
        return str(CONTEXT.normalize(value)).encode()
    return value.isoformat().encode() if isinstance(value, date) else typed_key(value)
