"""Completeness, hallucination and accuracy of a document, and the response quality score."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import ClassVar

from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Score
from fieldmark.evaluators.field_evaluator import (
    ComparedCase,
    DistinctRules,
    FieldEvaluator,
    make_case,
)
from fieldmark.metrics.conventions import (
    Convention,
    IgnoreScope,
    RqsForm,
    RqsWeights,
    find_convention,
)
from fieldmark.metrics.quality import QualityBuckets, bucket_table, quality
from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.model.outcome import fact
from fieldmark.model.rule import Depth, Rules
from fieldmark.values.annotations import Share, problem_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseQuality(FieldEvaluator):
    """Compute the response quality score (RQS) over the keys of a document, or over its leaves.

    `strategies` are rules for keys; other keys are compared with `auto`. With `rqs_form:
    complement`, a perfect prediction scores 1. Safety comes from a judge; without one it is 1 and
    flagged.

    >>> quality = ResponseQuality().evaluate({"a": 1, "b": 2}, {"a": 1}).details
    >>> quality["completeness"], quality["aio_missing_or_null"]
    (0.5, ['b'])
    """

    name: ClassVar[str] = "response_quality"
    pass_threshold: Share | None = 0.8
    strategies: DistinctRules = ()
    weights: RqsWeights = field(default_factory=RqsWeights)
    rqs_form: RqsForm = RqsForm.SUBTRACT
    ignore_scope: IgnoreScope = IgnoreScope.ACCURACY
    depth: Depth = Depth.TOP

    def evaluate(
        self,
        expected: JsonValue,
        candidate: JsonValue | Missing,
        *,
        unreadable: bool = False,
        safety: float | None = None,
    ) -> Score:
        """Score a candidate, with the score of a safety judge if there is one."""
        if problem := problem_of(Share | None, safety):
            raise OptionError("safety", problem)
        case = make_case(expected, candidate, unreadable=unreadable)
        outcomes, table = self._workspace.compare(*self._documents(case))
        return self.score_outcomes(outcomes, table, case, safety=safety)

    def _convention(self) -> Convention:
        options: JsonObject = {
            "rqs_weights": asdict(self.weights),
            "rqs_form": self.rqs_form,
            "ignore_scope": self.ignore_scope,
        }
        return find_convention("four_phase").with_options(options)

    def _make_rules(self) -> Rules:
        return self._rules_for(self.strategies, depth=self.depth)

    def _details(self, compared: ComparedCase) -> JsonObject:
        stats, counting = compared.stats, compared.convention.counting
        metrics = quality(stats.quality, counting, stats.safety)
        keys: dict[str, list[JsonValue]] = {name: [] for name in QualityBuckets._fields}
        table = bucket_table(counting.ignore_scope)
        for record in compared.outcomes.records(compared.table):
            code = fact(record.outcome, record.expected_presence, record.candidate_presence)
            for name, size in table[code].buckets()._asdict().items():
                if size:
                    keys[name].append(record.path)
        return {
            **keys,
            "completeness": metrics.completeness,
            "hallucination": metrics.hallucination,
            "accuracy": metrics.accuracy,
            "safety": metrics.safety,
            "rqs": 0.0 if compared.unreadable else metrics.rqs,
            "rqs_max": metrics.rqs_max,
            "flags": {metric: list(flags) for metric, flags in metrics.flags.items()},
        }
