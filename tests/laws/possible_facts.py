"""The facts that can be recorded about a field: outcomes that fit the presence of both sides."""

from __future__ import annotations

from fieldmark.model.outcome import FACTS, Outcome, Presence

__all__ = ["IGNORED", "POSSIBLE"]

BETWEEN_VALUES = {Outcome.MATCH, Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR, Outcome.ERROR}
BY_PRESENCE = {
    (True, True): BETWEEN_VALUES,
    (True, False): {Outcome.OMISSION},
    (False, True): {Outcome.HALLUCINATION},
    (False, False): {Outcome.BOTH_EMPTY},
}


def is_possible(fact):
    sides = fact.expected is Presence.VALUE, fact.candidate is Presence.VALUE
    return fact.outcome in BY_PRESENCE[sides]


POSSIBLE = [code for code, fact in enumerate(FACTS) if is_possible(fact)]
IGNORED = [code for code, fact in enumerate(FACTS) if fact.outcome is Outcome.IGNORED]
