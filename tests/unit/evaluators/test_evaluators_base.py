"""The score of an evaluator as a record."""

from __future__ import annotations

from fieldmark.evaluators.base import Score, Status
from fieldmark.model.case import Verdict


def test_a_breakdown_is_an_error_without_score_or_verdict():
    score = Score.error("the judge did not answer")
    assert (score.score, score.verdict, score.status) == (None, None, Status.ERROR)
    assert score.reasoning == "the judge did not answer"


def test_a_score_as_json_has_every_key():
    score = Score(score=0.5, verdict=Verdict.PARTIAL, hits=("a",), misses=("b",), skipped=("c",))
    assert score.to_dict() == {
        "score": 0.5,
        "verdict": "partial",
        "status": "ok",
        "vacuous": False,
        "hits": ["a"],
        "misses": ["b"],
        "skipped": ["c"],
        "reasoning": "",
        "details": {},
    }
