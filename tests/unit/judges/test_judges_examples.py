"""The example judges do what their first lines promise, and agree with the built-in evaluators."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fieldmark.evaluators.base import Status
from fieldmark.evaluators.field_confusion import FieldConfusion
from fieldmark.evaluators.line_items import LineItems
from fieldmark.judges.code_judge import CodeJudge
from fieldmark.model.case import Case
from fieldmark.model.rule import Rule

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "judges"
INVOICES = ROOT / "tests" / "data" / "agentv-document-extraction"
SCRIPTS = sorted(EXAMPLES.glob("*.*"))
INTERPRETERS = {".py": sys.executable, ".js": "node"}
MOST_LINES = 100

HEADER = ("invoice_number", "invoice_date", "currency", "supplier.name", "importer.name", "gross_total")  # fmt: skip


def example(name, **options):
    script = EXAMPLES / name
    return CodeJudge(script=(INTERPRETERS[script.suffix], str(script)), **options)


def judged(name, expected, candidate, protocol="lines", **config):
    judge = example(name, protocol=protocol, config=config)
    assert judge.unready() is None
    with judge.opened() as judging:
        said = judging(Case("a", expected, candidate))
    assert said.status is Status.OK, said.reasoning
    return said


def rows(name):
    lines = (INVOICES / name).read_text("utf-8").splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_an_example_is_short_and_says_how_it_is_used(script):
    text = script.read_text("utf-8")
    assert text.count("\n") <= MOST_LINES
    assert "type: code_judge" in text
    assert f"judges/{script.name}" in text


@pytest.mark.parametrize("protocol", ["process", "lines"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_an_example_speaks_both_protocols(script, protocol):
    document = {"line_items": [{"description": "a", "amount": 2}], "total": 2}
    config = {"fields": [{"path": "total"}], "path": "line_items"}
    said = judged(script.name, document, document, protocol, **config)
    assert said.score == 1.0


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_an_example_stands_a_candidate_that_is_not_there(script):
    document = {"line_items": [{"description": "a", "amount": 2}], "total": "two"}
    config = {"fields": [{"path": "total"}], "path": "line_items"}
    said = judged(script.name, document, None, **config)
    assert said.score < 0.5


def test_header_confusion_gives_the_recorded_scores():
    expected, candidate = rows("truth.jsonl"), rows("candidate.jsonl")
    fields = [{"path": path} for path in HEADER]
    built_in = FieldConfusion(fields=tuple(Rule(path=path) for path in HEADER))
    with example(
        "header_confusion.py", protocol="lines", config={"fields": fields}
    ).opened() as ask:
        for name, row in expected.items():
            documents = row["expected"], candidate[name]["candidate"]
            said = ask(Case(name, *documents))
            assert said.score == pytest.approx(built_in.evaluate(*documents).score), said


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param(["Widget", "Bolt"], ["Bolt", "Widget"], id="another-order"),
        pytest.param(["Widget", "Bolt"], ["Widgets"], id="one-is-lost-and-one-alike"),
        pytest.param(["Widget"], ["Widget", "Widget"], id="one-is-there-twice"),
        pytest.param(["Widget"], ["Something else"], id="nothing-alike"),
    ],
)
def test_line_items_agree_with_the_evaluator(expected, candidate):
    sides = [
        {"rows": [{"description": text, "amount": 10 * number} for number, text in enumerate(side)]}
        for side in (expected, candidate)
    ]
    built_in = LineItems(path="rows", match_fields=("description",), threshold=0.8)
    scored = ["description", "amount"]
    said = judged("line_items.py", *sides, path="rows", score_fields=scored)
    want = built_in.evaluate(*sides)
    assert said.score == pytest.approx(want.score)
    pairs = [(row["expected_idx"], row["parsed_idx"]) for row in said.details["alignment"]]
    known = [(row["expected_idx"], row["parsed_idx"]) for row in want.details["alignment"]]
    assert sorted(pairs) == sorted(known)


def test_multi_field_fuzzy_has_a_threshold_for_each_field():
    expected = {"supplier": {"name": "Acme Shipping"}, "importer": {"name": "Global Trade Co"}}
    candidate = {"supplier": {"name": "Acme - Shipping"}, "importer": {"name": "Global Co"}}
    fields = [{"path": "supplier.name", "threshold": 0.85}, {"path": "importer.name", "threshold": 0.9}]  # fmt: skip
    said = judged("multi_field_fuzzy.py", expected, candidate, fields=fields)
    assert said.hits == ("supplier.name",)
    assert said.details["similarity"]["supplier.name"] == pytest.approx(13 / 15)
    assert said.score == pytest.approx(13 / 30)


@pytest.mark.parametrize(
    ("candidate", "score", "hit"),
    [
        pytest.param(" ACME corp ", 1.0, True, id="but-for-case-and-blanks"),
        pytest.param("Acme Corq", 8 / 9, True, id="alike"),
        pytest.param("Bolt", 0.0, False, id="not-alike"),
    ],
)
def test_fuzzy_match_compares_two_texts(candidate, score, hit):
    said = judged("fuzzy_match.py", "Acme Corp", candidate, threshold=0.85)
    assert said.score == pytest.approx(score, abs=0.35 if not hit else 1e-6)
    assert bool(said.hits) is hit


@pytest.mark.parametrize(
    ("total", "score"),
    [
        pytest.param(30, 1.0, id="it-adds-up"),
        pytest.param(30.01, 1.0, id="a-gap-that-may-be"),
        pytest.param(30.02, 0.0, id="a-gap-that-may-not-be"),
        pytest.param("much", 0.0, id="no-number"),
    ],
)
def test_a_total_adds_up_in_javascript(total, score):
    candidate = {"line_items": [{"amount": 10}, {"amount": "20.00"}], "total": total}
    assert judged("total_adds_up.js", {}, candidate, max_gap=0.01).score == score
