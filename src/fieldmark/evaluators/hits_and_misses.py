"""The hits and misses of a case, with the reason for each miss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from fieldmark.evaluators.base import UNREADABLE
from fieldmark.metrics.conventions import Convention, CountingOptions, OptionalMissing
from fieldmark.metrics.verdict import Mark, mark_table
from fieldmark.model.outcome import Outcome, Presence, Reason, fact
from fieldmark.model.outcomes import AttributeTable, FieldOutcome, Outcomes
from fieldmark.values.paths import ROOT

__all__ = [
    "EMPTY_REASONS",
    "REASON_TEXTS",
    "HitsAndMisses",
    "MarkedField",
    "case_hits_and_misses",
    "hits_and_misses",
    "mark_fields",
    "mismatch_reason",
]

EMPTY_REASONS: Final[Mapping[Presence, Reason]] = {
    Presence.ABSENT: Reason.MISSING,
    Presence.NULL: Reason.NULL_VALUE,
    Presence.BLANK: Reason.BLANK_VALUE,
}

REASON_TEXTS: Final[Mapping[Reason, str]] = {
    Reason.MISSING: "required, missing",
    Reason.NULL_VALUE: "null value",
    Reason.BLANK_VALUE: "blank value",
    Reason.UNEXPECTED_VALUE: "unexpected value",
    Reason.TYPE_MISMATCH: "type mismatch",
    Reason.INVALID_NUMBER: "invalid number",
    Reason.UNPARSEABLE_DATE: "unparseable date",
    Reason.INVALID_PATH: "invalid path",
    Reason.NOT_A_BOOLEAN: "not a boolean",
    Reason.INVALID_SHAPE: "invalid bounding box",
    Reason.INVALID_POINT: "invalid point",
    Reason.DIMENSION_MISMATCH: "dimension mismatch",
}
"""The texts of reasons; a wrong value has none."""

_OUTCOME_REASONS: Final[Mapping[Outcome, Reason]] = {
    Outcome.HALLUCINATION: Reason.UNEXPECTED_VALUE,
    Outcome.FORMAT_ERROR: Reason.TYPE_MISMATCH,
}


class MarkedField(NamedTuple):
    """A field with its mark (hit, miss or skipped), and whether it is required."""

    mark: Mark
    record: FieldOutcome
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HitsAndMisses:
    """The fields of a case as hits, misses and skipped fields."""

    hits: tuple[str, ...]
    misses: tuple[str, ...]
    skipped: tuple[str, ...]

    @property
    def reasoning(self) -> str:
        """The number of scored fields that match."""
        return f"{len(self.hits)}/{len(self.hits) + len(self.misses)} fields matched"


def mismatch_reason(record: FieldOutcome) -> Reason | None:
    """Return why a field does not match, if there is a reason."""
    if record.comparison is not None:
        return record.comparison.reason
    if record.outcome is Outcome.OMISSION:
        return EMPTY_REASONS[record.candidate_presence]
    return _OUTCOME_REASONS.get(record.outcome)


def mark_fields(
    outcomes: Outcomes,
    table: AttributeTable,
    counting: CountingOptions,
    *,
    unreadable: bool = False,
) -> Iterator[MarkedField]:
    """Yield every field of a case with its mark.

    If the candidate is unreadable, missing optional fields are misses, and no field is a hit.
    """
    marks = mark_table(counting)
    neutral = counting.optional_missing is OptionalMissing.NEUTRAL and not unreadable
    for record in outcomes.records(table):
        mark = marks[fact(record.outcome, record.expected_presence, record.candidate_presence)]
        required = table.attributes[record.attribute].required
        optional = neutral and not required and record.outcome is Outcome.OMISSION
        if optional or (unreadable and mark is Mark.HIT):
            mark = Mark.SKIPPED
        yield MarkedField(mark, record, required)


def case_hits_and_misses(
    outcomes: Outcomes, table: AttributeTable, convention: Convention
) -> HitsAndMisses:
    """Return the fields of a case as hits, misses with their reasons, and skipped fields."""
    return hits_and_misses(mark_fields(outcomes, table, convention.counting))


def hits_and_misses(fields: Iterable[MarkedField], *, unreadable: bool = False) -> HitsAndMisses:
    """Return marked fields as strings; an unreadable candidate is a miss if there is no other."""
    lists: dict[Mark, list[str]] = {mark: [] for mark in Mark}
    for each in fields:
        path, reason = each.record.path, _reason(each)
        lists[each.mark].append(f"{path} ({reason})" if reason else path)
    misses = (*lists[Mark.MISS], *lists[Mark.ERROR])
    return HitsAndMisses(
        hits=tuple(lists[Mark.HIT]),
        misses=misses or ((f"{ROOT} ({UNREADABLE})",) if unreadable else ()),
        skipped=tuple(lists[Mark.SKIPPED]),
    )


def _reason(each: MarkedField) -> str | None:
    """Return why a field is missed or skipped; `None` for hits and wrong values."""
    mark, record, required = each
    if mark in (Mark.HIT, Mark.NONE):
        return None
    if mark is Mark.SKIPPED:
        if record.outcome is Outcome.OMISSION:
            return "optional, missing" if record.comparison is None else "invalid path"
        return "no expected value" if record.expected_presence is Presence.ABSENT else None
    reason = mismatch_reason(record)
    note = record.comparison.note if record.comparison else ""
    if record.outcome is Outcome.ERROR:
        return f"evaluation error: {note or reason}"
    if record.outcome is Outcome.BOTH_EMPTY:
        return "unexpected key"
    if reason is Reason.GUARD_FAILED:
        return note or "rejected by a guard"
    if reason is Reason.MISSING and not required:
        return "missing"
    return REASON_TEXTS.get(reason) if reason else None
