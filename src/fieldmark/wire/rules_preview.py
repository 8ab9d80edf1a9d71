"""What other rules would change in a run: the result of `preview_rules`, for the API and pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fieldmark.model.json import MISSING, JsonObject
from fieldmark.wire.case_result import FieldResult

__all__ = ["AttributeChange", "FieldChange", "RulesPreview"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """A field with another outcome; before or after the change, it may not be compared at all.

    `number` is that of its case in the run.
    """

    number: int
    before: FieldResult | None
    after: FieldResult | None

    @property
    def field(self) -> FieldResult:
        """The field with its path and values."""
        found = self.after or self.before
        assert found is not None  # noqa: S101 - one of them exists
        return found.finite()

    def to_dict(self) -> JsonObject:
        """Return the change as JSON, without absent values."""
        shown = self.field
        values = {"expected": shown.expected, "candidate": shown.candidate}
        return {
            "case": self.number,
            "case_id": shown.case_id,
            "path": shown.path,
            "attribute": shown.attribute,
            "before": _side(self.before),
            "after": _side(self.after),
            **{side: value for side, value in values.items() if value is not MISSING},
        }


def _side(field: FieldResult | None) -> JsonObject | None:
    if field is None:
        return None
    return {
        "outcome": field.outcome,
        "comparator": field.comparator,
        "similarity": field.similarity,
        "note": field.note,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeChange:
    """An attribute with changed fields: their number, and its F1 before and after."""

    attribute: str
    fields: int
    before: float | None
    after: float | None


@dataclass(frozen=True, kw_only=True)
class RulesPreview:
    """What would change if a run was rescored with other rules.

    `compared` of its `cases` were compared: all, or a random sample. `metrics` are those of
    the compared cases, before and after. `examples` are some of the changed fields, from as many
    cases as possible.
    """

    run: str
    cases: int
    compared: int
    changed_cases: int
    changed_fields: int
    metrics: Mapping[str, tuple[float | None, float | None]]
    attributes: tuple[AttributeChange, ...]
    examples: tuple[FieldChange, ...]
    errors: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def is_sample(self) -> bool:
        """Whether only some of the cases were compared."""
        return self.compared < self.cases

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return {
            "format": 1,
            "run": self.run,
            "cases": self.cases,
            "compared": self.compared,
            "sample": self.is_sample,
            "changed_cases": self.changed_cases,
            "changed_fields": self.changed_fields,
            "errors": self.errors,
            "metrics": {
                name: {"before": before, "after": after}
                for name, (before, after) in self.metrics.items()
            },
            "attributes": [
                {
                    "attribute": each.attribute,
                    "fields": each.fields,
                    "f1": {"before": each.before, "after": each.after},
                }
                for each in self.attributes
            ],
            "examples": [each.to_dict() for each in self.examples],
            "warnings": list(self.warnings),
        }
