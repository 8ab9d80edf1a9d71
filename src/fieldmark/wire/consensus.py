"""The consensus of several predictions: the result of `consensus`, for the API and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fieldmark.metrics.leaderboard import Pair
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.wire.leaderboard import Leaderboard

__all__ = ["AttributeAgreement", "Consensus", "DisputedField", "FieldOption"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldOption:
    """A value of a field, and the names of the candidates that have it."""

    value: JsonValue | Missing
    candidates: tuple[str, ...]

    def to_json(self) -> JsonObject:
        """Return the option as JSON; without a value if the candidates have none."""
        value: JsonObject = {} if self.value is MISSING else {"value": self.value}
        return {**value, "candidates": list(self.candidates)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputedField:
    """A field on which candidates disagree, the most frequent value first.

    `agreement` is the share of pairs of candidates that agree. In a `tie`, several values are the
    most frequent.
    """

    case_id: str
    path: str
    attribute: str
    agreement: float
    tie: bool
    options: tuple[FieldOption, ...]

    def to_json(self) -> JsonObject:
        """Return the field as JSON."""
        return {
            "case_id": self.case_id,
            "path": self.path,
            "attribute": self.attribute,
            "agreement": self.agreement,
            "tie": self.tie,
            "options": [option.to_json() for option in self.options],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeAgreement:
    """How well candidates agree on an attribute: the mean over its fields, and the disputed."""

    agreement: float | None
    fields: int
    disputed: int
    ties: int

    def to_json(self) -> JsonObject:
        """Return the attribute as JSON."""
        return {
            "agreement": self.agreement,
            "fields": self.fields,
            "disputed": self.disputed,
            "ties": self.ties,
        }


@dataclass(frozen=True, kw_only=True)
class Consensus:
    """The majority vote of several predictions for each case, and where they disagree.

    `documents` are the documents of the vote by id, or by position unless rows are paired `by_id`.
    `abstained` counts the cases for which a candidate has no prediction that can be read,
    and `without` those for which none has. `disputed` are the fields on which candidates disagree
    most, of `disputed_total`. With ground truth, `ranking` compares the candidates with the vote
    and with the best of them per field.
    """

    candidates: tuple[str, ...]
    cases: int
    without: int
    documents: Mapping[str, JsonValue]
    by_id: bool
    total: AttributeAgreement
    attributes: Mapping[str, AttributeAgreement]
    disputed: tuple[DisputedField, ...]
    abstained: Mapping[str, int]
    pairs: Mapping[Pair, float | None]
    ranking: Leaderboard | None = None
    notes: tuple[str, ...] = ()

    @property
    def agreement(self) -> float | None:
        """The mean agreement over all fields; undefined for one candidate."""
        return self.total.agreement

    def to_dict(self) -> JsonObject:
        """Return everything but the documents as JSON."""
        return {
            "format": 1,
            "candidates": list(self.candidates),
            "cases": self.cases,
            "without_prediction": self.without,
            "abstained": dict(self.abstained),
            **self.total.to_json(),
            "pairs": [
                {
                    "first": self.candidates[first],
                    "second": self.candidates[second],
                    "agreement": share,
                }
                for (first, second), share in self.pairs.items()
            ],
            "attributes": {name: each.to_json() for name, each in self.attributes.items()},
            "label_first": [each.to_json() for each in self.disputed],
            "ranking": None if self.ranking is None else self.ranking.to_dict(),
            "notes": list(self.notes),
        }

    def rows(self) -> list[JsonObject]:
        """Return the documents of the vote as rows of predictions."""
        return [
            {"id": name, "candidate": document} if self.by_id else {"candidate": document}
            for name, document in self.documents.items()
        ]
