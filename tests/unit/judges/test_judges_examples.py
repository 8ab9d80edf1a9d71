"""The example judges do what their docstrings say, and agree with the built-in evaluators."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fieldmark.evaluators.base import Status
from fieldmark.evaluators.configured_fields import FieldConfusion
from fieldmark.evaluators.line_items import LineItems
from fieldmark.judges.code_judge import CodeJudge
from fieldmark.model.case import Case
from fieldmark.model.rule import Rule
from waiting import TIMEOUT

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "judges"
INVOICES = ROOT / "tests" / "data" / "agentv-document-extraction"
SCRIPTS = sorted(EXAMPLES.glob("*.*"))
INTERPRETERS = {".py": sys.executable, ".js": "node"}
MAX_LINES = 100

HEADER = ("invoice_number", "invoice_date", "currency", "supplier.name", "importer.name", "gross_total")  # fmt: skip


def example(name, **options):
    script = EXAMPLES / name
    command = (INTERPRETERS[script.suffix], str(script))
    return CodeJudge(script=command, timeout=TIMEOUT, **options)


def score_with(name, expected, candidate, protocol="lines", **config):
    judge = example(name, protocol=protocol, config=config)
    assert judge.unready() is None
    with judge.opened() as score_case:
        score = score_case(Case("a", expected, candidate))
    assert score.status is Status.OK, score.reasoning
    return score


def rows(name):
    lines = (INVOICES / name).read_text("utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_example_is_short_and_documents_its_use(script):
    text = script.read_text("utf-8")
    assert text.count("\n") <= MAX_LINES
    assert "type: code_judge" in text
    assert f"judges/{script.name}" in text


@pytest.mark.parametrize("protocol", ["process", "lines"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_example_supports_both_protocols(script, protocol):
    document = {"line_items": [{"description": "a", "amount": 2}], "total": 2}
    config = {"fields": [{"path": "total"}], "path": "line_items"}
    score = score_with(script.name, document, document, protocol, **config)
    assert score.score == 1.0


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_example_accepts_a_missing_candidate(script):
    document = {"line_items": [{"description": "a", "amount": 2}], "total": "two"}
    config = {"fields": [{"path": "total"}], "path": "line_items"}
    score = score_with(script.name, document, None, **config)
    assert score.score < 0.5


def test_header_confusion_agrees_with_the_evaluator():
    expected, candidate = rows("truth.jsonl"), rows("candidate.jsonl")
    fields = [{"path": path} for path in HEADER]
    built_in = FieldConfusion(fields=tuple(Rule(path=path) for path in HEADER))
    with example(
        "header_confusion.py", protocol="lines", config={"fields": fields}
    ).opened() as score_case:
        for name, row in expected.items():
            documents = row["expected"], candidate[name]["candidate"]
            score = score_case(Case(name, *documents))
            assert score.score == pytest.approx(built_in.evaluate(*documents).score), score


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param(["Widget", "Bolt"], ["Bolt", "Widget"], id="other-order"),
        pytest.param(["Widget", "Bolt"], ["Widgets"], id="missing-and-similar"),
        pytest.param(["Widget"], ["Widget", "Widget"], id="duplicate"),
        pytest.param(["Widget"], ["Something else"], id="dissimilar"),
    ],
)
def test_line_items_agree_with_the_evaluator(expected, candidate):
    sides = [
        {"rows": [{"description": text, "amount": 10 * number} for number, text in enumerate(side)]}
        for side in (expected, candidate)
    ]
    built_in = LineItems(path="rows", match_fields=("description",), threshold=0.8)
    scored = ["description", "amount"]
    score = score_with("line_items.py", *sides, path="rows", score_fields=scored)
    reference = built_in.evaluate(*sides)
    assert score.score == pytest.approx(reference.score)
    pairs = [(row["expected_idx"], row["parsed_idx"]) for row in score.details["alignment"]]
    known = [(row["expected_idx"], row["parsed_idx"]) for row in reference.details["alignment"]]
    assert sorted(pairs) == sorted(known)


def test_multi_field_fuzzy_has_a_threshold_for_each_field():
    expected = {"supplier": {"name": "Acme Shipping"}, "importer": {"name": "Global Trade Co"}}
    candidate = {"supplier": {"name": "Acme - Shipping"}, "importer": {"name": "Global Co"}}
    fields = [{"path": "supplier.name", "threshold": 0.85}, {"path": "importer.name", "threshold": 0.9}]  # fmt: skip
    score = score_with("multi_field_fuzzy.py", expected, candidate, fields=fields)
    assert score.hits == ("supplier.name",)
    assert score.details["similarity"]["supplier.name"] == pytest.approx(13 / 15)
    assert score.score == pytest.approx(13 / 30)


@pytest.mark.parametrize(
    ("candidate", "similarity", "hit"),
    [
        pytest.param(" ACME corp ", 1.0, True, id="case-and-whitespace"),
        pytest.param("Acme Corq", 8 / 9, True, id="similar"),
        pytest.param("Bolt", 0.0, False, id="dissimilar"),
    ],
)
def test_fuzzy_match_compares_two_strings(candidate, similarity, hit):
    score = score_with("fuzzy_match.py", "Acme Corp", candidate, threshold=0.85)
    assert score.score == pytest.approx(similarity, abs=0.35 if not hit else 1e-6)
    assert bool(score.hits) is hit


@pytest.mark.parametrize(
    ("total", "score"),
    [
        pytest.param(30, 1.0, id="exact"),
        pytest.param(30.01, 1.0, id="within-tolerance"),
        pytest.param(30.02, 0.0, id="outside-tolerance"),
        pytest.param("much", 0.0, id="not-a-number"),
    ],
)
def test_total_adds_up_in_javascript(total, score):
    candidate = {"line_items": [{"amount": 10}, {"amount": "20.00"}], "total": total}
    assert score_with("total_adds_up.js", {}, candidate, max_gap=0.01).score == score
