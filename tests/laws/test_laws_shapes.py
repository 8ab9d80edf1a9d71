"""A plan that has written functions for the shapes it knows says what a new plan says."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldmark.compare.date import DateMatch
from fieldmark.compare.exact import ExactText
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.numeric import NumericTolerance
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
        pytest.param(1, True, id="a-number-that-is-an-equal-boolean-now"),
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


NESTED = {"a": "text", "b": {"c": 1.5, "d": {"e": "inside", "f": 2}}, "g": "last"}


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param(NESTED, {**NESTED, "new": 1}, id="a-key-that-only-the-candidate-has"),
        pytest.param(NESTED, {"a": "text"}, id="objects-that-the-candidate-lacks"),
        pytest.param(
            NESTED, {**NESTED, "b": {**NESTED["b"], "new": " "}}, id="a-further-key-inside"
        ),
        pytest.param(
            NESTED,
            {**NESTED, "b": {"c": 1.5, "new": 1}},
            id="as-many-keys-inside-but-others",
        ),
        pytest.param(
            NESTED, {"g": "last", "b": NESTED["b"], "a": "text"}, id="keys-in-another-order"
        ),
        pytest.param(
            {**NESTED, "b": {"d": NESTED["b"]["d"], "c": 1.5}},
            NESTED,
            id="a-truth-with-keys-inside-in-another-order",
        ),
        pytest.param({**NESTED, "b": {}}, NESTED, id="a-truth-that-is-empty-inside"),
        pytest.param(NESTED, {**NESTED, "b": {}}, id="a-candidate-that-is-empty-inside"),
        pytest.param({**NESTED, "a": ""}, {**NESTED, "a": ""}, id="empty-text-on-both-sides"),
        pytest.param({**NESTED, "a": " "}, {**NESTED, "a": None}, id="blanks-against-null"),
        pytest.param({**NESTED, "a": " "}, {"g": "last"}, id="blanks-against-nothing"),
        pytest.param(NESTED, {**NESTED, "a": None}, id="a-value-against-null"),
        pytest.param(
            {**NESTED, "b": {"c": True, "d": 1}},
            {**NESTED, "b": {"c": 1, "d": 1.0}},
            id="a-boolean-against-a-number-inside",
        ),
    ],
)
@pytest.mark.parametrize("name", RULES)
def test_objects_inside_a_known_object_are_told_in_the_order_of_the_walk(name, expected, candidate):
    plan = compile_plan(RULES[name])
    for _ in range(LEARNT + 1):
        plan.compare(NESTED, NESTED)
    assert told(plan, expected, candidate) == told(compile_plan(RULES[name]), expected, candidate)


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([{"a": "x", "b": 1}], id="text-and-a-number"),
        pytest.param([{"a": " ", "b": None}], id="nothing-but-blanks"),
        pytest.param([{"a": "blue", "b": True}], id="an-empty-word-and-a-boolean"),
        pytest.param([{"a": {"b": "x"}, "b": [1]}], id="containers"),
    ],
)
@pytest.mark.parametrize("name", RULES)
def test_an_item_without_counterpart_is_told_alike_by_a_plan_that_knows_its_fields(name, items):
    plan = compile_plan(RULES[name])
    known = {"l": [{"a": "x", "b": 1}, {"a": "y", "b": 2}]}
    for _ in range(LEARNT + 1):
        plan.compare(known, known)
    other = {"l": [{"a": "quite another", "b": 900}]}
    for pair in (({"l": items}, other), (other, {"l": items})):
        assert told(plan, *pair) == told(compile_plan(RULES[name]), *pair)
