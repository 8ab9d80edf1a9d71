"""Classification of fields: a table for empty sides, one rule for two values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fieldmark.model.comparison import Comparison
from fieldmark.model.json import JsonValue, Kind, Missing, kind_of
from fieldmark.model.outcome import Outcome, Presence, Reason, fact

_VALUE: Final = Presence.VALUE
_OUTCOMES: Final = {
    (True, True): Outcome.ERROR,
    (True, False): Outcome.OMISSION,
    (False, True): Outcome.HALLUCINATION,
    (False, False): Outcome.BOTH_EMPTY,
}
"""The outcome by whether the expected and the candidate value are present."""

PRESENCE_FACTS: Final = tuple(
    tuple(
        fact(_OUTCOMES[expected is _VALUE, candidate is _VALUE], expected, candidate)
        for candidate in Presence
    )
    for expected in Presence
)
"""The fact by the presence of the expected and of the candidate value.

For two values it is an error until a comparator has decided.
"""

IGNORED_FACTS: Final = tuple(
    tuple(fact(Outcome.IGNORED, expected, candidate) for candidate in Presence)
    for expected in Presence
)

VALUE_FACTS: Final = tuple(fact(outcome, _VALUE, _VALUE) for outcome in Outcome)
"""The fact for every outcome of two values."""

MATCH_FACT: Final = VALUE_FACTS[Outcome.MATCH]


def outcome_of_values(comparison: Comparison, expected: JsonValue, candidate: JsonValue) -> Outcome:
    """Return the outcome of two non-empty values, given the result of their comparator."""
    if comparison.failed:
        return Outcome.ERROR
    if comparison.matched:
        return Outcome.MATCH
    if comparison.wrong_kind or kind_of(expected) is not kind_of(candidate):
        return Outcome.FORMAT_ERROR
    return Outcome.WRONG_VALUE


def wrong_container(value: JsonValue, needed: Kind) -> Comparison:
    """Return why fields inside a list or an object are missing: another type is in its place.

    >>> wrong_container("n/a", Kind.ARRAY).note
    'string where a list belongs'
    """
    kind = kind_of(value)
    name = "list" if kind is Kind.ARRAY else kind.value
    if needed is Kind.ARRAY:
        return Comparison.differs(Reason.NOT_A_LIST, note=f"{name} where a list belongs")
    return Comparison.differs(Reason.NOT_AN_OBJECT, note=f"{name} where an object belongs")


def acceptable(
    expected: JsonValue | Missing,
    candidate: Presence,
    presence: Callable[[JsonValue | Missing], Presence],
) -> tuple[JsonValue | Missing, Presence]:
    """Return the non-empty acceptable values, and the presence of the truth as a whole.

    If an empty value is acceptable too, the truth counts as null for an empty candidate.
    """
    if not isinstance(expected, list):
        return expected, presence(expected)
    values: list[JsonValue] = [v for v in expected if presence(v) is Presence.VALUE]
    if not values:
        return expected, Presence.BLANK
    if candidate is not Presence.VALUE and len(values) < len(expected):
        return expected, Presence.NULL
    return values, Presence.VALUE
