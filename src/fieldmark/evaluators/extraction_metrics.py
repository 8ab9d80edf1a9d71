"""Precision, recall and F1 over all fields of a document, with mistakes by type."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from fieldmark.evaluators.base import MAX_EXAMPLES
from fieldmark.evaluators.field_evaluator import (
    ComparedCase,
    DistinctRules,
    FieldEvaluator,
    mismatches,
)
from fieldmark.metrics.conventions import Convention, find_convention
from fieldmark.metrics.counts import truth_fields
from fieldmark.model.json import JsonObject
from fieldmark.model.rule import Rules, Scope
from fieldmark.values.annotations import NonNegativeInt


class Variant(StrEnum):
    """Whether a wrong value counts as extra and missing (`taxonomy`) or only as extra."""

    TAXONOMY = "taxonomy"
    TAXONOMY_CODE = "taxonomy_code"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionMetrics(FieldEvaluator):
    """Score the F1 over all fields of a document; an undefined ratio is 0.

    >>> ExtractionMetrics().evaluate({"rooms": 3, "beds": 2}, {"rooms": 3}).details["recall"]
    0.5
    """

    name: ClassVar[str] = "extraction_metrics"
    variant: Variant = Variant.TAXONOMY
    fields: DistinctRules = ()
    scope: Scope | None = None
    max_examples: NonNegativeInt = MAX_EXAMPLES
    example_values: bool = True

    def _convention(self) -> Convention:
        return find_convention(self.variant)

    def _make_rules(self) -> Rules:
        return self._rules_for(self.fields, scope=self.scope)

    def _details(self, compared: ComparedCase) -> JsonObject:
        stats = compared.stats
        counts, errors = stats.counts, stats.errors
        return {
            "precision": stats.precision,
            "recall": stats.recall,
            "f1": stats.f1,
            "true_positives": counts.tp,
            "false_positives": counts.fp,
            "false_negatives": counts.fn,
            "total_gt_fields": truth_fields(counts.tp, errors),
            "correct_fields": counts.tp,
            "errors_by_type": dict(errors._asdict()),
            **mismatches(compared, limit=self.max_examples, values=self.example_values),
        }
