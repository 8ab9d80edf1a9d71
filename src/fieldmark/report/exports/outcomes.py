"""Every field of a case as one flat row, the same for every form that lists fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from fieldmark.evaluators.hits_and_misses import mismatch_reason
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.outcome import Outcome, Presence
from fieldmark.model.outcomes import FieldOutcome
from fieldmark.values.paths import ROOT, resolve
from fieldmark.wire.case_result import CaseResult

__all__ = ["MISTAKES", "VALUES", "OutcomeRow", "outcome_rows"]

MISTAKES: Final = frozenset(
    {
        Outcome.WRONG_VALUE.label,
        Outcome.FORMAT_ERROR.label,
        Outcome.OMISSION.label,
        Outcome.HALLUCINATION.label,
        Outcome.ERROR.label,
    }
)
"""Outcomes that someone has to look at."""

VALUES: Final = ("expected", "candidate", "note")
"""The columns that may quote a document."""

_SCORED: Final = frozenset({Outcome.MATCH, Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR})
_LABELS: Final = {outcome: outcome.label for outcome in Outcome}
_PRESENCES: Final = {presence: presence.name.lower() for presence in Presence}
_FLAGS: Final = ("coerced", "ambiguous", "approximate")


class OutcomeRow(NamedTuple):
    """One field of one case; an item that was aligned may stand elsewhere in the candidate."""

    case_id: str
    path: str
    candidate_path: str
    attribute: str
    outcome: str
    expected_presence: str
    candidate_presence: str
    score: float | None
    similarity: float | None
    reason: str | None
    comparator: str
    weight: float
    required: bool
    flags: str
    expected: JsonValue | Missing = MISSING
    candidate: JsonValue | Missing = MISSING
    note: str = ""


def outcome_rows(case: CaseResult) -> Iterator[OutcomeRow]:
    """The fields of a case in the order of the walk."""
    for record in case.outcomes.records(case.attributes):
        rule = case.attributes.attributes[record.attribute]
        said = record.comparison
        reason = mismatch_reason(record)
        flags = [] if said is None else [name for name in _FLAGS if getattr(said, name)]
        yield OutcomeRow(
            case.id,
            record.path,
            record.candidate_path,
            rule.path,
            _LABELS[record.outcome],
            _PRESENCES[record.expected_presence],
            _PRESENCES[record.candidate_presence],
            _score(record),
            None if said is None else said.similarity,
            None if reason is None else reason.value,
            rule.comparator,
            rule.weight,
            rule.required,
            " ".join(flags),
            _value(case.expected, record.path, record.expected_presence),
            _value(case.candidate, record.candidate_path, record.candidate_presence),
            "" if said is None else said.note,
        )


def _score(record: FieldOutcome) -> float | None:
    """What a field earned; where there was nothing to compare, nothing is said."""
    if record.outcome not in _SCORED:
        return None
    if record.comparison is not None:
        return record.comparison.score
    return float(record.outcome is Outcome.MATCH)


def _value(document: JsonValue | Missing, path: str, presence: Presence) -> JsonValue | Missing:
    if document is MISSING or presence is Presence.ABSENT:
        return MISSING
    return document if path == ROOT else resolve(document, path)
