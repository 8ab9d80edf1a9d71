"""The hits and misses of a case, with the reason for each miss."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from fieldmark.metrics.conventions import Convention, CountingOptions, OptionalMissing
from fieldmark.metrics.counts import Mark, mark_table
from fieldmark.model.outcome import Outcome, Presence, Reason, fact
from fieldmark.model.outcomes import AttributeTable, FieldOutcome, Outcomes
from fieldmark.values.paths import ROOT

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
    Reason.GUARD_FAILED: "rejected by a guard",
    Reason.NOT_A_LIST: "not a list",
    Reason.NOT_AN_OBJECT: "not an object",
    Reason.INVALID_NUMBER: "invalid number",
    Reason.UNPARSEABLE_DATE: "unparseable date",
    Reason.INVALID_PATH: "invalid path",
    Reason.NOT_A_BOOLEAN: "not a boolean",
    Reason.UNPARSEABLE: "unparseable value",
    Reason.INVALID_SHAPE: "invalid bounding box",
    Reason.INVALID_POINT: "invalid point",
    Reason.DIMENSION_MISMATCH: "dimension mismatch",
}
"""The texts of reasons; a wrong value has none."""

_INDEXES: Final = re.compile(r"\[([0-9]+)\]")

_NOTED: Final = frozenset({Reason.GUARD_FAILED, Reason.NOT_A_LIST, Reason.NOT_AN_OBJECT})
"""Reasons whose note says more than their text; a run without values has no notes."""

_OUTCOME_REASONS: Final[Mapping[Outcome, Reason]] = {
    Outcome.HALLUCINATION: Reason.UNEXPECTED_VALUE,
    Outcome.FORMAT_ERROR: Reason.TYPE_MISMATCH,
}


class MarkedField(NamedTuple):
    """A field with its mark (hit, miss or skipped), and whether it is required."""

    mark: Mark
    record: FieldOutcome
    required: bool


class HitsAndMisses(NamedTuple):
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


def pair_label(expected: str | None, candidate: str | None) -> str:
    """Return one label for two paths of aligned list items; a side without an item is `None`.

    >>> pair_label("boxes[0]", "boxes[2]"), pair_label(None, "boxes[1]")
    ('boxes[0→2]', 'boxes[→1]')
    """
    # Texts are at even positions, and indexes at odd ones.
    expected_parts = _INDEXES.split(expected or "")
    candidate_parts = _INDEXES.split(candidate or "")
    if expected is None:
        expected_parts = [
            "" if position % 2 else part for position, part in enumerate(candidate_parts)
        ]
    if candidate is None or expected_parts[::2] != candidate_parts[::2]:
        return expected or ""
    label = expected_parts[0]
    texts, indexes = (
        expected_parts[2::2],
        zip(expected_parts[1::2], candidate_parts[1::2], strict=True),
    )
    for text, (index, candidate_index) in zip(texts, indexes, strict=True):
        moved = "" if index == candidate_index else f"→{candidate_index}"
        label += f"[{index}{moved}]{text}"
    return label


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
    outcomes: Outcomes, table: AttributeTable, convention: Convention, absent: str | None = None
) -> HitsAndMisses:
    """Return the fields of a case as hits, misses with their reasons, and skipped fields.

    `absent` says why there is no candidate document, if there is none.
    """
    return hits_and_misses(mark_fields(outcomes, table, convention.counting), absent)


def hits_and_misses(fields: Iterable[MarkedField], absent: str | None = None) -> HitsAndMisses:
    """Return marked fields as strings.

    `absent` says why there is no candidate document, which is a miss if there is no other.
    """
    lists: dict[Mark, list[str]] = {mark: [] for mark in Mark}
    for field in fields:
        label, reason = field.record.label, _reason(field, absent)
        lists[field.mark].append(f"{label} ({reason})" if reason else label)
    misses = (*lists[Mark.MISS], *lists[Mark.ERROR])
    return HitsAndMisses(
        hits=tuple(lists[Mark.HIT]),
        misses=misses or ((f"{ROOT} ({absent})",) if absent else ()),
        skipped=tuple(lists[Mark.SKIPPED]),
    )


def _reason(field: MarkedField, absent: str | None) -> str | None:
    """Return why a field is missed or skipped; `None` for hits and wrong values."""
    mark, record, required = field
    if mark in (Mark.HIT, Mark.NONE):
        return None
    if mark is Mark.SKIPPED:
        if record.outcome is Outcome.OMISSION:
            invalid = mismatch_reason(record) is Reason.INVALID_PATH
            return "invalid path" if invalid else "optional, missing"
        return "no expected value" if record.expected_presence is Presence.ABSENT else None
    reason = mismatch_reason(record)
    note = record.comparison.note if record.comparison else ""
    if record.outcome is Outcome.ERROR:
        return f"evaluation error: {note or reason}"
    if record.outcome is Outcome.BOTH_EMPTY:
        return "unexpected key"
    if reason in _NOTED and note:
        return note
    if reason is Reason.MISSING and (absent or not required):
        return absent or "missing"
    return REASON_TEXTS.get(reason) if reason else None
