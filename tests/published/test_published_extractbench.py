"""Verdicts of a language model, replayed: its grades are matches or not, its failures errors."""

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
    """A run over the papers of one set-up, judged by what was recorded of them."""
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
    truth, found = (
        [{"id": paper, **document} for paper, document in sides[side].items()]
        for side in ("expected", "candidate")
    )
    rules = {
        "provider": {"type": "recorded", "scores": scores},
        "defaults": {"match": "semantic", "threshold": 0.8},
    }
    return fm.score(truth, found, rules=rules)


@pytest.mark.parametrize("setup", SETUPS)
def test_every_grade_is_a_match_or_not_and_every_failure_an_error(setup):
    verdicts = [verdict for verdict in VERDICTS if verdict["setup"] == setup]
    run = replayed(verdicts)
    graded = [verdict for verdict in verdicts if verdict["similarity"] is not None]
    passed = Counter(verdict["path"] for verdict in graded if verdict["passed"])
    failed = Counter(verdict["path"] for verdict in graded if not verdict["passed"])
    for path in {verdict["path"] for verdict in graded}:
        counts = run.attributes[path]
        assert (counts.tp, counts.fp, counts.fn) == (passed[path], failed[path], failed[path])
    assert run.micro.tp == passed.total()
    assert run.summary.cases.errors == len(
        {v["paper"] for v in verdicts if v["similarity"] is None}
    )


def test_failures_of_the_judge_are_no_zeroes():
    failures = [verdict for verdict in VERDICTS if verdict["similarity"] is None]
    assert len(failures) == 5
    assert not any(verdict["passed"] for verdict in failures)
    run = replayed([verdict for verdict in VERDICTS if verdict["setup"] == failures[0]["setup"]])
    citations = run.attributes["citations"]
    assert (citations.tp, citations.fp, citations.fn, citations.errors) == (0, 0, 0, 1)


def test_the_judge_graded_one_pair_in_two_ways():
    grades = {}
    for verdict in VERDICTS:
        grades.setdefault((verdict["expected"], verdict["candidate"]), set()).add(
            verdict["similarity"]
        )
    assert max(map(len, grades.values())) == 2
