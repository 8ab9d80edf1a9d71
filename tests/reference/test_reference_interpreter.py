"""The leaf rules in words, told alike by the slow interpreter and by the plan."""

from __future__ import annotations

from collections import Counter

import pytest

from fieldmark.align.index import Index
from fieldmark.compare.any_of import AnyOf
from fieldmark.compare.exact import Exact
from fieldmark.compare.ignore import Ignore
from fieldmark.model.json import MISSING
from fieldmark.model.outcome import CELL_BITS, fact_of
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.plan import compile_plan
from reference.interpreter import Fact, interpret

PRESENCES = {"-": "ABSENT", "n": "NULL", "b": "BLANK", "v": "VALUE"}
UNION = Rules(aligner=Index())
WHOLE = Rules(fields=(Rule(path="a", comparator=Exact()),))
IGNORED = Rules(fields=(Rule(path="a", comparator=Ignore()),))
ANY_OF = Rules(fields=(Rule(path="a", comparator=AnyOf(inner=Exact())),))
CONFIGURED = Rules(scope=Scope.CONFIGURED, fields=(Rule(path="a.b"), Rule(path="c[*].d")))
TRUTH = Rules(scope=Scope.TRUTH, aligner=Index())
TOP = Rules(depth=Depth.TOP)


def told(text):
    """`a omission v-; b match vv` as a multiset of facts."""
    found = Counter()
    for part in filter(None, text.split("; ")):
        attribute, outcome, (before, after) = part.split(" ")
        found[Fact(attribute, outcome.upper(), PRESENCES[before], PRESENCES[after])] += 1
    return found


def planned(expected, candidate, rules):
    plan = compile_plan(rules)
    found = Counter()
    for cell in plan.compare(expected, candidate).cells:
        outcome, before, after = fact_of(cell)
        attribute = plan.table.path(cell >> CELL_BITS)
        found[Fact(attribute, outcome.name, before.name, after.name)] += 1
    return found


