"""The weighted share of the configured fields that are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fieldmark.evaluators.field_evaluator import (
    MAX_ROWS,
    ComparedCase,
    FieldEvaluator,
    check_fields,
    check_limit,
    defined,
    with_default_comparator,
)
from fieldmark.evaluators.hits_and_misses import mismatch_reason
from fieldmark.metrics.conventions import AbsentTruth, Aggregation, Convention, find_convention
from fieldmark.metrics.verdict import Mark
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Rule, Rules, Scope

__all__ = ["FieldAccuracy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldAccuracy(FieldEvaluator):
    """The weighted mean of what the configured fields earn, or all of them or nothing.

    A field that the truth says nothing of is skipped; with `absent_truth: miss` a value for it
    is wrong. An optional field that was left out counts neither way.

    >>> header = FieldAccuracy(fields=(Rule(path="number"), Rule(path="notes", required=False)))
    >>> header.evaluate({"number": "A-1", "notes": "rush"}, {"number": "A-1"}).score
    1.0
    """

    name: ClassVar[str] = "field_accuracy"
    fields: tuple[Rule, ...]
    aggregation: Aggregation = Aggregation.WEIGHTED_AVERAGE
    absent_truth: AbsentTruth = AbsentTruth.SKIP
    max_rows: int = MAX_ROWS

    def claims(self) -> tuple[Rule, ...]:
        """The configured fields."""
        return with_default_comparator(self.fields, self.default)

    def _check(self) -> None:
        check_fields(self.fields)
        check_limit("max_rows", self.max_rows)

    def _convention(self) -> Convention:
        return find_convention("field_accuracy")

    def _counting_options(self) -> JsonObject:
        return {"aggregation": self.aggregation, "absent_truth": self.absent_truth}

    def _make_rules(self) -> Rules:
        return self._rules_for(self.fields, scope=Scope.CONFIGURED)

    def _details(self, compared: ComparedCase) -> JsonObject:
        marks = (Mark.HIT, Mark.MISS, Mark.ERROR)
        scored = [each for each in compared.fields if each.mark in marks]
        rows: list[JsonValue] = []
        for mark, record, required in scored[: self.max_rows]:
            comparison = record.comparison
            score = None if mark is Mark.ERROR else float(mark is Mark.HIT)
            similarity = comparison.similarity if comparison else None
            row: JsonObject = {
                "path": record.path,
                "score": comparison.score if comparison and mark is Mark.HIT else score,
                "weight": compared.table.attributes[record.attribute].weight,
                "required": required,
                "outcome": record.outcome.label,
                **defined({"reason": mismatch_reason(record), "similarity": similarity}),
            }
            rows.append(row)
        return {"fields": rows, "fields_total": len(scored)}
