"""How much of the configured fields is right, each as heavy as it was weighed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from fieldmark.errors import OptionError
from fieldmark.evaluators.field_evaluator import (
    MAX_ROWS,
    Examined,
    FieldEvaluator,
    check_limit,
    check_rules,
    defined,
    with_default_comparator,
)
from fieldmark.evaluators.hits_and_misses import MarkedField, mismatch_reason
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
        if not self.fields:
            raise OptionError("fields", "must name at least one field")
        check_rules("fields", self.fields)
        check_limit("max_rows", self.max_rows)

    def _convention(self) -> Convention:
        return find_convention("field_accuracy")

    def _counting(self) -> JsonObject:
        return {"aggregation": self.aggregation, "absent_truth": self.absent_truth}

    def _rules(self) -> Rules:
        return Rules(
            fields=self.fields,
            scope=Scope.CONFIGURED,
            default=self.default,
            empty_tokens=self.empty_tokens,
            empty_containers=self.empty_containers,
        )

    def _details(self, examined: Examined) -> JsonObject:
        scored = [each for each in examined.fields if each.mark in _SCORED]
        rows: list[JsonValue] = [_row(each, examined) for each in scored[: self.max_rows]]
        return {"fields": rows, "fields_total": len(scored)}


_SCORED: Final = (Mark.HIT, Mark.MISS, Mark.ERROR)


def _row(each: MarkedField, examined: Examined) -> JsonObject:
    """One scored field: what it earned and what it weighs."""
    mark, record, required = each
    said = record.comparison
    plain = None if mark is Mark.ERROR else float(mark is Mark.HIT)
    return {
        "path": record.path,
        "score": said.score if said is not None and mark is Mark.HIT else plain,
        "weight": examined.table.attributes[record.attribute].weight,
        "required": required,
        "outcome": record.outcome.label,
        **defined(
            {"reason": mismatch_reason(record), "similarity": said.similarity if said else None}
        ),
    }
