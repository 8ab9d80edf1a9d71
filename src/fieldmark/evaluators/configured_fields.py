"""Evaluators of configured fields: accuracy, and confusion counts with the mean F1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from fieldmark.evaluators.base import MAX_EXAMPLES, MAX_ROWS, Score, defined
from fieldmark.evaluators.field_evaluator import (
    ComparedCase,
    FieldEvaluator,
    FieldRules,
    metrics_by_attribute,
    mismatches,
)
from fieldmark.evaluators.hits_and_misses import mismatch_reason
from fieldmark.metrics.conventions import (
    AbsentTruth,
    Aggregation,
    Convention,
    F1WhenNoMatch,
    find_convention,
)
from fieldmark.metrics.counts import Mark
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Rule, Rules, Scope
from fieldmark.values.annotations import NonNegativeInt
from fieldmark.values.paths import is_path


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldAccuracy(FieldEvaluator):
    """Score the configured fields: the weighted mean of their scores, or all or nothing.

    A field that is absent from the ground truth is skipped; with `absent_truth: miss`, a predicted
    value for it is a miss. A missing value of an optional field is skipped.

    >>> header = FieldAccuracy(fields=(Rule(path="number"), Rule(path="notes", required=False)))
    >>> header.evaluate({"number": "A-1", "notes": "rush"}, {"number": "A-1"}).score
    1.0
    """

    name: ClassVar[str] = "field_accuracy"
    fields: FieldRules
    aggregation: Aggregation = Aggregation.WEIGHTED_AVERAGE
    absent_truth: AbsentTruth = AbsentTruth.SKIP
    max_rows: NonNegativeInt = MAX_ROWS

    def claims(self) -> tuple[Rule, ...]:
        """The configured fields, without those that are absent from the truth if they are skipped.

        A missing optional field is a claim, too: it is neutral for the score, but it is missing.
        """
        truth_only = self.absent_truth is AbsentTruth.SKIP
        return tuple(replace(rule, truth_only=truth_only) for rule in self.fields)

    def _convention(self) -> Convention:
        options = {"aggregation": self.aggregation, "absent_truth": self.absent_truth}
        return find_convention("field_accuracy").with_options(options)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldConfusion(FieldEvaluator):
    """Score the mean F1 of the configured attributes, with confusion counts for each.

    With `f1_when_no_match: undefined`, the details have no F1 for attributes without a match; in
    the mean it counts as 0. The details show up to `max_examples` mistakes, with values unless
    `example_values` is false.

    >>> header = FieldConfusion(fields=(Rule(path="number"), Rule(path="total")))
    >>> header.evaluate({"number": "A-1", "total": 10}, {"number": "A-1", "total": 11}).score
    0.5
    """

    name: ClassVar[str] = "field_confusion"
    fields: FieldRules
    f1_when_no_match: F1WhenNoMatch = F1WhenNoMatch.ZERO
    max_examples: NonNegativeInt = MAX_EXAMPLES
    example_values: bool = True

    def claims(self) -> tuple[Rule, ...]:
        """The configured fields."""
        return self._workspace.rules.fields

    def _convention(self) -> Convention:
        options = {"f1_when_no_match": self.f1_when_no_match}
        return find_convention("confusion").with_options(options)

    def _make_rules(self) -> Rules:
        fields = tuple(rule for rule in self.fields if not _is_skipped(rule))
        return self._rules_for(fields, scope=Scope.CONFIGURED)

    def _finish(self, score: Score) -> Score:
        invalid = [f"{rule.path} (invalid path)" for rule in self.fields if _is_skipped(rule)]
        return replace(score, skipped=(*score.skipped, *invalid)) if invalid else score

    def _details(self, compared: ComparedCase) -> JsonObject:
        metrics, summary = metrics_by_attribute(compared)
        examples = mismatches(compared, limit=self.max_examples, values=self.example_values)
        return {"metrics": metrics, "summary": summary, **examples}


def _is_skipped(rule: Rule) -> bool:
    """Whether a field is optional and its path invalid."""
    return not rule.required and not is_path(rule.path)
