"""fieldmark as a scorer of Inspect: inspect eval inspect_task.py --model openai/gpt-5-mini."""

from __future__ import annotations

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate, system_message

import fieldmark as fm

HERE = Path(__file__).parent


@scorer(metrics=[mean(), stderr()])
def fieldmark(rules: str | None = None) -> Scorer:
    """Score the JSON in the output of the model against the target."""

    async def score(state: TaskState, target: Target) -> Score:
        result = fm.compare(json.loads(target.text), state.output.completion, rules=rules)
        if result.score is None:
            raise RuntimeError(result.reasoning)
        reason = "; ".join(result.misses) or result.reasoning
        return Score(value=result.score, answer=state.output.completion, explanation=reason)

    return score


@task
def invoices() -> Task:
    """Extract the fields of invoices."""

    def sample(row: dict) -> Sample:
        return Sample(id=row["id"], input=row["input"], target=json.dumps(row["expected"]))

    return Task(
        dataset=json_dataset(str(HERE / "invoices.jsonl"), sample),
        solver=[system_message("Return number, date, vendor and total as JSON."), generate()],
        scorer=fieldmark(str(HERE / "rules.yaml")),
    )
