"""Recorded verdicts of a language model: grades become matches or mistakes, failures errors."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import fieldmark as fm

VERDICTS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data/extractbench-research/verdicts.jsonl")
    .read_text("utf-8")
    .splitlines()
]
SETUPS = sorted({verdict["setup"] for verdict in VERDICTS})


def replayed(verdicts):
    """Score the papers of one setup with the recorded similarities."""
    papers = sorted({verdict["paper"] for verdict in verdicts})
    sides = {side: {paper: {} for paper in papers} for side in ("expected", "candidate")}
    for verdict in verdicts:
        for side, documents in sides.items():
            documents[verdict["paper"]][verdict["path"]] = verdict[side]
    scores = [
        {key: verdict[key] for key in ("expected", "candidate", "similarity")}
        for verdict in verdicts
        if verdict["similarity"] is not None
    ]
    truth, predictions = (
        [{"id": paper, **document} for paper, document in sides[side].items()]
        for side in ("expected", "candidate")
    )
    rules = {
        "provider": {"type": "recorded", "scores": scores},
        "defaults": {"match": "semantic", "threshold": 0.8},
    }
    return fm.score(truth, predictions, rules=rules)


@pytest.mark.parametrize("setup", SETUPS)
def test_grades_become_matches_or_mistakes_and_failures_become_bounds(setup):
    verdicts = [verdict for verdict in VERDICTS if verdict["setup"] == setup]
    run = replayed(verdicts)
    graded = [verdict for verdict in verdicts if verdict["similarity"] is not None]
    passed = Counter(verdict["path"] for verdict in graded if verdict["passed"])
    failed = Counter(verdict["path"] for verdict in graded if not verdict["passed"])
    unknown = Counter(verdict["path"] for verdict in verdicts if verdict["similarity"] is None)
    bounds = run.summary.bounds
    low, high = (run.summary, run.summary) if bounds is None else (bounds.low, bounds.high)
    assert (bounds is None) is (not unknown)
    for path in {verdict["path"] for verdict in graded}:
        least, most = low.attributes[path], high.attributes[path]
        assert (least.tp, least.fp, least.fn) == (passed[path], failed[path], failed[path])
        assert most.tp == passed[path] + unknown[path]
        assert most.fp == most.fn == failed[path] + unknown[path]
    assert low.micro.tp == passed.total()
    assert run.summary.cases.errors == len(
        {v["paper"] for v in verdicts if v["similarity"] is None}
    )


def test_judge_failures_are_not_counted_as_mistakes():
    failures = [verdict for verdict in VERDICTS if verdict["similarity"] is None]
    assert len(failures) == 5
    assert not any(verdict["passed"] for verdict in failures)
    run = replayed([verdict for verdict in VERDICTS if verdict["setup"] == failures[0]["setup"]])
    citations = run.attributes["citations"]
    assert (citations.tp, citations.fp, citations.fn, citations.errors) == (0, 0, 0, 1)
