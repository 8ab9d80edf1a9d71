"""What became of a condition: it holds or not, its values are of the wrong kind, or not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from fieldmark.model.json import MISSING, JsonValue, Missing

__all__ = [
    "HOLDS",
    "MOST_STEPS",
    "Finding",
    "Scope",
    "TooManySteps",
    "Truth",
    "Value",
    "every",
    "fault",
    "not_applicable",
    "some",
    "trouble",
    "unmet",
]

Value: TypeAlias = JsonValue | Decimal | date
"""What an operand may stand for."""

MOST_STEPS: Final = 2_000_000
"""Enough to pass over a large document, and too few to do so again for each of its items."""


class TooManySteps(Exception):
    """A constraint over a document that would take too long to check."""


class Truth(StrEnum):
    """The answers that a condition may give."""

    TRUE = "true"
    FALSE = "false"
    FAULT = "fault"
    NOT_APPLICABLE = "not_applicable"


class Finding(NamedTuple):
    """An answer, why it is not simply yes, and the two values that it was drawn from."""

    truth: Truth
    reason: str = ""
    left: Value | Missing = MISSING
    right: Value | Missing = MISSING


HOLDS: Final = Finding(Truth.TRUE)

# Whoever joins conditions takes the answer that stands first here. A fault never becomes a yes by
# being joined or negated, and what does not apply never decides where something else does.
_FOR_EVERY: Final[Mapping[Truth, int]] = {
    Truth.FALSE: 0,
    Truth.FAULT: 1,
    Truth.NOT_APPLICABLE: 2,
    Truth.TRUE: 3,
}
_FOR_SOME: Final[Mapping[Truth, int]] = {
    Truth.TRUE: 0,
    Truth.FAULT: 1,
    Truth.NOT_APPLICABLE: 2,
    Truth.FALSE: 3,
}


def every(findings: Iterable[Finding]) -> Finding:
    """The answer of conditions joined by `and`.

    >>> every([HOLDS, not_applicable("a is missing")]).truth
    <Truth.NOT_APPLICABLE: 'not_applicable'>
    """
    return min(findings, key=lambda finding: _FOR_EVERY[finding.truth])


def some(findings: Iterable[Finding]) -> Finding:
    """The answer of conditions joined by `or`."""
    return min(findings, key=lambda finding: _FOR_SOME[finding.truth])


def unmet(reason: str) -> Finding:
    """A condition that does not hold."""
    return Finding(Truth.FALSE, reason)


def fault(reason: str) -> Finding:
    """Values with which the question makes no sense."""
    return Finding(Truth.FAULT, reason)


def not_applicable(reason: str) -> Finding:
    """Values that are not there, so that there is nothing to ask."""
    return Finding(Truth.NOT_APPLICABLE, reason)


def trouble(*values: object) -> Finding:
    """The trouble with values of which one is in trouble; a fault comes before what is missing."""
    return every(value for value in values if isinstance(value, Finding))


class Scope:
    """The documents that paths look into, the item at hand, and the steps that are left."""

    __slots__ = ("_steps", "candidate", "expected", "item")

    def __init__(
        self,
        expected: JsonValue,
        candidate: JsonValue,
        item: JsonValue,
        steps: list[int] | None = None,
    ) -> None:
        self.expected = expected
        self.candidate = candidate
        self.item = item
        self._steps = [MOST_STEPS] if steps is None else steps

    def within(self, item: JsonValue) -> Scope:
        """The same scope, with paths that begin at an item."""
        return Scope(self.expected, self.candidate, item, self._steps)

    def spend(self, steps: int) -> None:
        """Take steps from those that are left."""
        self._steps[0] -= steps
        if self._steps[0] < 0:
            raise TooManySteps
