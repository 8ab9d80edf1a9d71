"""The score of an evaluator."""

from __future__ import annotations

from fieldmark.evaluators.base import Score, Status


def test_failed_evaluation_has_no_score_or_verdict():
    score = Score.error("the judge did not respond")
    assert (score.score, score.verdict, score.status) == (None, None, Status.ERROR)
    assert score.reasoning == "the judge did not respond"
