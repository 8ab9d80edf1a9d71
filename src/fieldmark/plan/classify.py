"""What happened to a field: one table for empty sides, one rule for two values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fieldmark.model.comparison import Comparison
from fieldmark.model.json import JsonValue, Missing, kind_of
from fieldmark.model.outcome import Outcome, Presence, fact

__all__ = [
    "EMPTY_FACTS",
    "IGNORED_FACTS",
    "MATCH_FACT",
    "VALUE_FACTS",
    "acceptable",
    "outcome_of_values",
]

_EMPTY = (Presence.ABSENT, Presence.NULL, Presence.BLANK)
_ALL = tuple(Presence)

EMPTY_FACTS: Final[dict[tuple[Presence, Presence], int]] = {
    **{(e, c): fact(Outcome.BOTH_EMPTY, e, c) for e in _EMPTY for c in _EMPTY},
    **{(e, Presence.VALUE): fact(Outcome.HALLUCINATION, e, Presence.VALUE) for e in _EMPTY},
    **{(Presence.VALUE, c): fact(Outcome.OMISSION, Presence.VALUE, c) for c in _EMPTY},
}
"""The fact of every pair of presences of which at least one is empty."""

IGNORED_FACTS: Final[dict[tuple[Presence, Presence], int]] = {
    (e, c): fact(Outcome.IGNORED, e, c) for e in _ALL for c in _ALL
}

VALUE_FACTS: Final[dict[Outcome, int]] = {
    outcome: fact(outcome, Presence.VALUE, Presence.VALUE) for outcome in Outcome
}
"""The fact of every outcome when both sides hold a value."""

MATCH_FACT: Final = VALUE_FACTS[Outcome.MATCH]


def outcome_of_values(
    comparison: Comparison, expected: JsonValue, candidate: JsonValue
) -> Outcome:
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
