"""Scores of evaluators as JSON."""

from __future__ import annotations

from typing import cast

from fieldmark.evaluators.base import EvaluatorResult, Score, Status
from fieldmark.model.case import Verdict
from fieldmark.model.json import JsonObject, JsonValue

__all__ = [
    "evaluator_result_from_json",
    "evaluator_result_to_json",
    "score_from_json",
    "score_to_json",
]


def score_to_json(score: Score) -> JsonObject:
    """Return a score as JSON."""
    return {
        "score": score.score,
        "verdict": score.verdict,
        "status": score.status,
        "vacuous": score.vacuous,
        "hits": list(score.hits),
        "misses": list(score.misses),
        "skipped": list(score.skipped),
        "reasoning": score.reasoning,
        "details": score.details,
        **({"warnings": list(score.warnings)} if score.warnings else {}),
    }


def score_from_json(stored: JsonObject) -> Score:
    """Parse a score; missing keys are empty.

    >>> score_from_json(score_to_json(Score.error("no answer"))) == Score.error("no answer")
    True
    """
    score, verdict, details = stored.get("score"), stored.get("verdict"), stored.get("details")
    return Score(
        score=float(score) if isinstance(score, int | float) else None,
        verdict=Verdict(verdict) if isinstance(verdict, str) else None,
        hits=_texts(stored.get("hits")),
        misses=_texts(stored.get("misses")),
        reasoning=str(stored.get("reasoning", "")),
        details=details if isinstance(details, dict) else {},
        status=Status(str(stored.get("status", Status.OK))),
        vacuous=stored.get("vacuous") is True,
        skipped=_texts(stored.get("skipped")),
        warnings=_texts(stored.get("warnings")),
    )


def evaluator_result_to_json(result: EvaluatorResult) -> JsonObject:
    """Return the result of an evaluator as a row of results stores it."""
    return {
        "name": result.name,
        "type": result.type,
        "weight": result.weight,
        **score_to_json(result.score),
    }


def evaluator_result_from_json(stored: JsonValue) -> EvaluatorResult:
    """Parse the result of an evaluator; an invalid one raises `ValueError`."""
    match stored:
        case {"name": str(name), "type": str(kind), "weight": float() | int() as weight}:
            score = score_from_json(cast("JsonObject", stored))
            return EvaluatorResult(name=name, type=kind, weight=float(weight), score=score)
        case _:
            raise ValueError("the result of an evaluator must have a name, a type and a weight")


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
