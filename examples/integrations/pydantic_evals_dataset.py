"""fieldmark as an evaluator of pydantic-evals."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

import fieldmark as fm

HERE = Path(__file__).parent


@dataclass
class FieldScore(Evaluator):
    """Score the output of a task, which is JSON, text with JSON or a pydantic model."""

    rules: str | None = None

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """Return the score, and the fields that are wrong as its reason."""
        result = fm.compare(ctx.expected_output, ctx.output, rules=self.rules)
        if result.score is None:
            raise RuntimeError(result.reasoning)
        return EvaluationReason(result.score, "; ".join(result.misses) or result.reasoning)


def invoices() -> Dataset:
    """Return the data set; run it with `invoices().evaluate_sync(extract).print()`."""
    lines = (HERE / "invoices.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return Dataset(
        name="invoices",
        cases=[
            Case(name=row["id"], inputs=row["input"], expected_output=row["expected"])
            for row in rows
        ],
        evaluators=[FieldScore(str(HERE / "rules.yaml"))],
    )
