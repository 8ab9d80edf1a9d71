"""Constraints across fields: hits, misses, skipped rules and scores."""

from __future__ import annotations

import re

import pytest

from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Status
from fieldmark.evaluators.constraints import Constraint, Constraints
from fieldmark.evaluators.expressions import values
from fieldmark.model.case import Verdict

SUM = "sum(lines[].amount) == total ± 0.01"
RULES = (
    SUM,
    "due >= issued",
    Constraint(name="reference", check="if order then reference required", weight=2),
)
GOOD = {"lines": [{"amount": 118.0}, {"amount": 2}], "total": 120.0, "issued": "2024-01-01", "due": "2024-02-01", "order": 7, "reference": "x"}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "score", "verdict", "misses", "skipped"),
    [
        pytest.param({}, 1.0, "pass", [], [], id="all-hold"),
        pytest.param({"total": 122.0}, 0.75, "partial", [f"{SUM}: 120.0 vs. 122.0 (differs by 2.0)"], [], id="one-fails-with-values"),
        pytest.param({"reference": None}, 0.5, "partial", ["reference: reference is null"], [], id="weight-of-named-rule"),
        pytest.param({"order": None}, 1.0, "pass", [], ["reference: order does not hold"], id="premise-false"),
        pytest.param({"due": None}, 1.0, "pass", [], ["due >= issued: due is null"], id="missing-value"),
        pytest.param({"total": "n/a"}, 0.75, "partial", [f'{SUM}: total is the string "n/a", not a number'], [], id="value-of-wrong-type"),
        pytest.param({"total": 0, "due": "2023-01-01", "reference": ""}, 0.0, "fail", None, [], id="none-holds"),
    ],
)  # fmt: skip
def test_score_is_the_share_of_applicable_constraints(change, score, verdict, misses, skipped):
    result = Constraints(rules=RULES).evaluate({}, {**GOOD, **change})
    assert result.score == pytest.approx(score)
    assert result.verdict == verdict
    assert misses is None or list(result.misses) == misses
    assert list(result.skipped) == skipped
    assert len(result.hits) + len(result.misses) + len(result.skipped) == len(RULES)
    assert result.status is Status.OK


def test_score_is_vacuous_if_no_constraint_applies():
    result = Constraints(rules=("a > 1",)).evaluate({}, {})
    assert (result.score, result.verdict, result.vacuous) == (1.0, Verdict.PASS, True)
    assert result.reasoning == "0/0 constraints hold"


def test_rule_can_refer_to_the_ground_truth():
    rule = Constraints(rules=("count(lines[]) == count($expected.lines[])",))
    assert rule.evaluate({"lines": [1]}, GOOD).misses[0].endswith("2 vs. 1 (differs by 1)")


def test_details_list_every_constraint():
    rules = ("a == 1", "b > 1", "c > 1", "d < 2", "e in ['x']")
    candidate = {"a": 1, "b": "x", "d": "1.000000000000000000001e40", "e": "y"}
    assert Constraints(rules=rules).evaluate({}, candidate).details == {
        "constraints": [
            {"name": "a == 1", "weight": 1.0, "holds": True, "left": 1.0, "right": 1.0},
            {"name": "b > 1", "weight": 1.0, "holds": False, "reason": 'b is the string "x", not a number'},
            {"name": "c > 1", "weight": 1.0, "holds": None, "reason": "c is missing"},
            {"name": "d < 2", "weight": 1.0, "holds": False, "left": "1.000000000000000000001E+40", "right": 2.0, "reason": "1.000000000000000000001E+40 vs. 2"},
            {"name": "e in ['x']", "weight": 1.0, "holds": False, "left": "y", "reason": '"y" is not in the list'},
        ]
    }  # fmt: skip


def test_constraints_with_weight_0_do_not_affect_the_score():
    aside = Constraint(check="a == 2", weight=0.0)
    result = Constraints(rules=("a == 1", aside)).evaluate({}, {"a": 1})
    assert (result.score, result.verdict) == (1.0, Verdict.PARTIAL)
    assert Constraints(rules=("b == 1", aside)).evaluate({}, {"a": 1}).score == 0.0
    assert Constraints(rules=("b == 1", aside)).evaluate({}, {"a": 2}).score == 1.0


def test_too_large_document_is_an_error_without_a_score(monkeypatch):
    monkeypatch.setattr(values, "MAX_STEPS", 20_000)
    quadratic = Constraints(rules=("all(a[], all($.a[], @ == @))",))
    result = quadratic.evaluate({}, {"a": [1] * 100})
    assert (result.score, result.verdict, result.status) == (None, None, Status.ERROR)
    assert result.reasoning.startswith("all(a[], all($.a[], @ == @)): ")


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        pytest.param((), "must contain at least one rule", id="no-rules"),
        pytest.param(("a",) * 1_001, "must have at most 1,000 rules", id="too-many-rules"),
        pytest.param(("a > 1", "summ(a[]) > 1"), r"^\[1\], column 1: unknown function 'summ'; did you mean 'sum'", id="index-and-column"),
        pytest.param(("a > 1", " a > 1 "), "duplicate name 'a > 1'", id="duplicate-rule"),
        pytest.param((Constraint(name="x", check="a"), Constraint(name="x", check="b")), "duplicate name 'x'", id="duplicate-name"),
        pytest.param((Constraint(check="a", weight=0),), "weight greater than 0", id="total-weight-0"),
        pytest.param((3,), r"\[0\]: expected a string, got 3", id="rule-not-string"),
    ],
)  # fmt: skip
def test_invalid_rules_are_rejected(rules, message):
    with pytest.raises(OptionError) as caught:
        Constraints(rules=rules)
    assert caught.value.option == "rules"
    assert re.search(message, caught.value.message)
