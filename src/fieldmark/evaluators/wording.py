"""Hits and misses as people read them: outcomes and reason codes rendered as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.options import OptionalMissing
from fieldmark.metrics.verdict import Mark, mark_table
from fieldmark.model.block import AttributeTable, FieldOutcome, OutcomeBlock
from fieldmark.model.outcome import Outcome, Presence, Reason, fact

__all__ = ["Account", "account", "reason_of"]

_EMPTY_REASONS: Final[Mapping[Presence, Reason]] = {
    Presence.ABSENT: Reason.MISSING,
    Presence.NULL: Reason.NULL_VALUE,
    Presence.BLANK: Reason.BLANK_VALUE,
}

_TEXTS: Final[Mapping[Reason, str]] = {
    Reason.MISSING: "required, missing",
    Reason.NULL_VALUE: "null value",
    Reason.BLANK_VALUE: "blank value",
    Reason.UNEXPECTED_VALUE: "unexpected value",
    Reason.TYPE_MISMATCH: "type mismatch",
    Reason.INVALID_NUMBER: "invalid number",
    Reason.UNPARSEABLE_DATE: "unparseable date",
    Reason.INVALID_PATH: "invalid path",
    Reason.NOT_A_BOOLEAN: "not a boolean",
}
"""Reasons that are said; a value that is simply another one needs no words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The fields of a case sorted into right, wrong and not scored."""

    hits: tuple[str, ...]
    misses: tuple[str, ...]
    skipped: tuple[str, ...]

    @property
    def reasoning(self) -> str:
        """How many of the scored fields are right."""
        return f"{len(self.hits)}/{len(self.hits) + len(self.misses)} fields matched"


def reason_of(record: FieldOutcome) -> Reason | None:
    """Why a field is not simply right, if it is not."""
    if record.comparison is not None:
        return record.comparison.reason
    if record.outcome is Outcome.OMISSION:
        return _EMPTY_REASONS[record.candidate_presence]
    if record.outcome is Outcome.HALLUCINATION:
        return Reason.UNEXPECTED_VALUE
    if record.outcome is Outcome.FORMAT_ERROR:
        return Reason.TYPE_MISMATCH
    return None


def account(block: OutcomeBlock, table: AttributeTable, convention: Convention) -> Account:
    """Every field of a case as a hit, a miss with its reason, or skipped."""
    marks = mark_table(convention.counting)
    neutral = convention.counting.optional_missing is OptionalMissing.NEUTRAL
    lists: dict[Mark, list[str]] = {mark: [] for mark in Mark}
    for record in block.records(table):
        mark = marks[fact(record.outcome, record.expected_presence, record.candidate_presence)]
        optional = not table.attributes[record.attribute].required
        if neutral and optional and record.outcome is Outcome.OMISSION:
            mark = Mark.SKIPPED
        missed = mark in (Mark.MISS, Mark.ERROR)
        lists[mark].append(_missed(record) if missed else record.path)
    return Account(
        hits=tuple(lists[Mark.HIT]),
        misses=(*lists[Mark.MISS], *lists[Mark.ERROR]),
        skipped=tuple(lists[Mark.SKIPPED]),
    )


def _missed(record: FieldOutcome) -> str:
    reason = reason_of(record)
    if record.outcome is Outcome.ERROR:
        note = record.comparison.note if record.comparison else ""
        return f"{record.path} (evaluation error: {note or reason})"
    text = _TEXTS.get(reason) if reason else None
    return f"{record.path} ({text})" if text else record.path
