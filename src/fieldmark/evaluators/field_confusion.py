"""Right, wrong, missing and extra values of the configured attributes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from fieldmark.evaluators.base import Score
from fieldmark.evaluators.field_evaluator import (
    MAX_EXAMPLES,
    ComparedCase,
    FieldEvaluator,
    check_fields,
    check_limit,
    metrics_by_attribute,
    mismatches,
    with_default_comparator,
)
from fieldmark.metrics.conventions import Convention, find_convention
from fieldmark.model.json import JsonObject
from fieldmark.model.rule import Rule, Rules, Scope
from fieldmark.values.paths import is_path

__all__ = ["FieldConfusion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldConfusion(FieldEvaluator):
    """The mean F1 of the configured attributes, with their true and false positives and negatives.

    Up to `max_examples` wrong fields are shown, with their values unless `example_values` is off.

    >>> header = FieldConfusion(fields=(Rule(path="number"), Rule(path="total")))
    >>> header.evaluate({"number": "A-1", "total": 10}, {"number": "A-1", "total": 11}).score
    0.5
    """

    name: ClassVar[str] = "field_confusion"
    fields: tuple[Rule, ...]
    max_examples: int = MAX_EXAMPLES
    example_values: bool = True

    def claims(self) -> tuple[Rule, ...]:
        """The configured fields."""
        return with_default_comparator(self.fields, self.default)

    def _check(self) -> None:
        check_fields(self.fields)
        check_limit("max_examples", self.max_examples)

    def _convention(self) -> Convention:
        return find_convention("confusion")

    def _make_rules(self) -> Rules:
        fields = tuple(rule for rule in self.fields if not _is_left_out(rule))
        return self._rules_for(fields, scope=Scope.CONFIGURED)

    def _finish(self, score: Score) -> Score:
        invalid = [f"{rule.path} (invalid path)" for rule in self.fields if _is_left_out(rule)]
        return replace(score, skipped=(*score.skipped, *invalid)) if invalid else score

    def _details(self, compared: ComparedCase) -> JsonObject:
        metrics, summary = metrics_by_attribute(compared)
        examples = mismatches(compared, limit=self.max_examples, values=self.example_values)
        return {"metrics": metrics, "summary": summary, **examples}


def _is_left_out(rule: Rule) -> bool:
    """Whether a field is optional and its path invalid: it is skipped."""
    return not rule.required and not is_path(rule.path)
