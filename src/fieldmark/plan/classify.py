"""What happened to a field: one table for empty sides, one rule for two values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fieldmark.model.comparison import Comparison
from fieldmark.model.json import JsonValue, Missing, kind_of
from fieldmark.model.outcome import Outcome, Presence, fact

__all__ = [
    "FACT_OF_PRESENCES",
    "IGNORED_FACTS",
    "LOST",
    "MATCH_FACT",
    "NULLED",
    "VALUE_FACTS",
    "acceptable",
    "outcome_of_values",
]

_ALL = tuple(Presence)
_VALUE: Final = Presence.VALUE


def _fact_of(expected: Presence, candidate: Presence) -> int:
    """The fact of two presences; of two values it is what no comparator has confirmed yet."""
    if expected is not _VALUE and candidate is not _VALUE:
        return fact(Outcome.BOTH_EMPTY, expected, candidate)
    if expected is _VALUE and candidate is not _VALUE:
        return fact(Outcome.OMISSION, expected, candidate)
    if expected is not _VALUE:
        return fact(Outcome.HALLUCINATION, expected, candidate)
    return fact(Outcome.ERROR, expected, candidate)


FACT_OF_PRESENCES: Final = tuple(tuple(_fact_of(e, c) for c in _ALL) for e in _ALL)
"""What happened, by the presence of the expected and then of the candidate value."""

LOST: Final = FACT_OF_PRESENCES[_VALUE][Presence.ABSENT]
NULLED: Final = FACT_OF_PRESENCES[_VALUE][Presence.NULL]

IGNORED_FACTS: Final = tuple(tuple(fact(Outcome.IGNORED, e, c) for c in _ALL) for e in _ALL)

VALUE_FACTS: Final = tuple(fact(outcome, _VALUE, _VALUE) for outcome in Outcome)
"""The fact of every outcome when both sides hold a value."""

MATCH_FACT: Final = VALUE_FACTS[Outcome.MATCH]


def outcome_of_values(comparison: Comparison, expected: JsonValue, candidate: JsonValue) -> Outcome:
    """What happened to two non-empty values, given what the comparator says of them."""
    if comparison.failed:
        return Outcome.ERROR
    if comparison.matched:
        return Outcome.MATCH
    if comparison.wrong_kind or kind_of(expected) is not kind_of(candidate):
        return Outcome.FORMAT_ERROR
    return Outcome.WRONG_VALUE


def acceptable(
    expected: JsonValue | Missing,
    candidate: Presence,
    presence: Callable[[JsonValue | Missing], Presence],
) -> tuple[JsonValue | Missing, Presence]:
    """The non-empty answers among several acceptable ones, and whether there are any.

    Where an empty answer is among the acceptable ones, an empty candidate finds an empty truth.
    """
    if not isinstance(expected, list):
        return expected, presence(expected)
    answers: list[JsonValue] = [v for v in expected if presence(v) is Presence.VALUE]
    if not answers:
        return expected, Presence.BLANK
    if candidate is not Presence.VALUE and len(answers) < len(expected):
        return expected, Presence.NULL
    return answers, Presence.VALUE
