"""Scores of evaluators as JSON."""

from __future__ import annotations

from fieldmark.evaluators.base import Score
from fieldmark.model.case import Verdict
from fieldmark.values.records import to_json


def test_a_score_as_json_has_every_key():
    score = Score(score=0.5, verdict=Verdict.PARTIAL, hits=("a",), misses=("b",), skipped=("c",))
    assert to_json(score) == {
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
