"""What holds or does not: comparisons, questions of presence, and how they are joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol, runtime_checkable

from fieldmark.compare.regex import Regex
from fieldmark.evaluators.expressions.comparing import (
    Margin,
    Relation,
    Said,
    compared,
    same,
    weight_of,
)
from fieldmark.evaluators.expressions.findings import (
    HOLDS,
    Finding,
    Scope,
    Truth,
    every,
    fault,
    not_applicable,
    some,
    trouble,
    unmet,
)
from fieldmark.evaluators.expressions.operands import Field, Operand
from fieldmark.evaluators.expressions.wording import ABSENCES, described, shown
from fieldmark.model.outcome import Presence
from fieldmark.values.presence import presence

__all__ = [
    "Choice",
    "Compared",
    "Condition",
    "Fixed",
    "Joined",
    "Joint",
    "Matching",
    "Negated",
    "OneOf",
    "Trusted",
]


@runtime_checkable
class Condition(Protocol):
    """A part of an expression that holds or does not, and the text that it was written as."""

    @property
    def text(self) -> str:
        """The part as it was written."""
        ...

    def find(self, scope: Scope) -> Finding:
        """Whether it holds, and if not, why."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """`true` or `false` where a condition is wanted."""

    text: str
    holds: bool

    def find(self, scope: Scope) -> Finding:  # noqa: ARG002 - the same in every scope
        """What it says."""
        return HOLDS if self.holds else unmet("it is false")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trusted:
    """A path where a condition is wanted: its boolean, or else whether a value is there."""

    text: str
    field: Field

    def find(self, scope: Scope) -> Finding:
        """Whether the value is true, or is there and no boolean."""
        value = self.field.place.read(scope)
        state = presence(value)
        if state is not Presence.VALUE:
            return unmet(f"{self.text} is {ABSENCES[state]}")
        return unmet(f"{self.text} is false") if value is False else HOLDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two operands and the relation in which they must stand."""

    text: str
    left: Operand
    relation: Relation
    right: Operand
    margin: Margin | None = None

    def find(self, scope: Scope) -> Finding:
        """Whether they do."""
        left, right = self.left.value(scope), self.right.value(scope)
        if isinstance(left, Finding) or isinstance(right, Finding):
            return trouble(left, right)
        weight_of(left, scope)
        weight_of(right, scope)
        said = Said(self.left.text, left), Said(self.right.text, right)
        return compared(self.relation, *said, self.margin)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """A value that must be among others; `empty` says that none at all will do too."""

    text: str
    operand: Operand
    choices: Operand | tuple[Operand, ...]
    empty: bool = False

    def find(self, scope: Scope) -> Finding:
        """Whether it is among them."""
        value = self.operand.value(scope)
        if isinstance(value, Finding):
            absent = value.truth is Truth.NOT_APPLICABLE
            return HOLDS if self.empty and absent else value
        if isinstance(self.choices, tuple):
            choices = [choice.value(scope) for choice in self.choices]
        else:
            listed = self.choices.value(scope)
            if isinstance(listed, Finding):
                return listed
            if not isinstance(listed, list):
                return fault(f"{self.choices.text} is {described(listed)}, not a list")
            weight_of(listed, scope)
            choices = [*listed]
        if any(not isinstance(choice, Finding) and same(value, choice) for choice in choices):
            return Finding(Truth.TRUE, "", value)
        return Finding(Truth.FALSE, f"{shown(value)} is not one of them", value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """A text that must follow a pattern from its beginning to its end."""

    text: str
    operand: Operand
    regex: Regex

    def find(self, scope: Scope) -> Finding:
        """Whether it does."""
        value = self.operand.value(scope)
        if isinstance(value, Finding):
            return value
        if not isinstance(value, str):
            return fault(f"{self.operand.text} is {described(value)}, not a text")
        weight_of(value, scope)
        comparison = self.regex.compare("", value)
        if comparison.matched:
            return Finding(Truth.TRUE, "", value)
        if comparison.note:
            return fault(f"{self.operand.text}: {comparison.note}")
        return Finding(Truth.FALSE, f"{shown(value)} does not match", value)


class Joint(StrEnum):
    """How conditions are joined."""

    AND = "and"
    OR = "or"


_JOINTS: Final[Mapping[Joint, Callable[[list[Finding]], Finding]]] = {
    Joint.AND: every,
    Joint.OR: some,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Conditions of which all, or at least one, must hold."""

    text: str
    joint: Joint
    conditions: tuple[Condition, ...]

    def find(self, scope: Scope) -> Finding:
        """Whether they do."""
        return _JOINTS[self.joint]([condition.find(scope) for condition in self.conditions])


@dataclass(frozen=True, slots=True, kw_only=True)
class Negated:
    """A condition that must not hold; what cannot be answered stays unanswered.

    `because` says of the value what it is but must not be.
    """

    text: str
    condition: Condition
    because: str = ""

    def find(self, scope: Scope) -> Finding:
        """Whether it does not."""
        finding = self.condition.find(scope)
        if finding.truth is Truth.TRUE:
            said = f"{shown(finding.left)} {self.because}" if self.because else ""
            reason = said or f"{self.condition.text} holds"
            return finding._replace(truth=Truth.FALSE, reason=reason)
        if finding.truth is Truth.FALSE:
            return finding._replace(truth=Truth.TRUE, reason="")
        return finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A condition that is only asked for if another one holds, and perhaps one for the rest."""

    text: str
    premise: Condition
    then: Condition
    otherwise: Condition | None = None

    def find(self, scope: Scope) -> Finding:
        """What the branch says that the premise leads to; without a branch nothing applies."""
        premise = self.premise.find(scope)
        if premise.truth is Truth.TRUE:
            return self.then.find(scope)
        if premise.truth is not Truth.FALSE:
            return premise
        if self.otherwise is not None:
            return self.otherwise.find(scope)
        return not_applicable(f"{self.premise.text} does not hold")
