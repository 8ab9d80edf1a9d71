"""A plan that has written functions for the shapes it knows says what a new plan says."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldmark.compare.date import DateMatch
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.compare.text import ExactText
from fieldmark.model.rule import Rule, Rules, Scope
from fieldmark.plan import compile_plan
from fieldmark.plan.shapes import LEARNT
from json_strategies import changed, document_pairs

RULES = {
    "nothing configured": Rules(),
    "texts are fuzzy": Rules(default=Fuzzy()),
    "texts without case": Rules(default=ExactText()),
    "only what the truth has": Rules(scope=Scope.TRUTH),
    "empty words": Rules(empty_tokens=frozenset({"blue"})),
    "a comparator for each kind": Rules(
        fields=(
            Rule(path="**.total", comparator=NumericTolerance(tolerance=Decimal("0.01"))),
            Rule(path="**.name", comparator=Fuzzy()),
            Rule(path="**.a", comparator=DateMatch()),
        )
    ),
}


def told(plan, expected, candidate):
    block = plan.compare(expected, candidate)
    return [
        (record.path, record.candidate_path, record.outcome, *record[4:])
        for record in block.records(plan.table)
    ]


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=max(10, settings().max_examples // 4))
@given(data=st.data(), pair=document_pairs())
def test_a_plan_that_knows_a_shape_says_what_a_new_plan_says(name, data, pair):
    expected, candidate = pair
    experienced = compile_plan(RULES[name])
    for _ in range(LEARNT + 1):
        experienced.compare(expected, candidate)
        experienced.compare(expected, expected)
    for one, other in (
        (expected, candidate),
        (expected, expected),
        (data.draw(changed(expected)), candidate),
        (expected, data.draw(changed(expected))),
    ):
        assert told(experienced, one, other) == told(compile_plan(RULES[name]), one, other)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        pytest.param("text", "  ", id="text-that-is-blank-now"),
        pytest.param("text", "", id="text-that-is-empty-now"),
        pytest.param("text", None, id="text-that-is-null-now"),
        pytest.param("text", 5, id="text-that-is-a-number-now"),
        pytest.param(5, "5", id="a-number-that-is-text-now"),
        pytest.param(5, True, id="a-number-that-is-a-boolean-now"),
        pytest.param(1, 1.0, id="an-integer-that-is-a-float-now"),
        pytest.param(5.5, float("inf"), id="a-number-that-is-infinite-now"),
        pytest.param({"b": 1}, [1], id="an-object-that-is-a-list-now"),
        pytest.param({"b": 1}, {}, id="an-object-that-is-empty-now"),
        pytest.param({"b": 1}, "text", id="an-object-that-is-text-now"),
    ],
)
@pytest.mark.parametrize(
    "rules", [Rules(), Rules(default=NumericTolerance())], ids=["exact", "number"]
)
def test_a_field_that_is_something_else_today_takes_the_long_way(before, now, rules):
    plan = compile_plan(rules)
    for _ in range(LEARNT + 1):
        plan.compare({"a": before, "z": "x"}, {"a": before, "z": "x"})
    document = {"a": now, "z": "x"}
    assert told(plan, document, document) == told(compile_plan(rules), document, document)
    known = {"a": before, "z": "x"}
    assert told(plan, known, document) == told(compile_plan(rules), known, document)
