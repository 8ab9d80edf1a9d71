"""Mistakes by type: omission, hallucination, wrong type, wrong value."""

from __future__ import annotations

from collections.abc import Mapping
from operator import add
from typing import Final, NamedTuple

from fieldmark.metrics.counts import Histogram, sum_rows
from fieldmark.model.outcome import FACTS, Outcome

__all__ = ["ERROR_TABLE", "ErrorCounts", "errors_by_type", "truth_fields"]


class ErrorCounts(NamedTuple):
    """How many mistakes there are of each type. `+` adds two of them field by field."""

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
        """All mistakes; a field has at most one."""
        return sum(self)


_NOTHING: Final = ErrorCounts()
_BY_OUTCOME: Final[Mapping[Outcome, ErrorCounts]] = {
    Outcome.OMISSION: ErrorCounts(omission=1),
    Outcome.HALLUCINATION: ErrorCounts(hallucination=1),
    Outcome.FORMAT_ERROR: ErrorCounts(format_error=1),
    Outcome.WRONG_VALUE: ErrorCounts(wrong_value=1),
}

ERROR_TABLE: Final = tuple(_BY_OUTCOME.get(fact.outcome, _NOTHING) for fact in FACTS)
"""The mistake of every fact, by its code."""


def errors_by_type(facts: Histogram) -> ErrorCounts:
    """The mistakes among some facts."""
    return ErrorCounts(*sum_rows(facts, ERROR_TABLE))


def truth_fields(correct: int, errors: ErrorCounts) -> int:
    """The number of non-empty fields of the ground truth."""
    return correct + errors.omission + errors.format_error + errors.wrong_value
