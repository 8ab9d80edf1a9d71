"""fieldmark as a metric of DeepEval."""

from __future__ import annotations

import json

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

import fieldmark as fm


class FieldScore(BaseMetric):
    """Score the JSON in `actual_output` against that in `expected_output`."""

    def __init__(self, rules: str | None = None, threshold: float = 1.0) -> None:
        self.rules = rules
        self.threshold = threshold

    def measure(self, test_case: LLMTestCase, *_args: object, **_kwargs: object) -> float:
        """Set the score, and the fields that are wrong as its reason."""
        expected = json.loads(test_case.expected_output)
        result = fm.compare(expected, test_case.actual_output, rules=self.rules)
        if result.score is None:
            raise RuntimeError(result.reasoning)
        self.score = result.score
        self.reason = "; ".join(result.misses) or result.reasoning
        self.success = result.score >= self.threshold
        return result.score

    async def a_measure(self, test_case: LLMTestCase, *_args: object, **_kwargs: object) -> float:
        """Do the same; nothing is waited for."""
        return self.measure(test_case)

    @property
    def __name__(self) -> str:
        return "fieldmark"
