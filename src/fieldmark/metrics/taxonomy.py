"""Mistakes by type: omission, hallucination, wrong type, wrong value."""

from __future__ import annotations

from collections.abc import Mapping
from operator import add
from typing import Final, NamedTuple

from fieldmark.model.outcome import FACTS, Outcome


class ErrorCounts(NamedTuple):
    """The number of mistakes of each type; `+` adds them type by type."""

    omission: int = 0
    hallucination: int = 0
    format_error: int = 0
    wrong_value: int = 0

    def __add__(self, other: object) -> ErrorCounts:
        if not isinstance(other, ErrorCounts):
            return NotImplemented
        return ErrorCounts(*map(add, self, other))

    @property
    def total(self) -> int:
        """The number of all mistakes; a field has at most one."""
        return sum(self)


_NOTHING: Final = ErrorCounts()
_BY_OUTCOME: Final[Mapping[Outcome, ErrorCounts]] = {
    Outcome.OMISSION: ErrorCounts(omission=1),
    Outcome.HALLUCINATION: ErrorCounts(hallucination=1),
    Outcome.FORMAT_ERROR: ErrorCounts(format_error=1),
    Outcome.WRONG_VALUE: ErrorCounts(wrong_value=1),
}
MISTAKES: Final = frozenset(_BY_OUTCOME)
"""The outcomes that are mistakes."""

ERROR_TABLE: Final = tuple(_BY_OUTCOME.get(fact.outcome, _NOTHING) for fact in FACTS)
"""The mistake of every fact, indexed by its code."""


def truth_fields(correct: int, errors: ErrorCounts) -> int:
    """Return the number of non-empty fields in the ground truth."""
    return correct + errors.omission + errors.format_error + errors.wrong_value
