"""Right, wrong, missing and invented values of the configured attributes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Score
from fieldmark.evaluators.field_evaluator import (
    MAX_EXAMPLES,
    Examined,
    FieldEvaluator,
    check_limit,
    check_rules,
    is_path,
    metrics_by_attribute,
    mismatches,
    with_default_comparator,
)
from fieldmark.metrics.conventions import Convention, find_convention
from fieldmark.model.json import JsonObject
from fieldmark.model.rule import Rule, Rules, Scope

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
        if not self.fields:
            raise OptionError("fields", "must name at least one field")
        check_rules("fields", self.fields)
        check_limit("max_examples", self.max_examples)

    def _convention(self) -> Convention:
        return find_convention("confusion")

    def _rules(self) -> Rules:
        return Rules(
            fields=tuple(rule for rule in self.fields if rule.required or is_path(rule.path)),
            scope=Scope.CONFIGURED,
            default=self.default,
            empty_tokens=self.empty_tokens,
            empty_containers=self.empty_containers,
        )

    def _scored(self, examined: Examined) -> Score:
        score = FieldEvaluator._scored(self, examined)  # noqa: SLF001 - slots lose plain `super()`
        unreadable = [
            f"{rule.path} (invalid path)"
            for rule in self.fields
            if not rule.required and not is_path(rule.path)
        ]
        return replace(score, skipped=(*score.skipped, *unreadable)) if unreadable else score

    def _details(self, examined: Examined) -> JsonObject:
        metrics, summary = metrics_by_attribute(examined)
        examples = mismatches(examined, limit=self.max_examples, values=self.example_values)
        return {"metrics": metrics, "summary": summary, **examples}
