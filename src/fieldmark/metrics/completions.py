"""How the failed fields of a case might have turned out: the completions that bound its metrics.

A comparison that failed has no outcome. The metrics of a run leave its case out, and their bounds
are the least and greatest metrics over the completions of all failed cases. Only failed fields
differ between completions: all are right, or all are wrong in the same way. A prediction that could
not be produced has at most as many extra fields as there are expected ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Fact, Outcome, Presence, fact
from fieldmark.model.outcomes import Outcomes


class Completion(StrEnum):
    """What every failed field of a case is taken for."""

    RIGHT = "right"
    WRONG_VALUE = "wrong_value"
    WRONG_TYPE = "wrong_type"
    MISSING = "missing"
    EXTRA = "extra"
    """Without a prediction: every expected field is missing, and as many others are extra."""


_COMPARED: Final[Mapping[Completion, int]] = {
    Completion.RIGHT: fact(Outcome.MATCH, Presence.VALUE, Presence.VALUE),
    Completion.WRONG_VALUE: fact(Outcome.WRONG_VALUE, Presence.VALUE, Presence.VALUE),
    Completion.WRONG_TYPE: fact(Outcome.FORMAT_ERROR, Presence.VALUE, Presence.VALUE),
    # A value that the candidate has is not missing.
    Completion.MISSING: fact(Outcome.WRONG_VALUE, Presence.VALUE, Presence.VALUE),
    Completion.EXTRA: fact(Outcome.WRONG_VALUE, Presence.VALUE, Presence.VALUE),
}
_OMITTED: Final = fact(Outcome.OMISSION, Presence.VALUE, Presence.ABSENT)
_EXPECTED_ONLY: Final = {
    **_COMPARED,
    Completion.MISSING: _OMITTED,
    Completion.EXTRA: _OMITTED,
}
_EXTRA: Final = fact(Outcome.HALLUCINATION, Presence.ABSENT, Presence.VALUE)
_EMPTY: Final = frozenset({Completion.RIGHT, Completion.MISSING})
"""The completions without a value where none is expected."""


def _completed(failed: Fact, completion: Completion) -> int:
    """Return the fact that takes the place of a failed one."""
    if failed.expected is Presence.VALUE:
        table = _COMPARED if failed.candidate is Presence.VALUE else _EXPECTED_ONLY
        return table[completion]
    if completion in _EMPTY:
        return fact(Outcome.BOTH_EMPTY, failed.expected, Presence.ABSENT)
    return fact(Outcome.HALLUCINATION, failed.expected, Presence.VALUE)


_TABLES: Final[Mapping[Completion, Mapping[int, int]]] = {
    completion: {
        code: _completed(each, completion)
        for code, each in enumerate(FACTS)
        if each.outcome is Outcome.ERROR
    }
    for completion in Completion
}
"""By completion: the fact that takes the place of each failed one."""
_FAILED: Final = frozenset(_TABLES[Completion.RIGHT])
_WITHOUT_CANDIDATE: Final = frozenset(
    code for code, taken in _TABLES[Completion.EXTRA].items() if taken == _OMITTED
)
"""The failed facts of expected values without a candidate."""

_UNKNOWN: Final[Mapping[int, int]] = {
    code: fact(Outcome.ERROR, each.expected, Presence.ABSENT)
    for code, each in enumerate(FACTS)
    if each.outcome in {Outcome.OMISSION, Outcome.BOTH_EMPTY}
}
"""The outcome of each field without a candidate, if none could be produced."""


def completed(outcomes: Outcomes, completion: Completion) -> Outcomes:
    """Return the outcomes of a case with an outcome for each failed field.

    >>> failed = fact(Outcome.ERROR, Presence.VALUE, Presence.VALUE)
    >>> wrong = completed(Outcomes([failed]), Completion.WRONG_VALUE)
    >>> wrong.cells == [fact(Outcome.WRONG_VALUE, Presence.VALUE, Presence.VALUE)]
    True
    """
    table, cells = _TABLES[completion], outcomes.cells
    comparisons = {
        position: comparison
        for position, comparison in outcomes.comparisons.items()
        if cells[position] & FACT_MASK not in _FAILED
    }
    taken = _mapped(cells, table)
    if completion is Completion.EXTRA:
        taken += [
            cell >> CELL_BITS << CELL_BITS | _EXTRA
            for cell in cells
            if cell & FACT_MASK in _WITHOUT_CANDIDATE
        ]
    return Outcomes(taken, comparisons, outcomes.items, fallback=outcomes.fallback)


def without_candidate(outcomes: Outcomes) -> Outcomes:
    """Return the outcomes of a case whose candidate could not be produced: every field failed.

    `outcomes` are the outcomes of its ground truth without a candidate.
    """
    return Outcomes(_mapped(outcomes.cells, _UNKNOWN), {}, outcomes.items)


def failed_cells(outcomes: Outcomes) -> list[int]:
    """Return the cells of the failed fields."""
    return [cell for cell in outcomes.cells if cell & FACT_MASK in _FAILED]


def _mapped(cells: list[int], table: Mapping[int, int]) -> list[int]:
    return [
        cell >> CELL_BITS << CELL_BITS | table.get(cell & FACT_MASK, cell & FACT_MASK)
        for cell in cells
    ]
