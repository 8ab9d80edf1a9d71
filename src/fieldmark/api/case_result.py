"""What `compare` answers: one pair of documents, every view of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from fieldmark.evaluators.hits_and_misses import (
    HitsAndMisses,
    case_hits_and_misses,
    mismatch_reason,
)
from fieldmark.metrics.case_score import CaseStats
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.quality import Quality, quality
from fieldmark.model.case import Case, Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Outcome, Presence, Reason
from fieldmark.model.outcomes import AttributeTable, Outcomes
from fieldmark.values.paths import resolve

__all__ = ["CaseResult", "FieldResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldResult:
    """One field: where it is, what happened to it, and the two values."""

    path: str
    attribute: str
    outcome: str
    expected_presence: str
    candidate_presence: str
    expected: JsonValue | Missing
    candidate: JsonValue | Missing
    score: float | None
    similarity: float | None
    reason: Reason | None
    comparator: str
    flags: tuple[str, ...] = ()
    note: str = ""

    def to_dict(self) -> JsonObject:
        """The field as JSON; a value that is not there is left out."""
        values: JsonObject = {}
        if self.expected is not MISSING:
            values["expected"] = self.expected
        if self.candidate is not MISSING:
            values["candidate"] = self.candidate
        return {
            "path": self.path,
            "attribute": self.attribute,
            "outcome": self.outcome,
            "expected_presence": self.expected_presence,
            "candidate_presence": self.candidate_presence,
            "score": self.score,
            "similarity": self.similarity,
            "reason": self.reason,
            "comparator": self.comparator,
            "flags": list(self.flags),
            "note": self.note,
            **values,
        }


@dataclass(frozen=True)
class CaseResult:
    """One pair of documents: score, verdict, counts, quality, and every field when asked.

    >>> import fieldmark as fm
    >>> result = fm.compare({"total": 10, "vendor": "Acme"}, {"total": 10, "vendor": "Acne"})
    >>> result.score, result.misses
    (0.5, ('vendor',))
    """

    case: Case = field(repr=False)
    block: Outcomes = field(repr=False)
    stats: CaseStats = field(repr=False)
    table: AttributeTable = field(repr=False)
    convention: Convention = field(repr=False)

    @property
    def score(self) -> float | None:
        """The convention's primary score on this case alone; undefined if a comparison failed."""
        return self.stats.score

    @property
    def verdict(self) -> Verdict | None:
        """Pass, partial or fail."""
        return self.stats.verdict

    @property
    def status(self) -> str:
        """`ok`, or `error` if some comparison could not be made."""
        return "error" if self.stats.errors_count else "ok"

    @property
    def counts(self) -> Counts:
        """True and false positives and negatives."""
        return self.stats.counts

    @property
    def precision(self) -> float | None:
        """The share of extracted fields that are right."""
        return self.stats.precision

    @property
    def recall(self) -> float | None:
        """The share of true fields that were found."""
        return self.stats.recall

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
        return self.stats.f1

    @property
    def errors_by_type(self) -> Mapping[str, int]:
        """Omissions, hallucinations, format errors and wrong values."""
        return self.stats.errors._asdict()

    @cached_property
    def quality(self) -> Quality:
        """Completeness, hallucination, accuracy and the response quality score."""
        return quality(self.stats.quality, self.convention.counting, self.stats.safety)

    @cached_property
    def _account(self) -> HitsAndMisses:
        return case_hits_and_misses(self.block, self.table, self.convention)

    @property
    def hits(self) -> tuple[str, ...]:
        """The fields that are right."""
        return self._account.hits

    @property
    def misses(self) -> tuple[str, ...]:
        """The fields that are not, each with its reason where there is more to say."""
        return self._account.misses

    @property
    def skipped(self) -> tuple[str, ...]:
        """The fields that count neither way."""
        return self._account.skipped

    @property
    def reasoning(self) -> str:
        """How many of the scored fields are right."""
        return self._account.reasoning

    @cached_property
    def fields(self) -> tuple[FieldResult, ...]:
        """Every field with its values."""
        return tuple(_fields(self))

    def to_dict(self) -> JsonObject:
        """Everything as JSON."""
        return {
            "case_id": self.case.id,
            "score": self.score,
            "verdict": self.verdict,
            "status": self.status,
            "hits": list(self.hits),
            "misses": list(self.misses),
            "skipped": list(self.skipped),
            "reasoning": self.reasoning,
            "counts": dict(self.counts._asdict()),
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "errors_by_type": dict(self.errors_by_type),
            "quality": _quality(self.quality),
            "outcomes": [each.to_dict() for each in self.fields],
        }

    def __repr__(self) -> str:
        from fieldmark.report.tables import number

        return f"CaseResult(score={number(self.score)}, verdict={self.verdict}, {self.reasoning})"

    def _repr_html_(self) -> str:
        from fieldmark.report.notebook import case_html

        return case_html(self.to_dict())


def _quality(figures: Quality) -> JsonObject:
    numbers: JsonObject = {
        name: getattr(figures, name) for name in figures._fields if name != "flags"
    }
    return {**numbers, "flags": {name: list(flags) for name, flags in figures.flags.items()}}


def _fields(result: CaseResult) -> list[FieldResult]:
    fields: list[FieldResult] = []
    case, table = result.case, result.table
    for record in result.block.records(table):
        said = record.comparison
        scored = record.outcome in (Outcome.MATCH, Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR)
        plain = float(record.outcome is Outcome.MATCH) if scored else None
        fields.append(
            FieldResult(
                path=record.path,
                attribute=table.path(record.attribute),
                outcome=record.outcome.label,
                expected_presence=record.expected_presence.name.lower(),
                candidate_presence=record.candidate_presence.name.lower(),
                expected=_value(case.expected, record.path, record.expected_presence),
                candidate=_value(case.candidate, record.candidate_path, record.candidate_presence),
                score=said.score if said and scored else plain,
                similarity=said.similarity if said else None,
                reason=mismatch_reason(record),
                comparator=table.attributes[record.attribute].comparator,
                flags=tuple(
                    name
                    for name in ("coerced", "ambiguous", "approximate")
                    if said is not None and getattr(said, name)
                ),
                note=said.note if said else "",
            )
        )
    return fields


def _value(document: JsonValue | Missing, path: str, presence: Presence) -> JsonValue | Missing:
    if document is MISSING or presence is Presence.ABSENT:
        return MISSING
    return document if path == "$" else resolve(document, path)
