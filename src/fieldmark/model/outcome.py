"""The outcome of a field, as a fact and never as a count.

An outcome and both presences fit into seven bits: a *fact*. Prefixed with the number of its
attribute, a fact becomes a *cell*, one integer per field, and a case is a list of cells. Counting
then means counting equal integers, at any scale.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

__all__ = [
    "CELL_BITS",
    "FACTS",
    "FACT_MASK",
    "Fact",
    "Outcome",
    "Presence",
    "Reason",
    "fact",
    "fact_of",
]


class Presence(IntEnum):
    """Whether a value is present. The first three are *empty*."""

    ABSENT = 0
    NULL = 1
    BLANK = 2
    VALUE = 3


class Outcome(IntEnum):
    """The outcome of one field of one case."""

    MATCH = 0
    WRONG_VALUE = 1
    FORMAT_ERROR = 2
    OMISSION = 3
    HALLUCINATION = 4
    BOTH_EMPTY = 5
    IGNORED = 6
    ERROR = 7

    @property
    def label(self) -> str:
        """The name in files and reports."""
        return self.name.lower()


class Reason(StrEnum):
    """Why a field is not a plain match. The codes are stable; their text is not."""

    MISSING = "missing"
    NULL_VALUE = "null_value"
    BLANK_VALUE = "blank_value"
    UNEXPECTED_VALUE = "unexpected_value"
    TYPE_MISMATCH = "type_mismatch"
    NOT_A_LIST = "not_a_list"
    NOT_AN_OBJECT = "not_an_object"
    DIFFERENT = "different"
    BELOW_THRESHOLD = "below_threshold"
    GUARD_FAILED = "guard_failed"
    OUTSIDE_TOLERANCE = "outside_tolerance"
    INVALID_NUMBER = "invalid_number"
    UNPARSEABLE_DATE = "unparseable_date"
    NOT_A_BOOLEAN = "not_a_boolean"
    UNPARSEABLE = "unparseable"
    INVALID_SHAPE = "invalid_shape"
    INVALID_POINT = "invalid_point"
    DIMENSION_MISMATCH = "dimension_mismatch"
    NOT_CONTAINED = "not_contained"
    NO_PATTERN_MATCH = "no_pattern_match"
    NONE_ACCEPTABLE = "none_acceptable"
    INVALID_PATH = "invalid_path"
    NO_EXPECTED_VALUE = "no_expected_value"
    PARSE_ERROR = "parse_error"
    TOO_LONG = "too_long"
    TOO_MANY_ITEMS = "too_many_items"
    TIMED_OUT = "timed_out"
    PROVIDER_FAILED = "provider_failed"
    NOT_RECORDED = "not_recorded"
    CRASHED = "crashed"


class Fact(NamedTuple):
    """One outcome with the presence of both sides."""

    outcome: Outcome
    expected: Presence
    candidate: Presence


CELL_BITS: Final = 7
"""A cell is `attribute << CELL_BITS | fact`."""

FACT_MASK: Final = (1 << CELL_BITS) - 1
"""The bits of a cell that contain its fact."""


def fact(outcome: Outcome, expected: Presence, candidate: Presence) -> int:
    """Return the seven bits of an outcome and both presences."""
    return outcome << 4 | expected << 2 | candidate


FACTS: Final = tuple(
    Fact(Outcome(code >> 4), Presence(code >> 2 & 3), Presence(code & 3))
    for code in range(1 << CELL_BITS)
)
"""Every fact, indexed by its code."""


def fact_of(cell: int) -> Fact:
    """Return the fact of a cell."""
    return FACTS[cell & FACT_MASK]