@pytest.mark.parametrize(
    ("rules", "expected", "candidate", "facts"),
    [
        pytest.param(UNION, {"a": 1}, {"a": 1.0}, "a match vv", id="equal-values-match"),
        pytest.param(
            UNION, {"a": 1}, {"a": 2}, "a wrong_value vv", id="the-right-kind-and-not-the-value"
        ),
        pytest.param(
            UNION, {"a": 1}, {"a": True}, "a format_error vv", id="a-boolean-is-no-number"
        ),
        pytest.param(UNION, {"a": 1}, {}, "a omission v-", id="a-missing-key-is-an-omission"),
        pytest.param(UNION, {"a": 1}, {"a": None}, "a omission vn", id="a-null-is-an-omission"),
        pytest.param(UNION, {"a": 1}, {"a": " "}, "a omission vb", id="blanks-are-an-omission"),
        pytest.param(
            UNION, {"a": None}, {"a": 1}, "a hallucination nv", id="a-value-for-a-null-is-invented"
        ),
        pytest.param(
            UNION,
            {"b": 1},
            {"b": 1, "a": 1},
            "b match vv; a hallucination -v",
            id="a-key-that-the-truth-lacks-is-invented",
        ),
        pytest.param(
            UNION, {"a": None}, {"a": ""}, "a both_empty nb", id="null-and-blank-are-both-empty"
        ),
        pytest.param(
            UNION,
            {"a": {"b": 1, "c": 2}},
            {"a": {"c": 2, "d": 3}},
            "a.b omission v-; a.c match vv; a.d hallucination -v",
            id="objects-are-walked-by-the-union-of-their-keys",
        ),
        pytest.param(
            UNION, {"x.y": 1}, {"x.y": 1}, '["x.y"] match vv', id="a-key-with-a-dot-is-quoted"
        ),
        pytest.param(
            UNION, {"a": {}}, {"a": {}}, "a match vv", id="two-empty-objects-are-one-match"
        ),
        pytest.param(
            UNION, {"a": []}, {"a": {}}, "a format_error vv", id="an-empty-list-is-no-empty-object"
        ),
        pytest.param(UNION, {"a": {}}, {}, "a omission v-", id="an-empty-object-can-be-omitted"),
        pytest.param(
            UNION, {"a": None}, {"a": []}, "a hallucination nv", id="an-empty-list-can-be-invented"
        ),
        pytest.param(
            UNION,
            {"a": {}},
            {"a": {"b": 1}},
            "a.b hallucination -v",
            id="against-a-full-container-an-empty-one-does-not-count",
        ),
        pytest.param(
            UNION,
            {"a": []},
            {"a": 5},
            "a format_error vv",
            id="an-empty-container-against-a-scalar",
        ),
        pytest.param(
            UNION,
            {"a": 5},
            {"a": {}},
            "a format_error vv",
            id="a-scalar-against-an-empty-container",
        ),
        pytest.param(
            UNION,
            {"a": 5},
            {"a": {"b": 1, "c": 2}},
            "a format_error vv",
            id="a-scalar-against-a-full-container",
        ),
        pytest.param(
            UNION,
            {"a": {"b": 1, "c": None}},
            {"a": 5},
            "a.b omission v-; a.c both_empty n-; a hallucination -v",
            id="a-full-container-against-a-scalar",
        ),
        pytest.param(
            UNION,
            {"a": {"b": 1}},
            {"a": [1, 2]},
            "a.b omission v-; a[] hallucination -v; a[] hallucination -v",
            id="an-object-against-a-list",
        ),
        pytest.param(
            UNION,
            {"a": None},
            {"a": {"b": 1, "c": None}},
            "a.b hallucination -v; a.c both_empty -n",
            id="nothing-against-an-object",
        ),
        pytest.param(
            UNION,
            {"a": {"b": 1, "c": ""}},
            {"a": None},
            "a.b omission v-; a.c both_empty b-",
            id="an-object-against-nothing",
        ),
        pytest.param(
            UNION,
            {"a": [{"b": 1}, {"b": 2, "c": None}]},
            {"a": [{"b": 1}]},
            "a[].b match vv; a[].b omission v-",
            id="of-an-unmatched-item-only-what-is-not-empty-counts",
        ),
        pytest.param(
            UNION,
            {"a": [1, None]},
            {"a": [1]},
            "a[] match vv",
            id="an-unmatched-null-counts-nothing",
        ),
        pytest.param(UNION, 5, 6, "$ wrong_value vv", id="a-scalar-document-is-a-dollar"),
        pytest.param(
            UNION,
            [{"a": 1}],
            [{"a": 1}, 7],
            "[].a match vv; [] hallucination -v",
            id="a-list-document-is-aligned",
        ),
        pytest.param(
            UNION,
            {"a": 1, "b": None},
            MISSING,
            "a omission v-; b both_empty n-",
            id="no-candidate-is-all-omissions",
        ),
        pytest.param(
            WHOLE,
            {"a": {"b": 1}},
            {"a": {"b": 2}},
            "a wrong_value vv",
            id="a-named-comparator-makes-a-container-a-leaf",
        ),
        pytest.param(
            WHOLE, {"a": {"b": 1}}, {"a": None}, "a omission vn", id="and-it-is-omitted-whole"
        ),
        pytest.param(
            IGNORED,
            {"a": {"b": 1}},
            {"a": None},
            "a ignored vn",
            id="an-ignored-subtree-is-one-outcome",
        ),
        pytest.param(
            IGNORED,
            {"b": 1},
            {"b": 1},
            "b match vv",
            id="an-ignored-field-that-nobody-has-is-nothing",
        ),
        pytest.param(
            ANY_OF, {"a": [1, 2]}, {"a": 2}, "a match vv", id="one-acceptable-answer-is-enough"
        ),
        pytest.param(
            ANY_OF,
            {"a": [None, ""]},
            {"a": 2},
            "a hallucination bv",
            id="no-acceptable-answer-is-blank",
        ),
        pytest.param(
            CONFIGURED,
            {"z": 1},
            {"a": 2},
            "a.b both_empty --",
            id="a-configured-field-absent-on-both-sides-is-both-empty",
        ),
        pytest.param(
            CONFIGURED,
            {"a": {"b": 1}, "c": [{"d": 1, "e": 1}]},
            {"a": 5, "c": [{"d": 1, "e": 2}]},
            "a.b omission v-; c[].d match vv",
            id="only-configured-fields-are-looked-at",
        ),
        pytest.param(
            TRUTH,
            {"a": 1, "b": {}},
            {"a": 1, "b": {"c": 1}, "d": 1},
            "a match vv; b wrong_value vv",
            id="what-only-the-candidate-has-is-out-of-the-truths-scope",
        ),
        pytest.param(
            TOP,
            {"a": {"b": 1}},
            {"a": {"b": 2}, "c": []},
            "a wrong_value vv; c hallucination -v",
            id="top-level-keys-are-compared-whole",
        ),
    ],
)
def test_what_happens_to_every_field(rules, expected, candidate, facts):
    assert interpret(expected, candidate, rules) == told(facts)
    assert planned(expected, candidate, rules) == told(facts)
