"""The leaf rules, checked for the slow interpreter and for the plan."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from fieldmark.align.exact_methods import Index
from fieldmark.compare.exact import Exact, Ignore
from fieldmark.compare.wrappers import AnyOf
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
LIST = Rules(scope=Scope.CONFIGURED, fields=(Rule(path="c", aligner=Index()),))
LIST_FIELDS = replace(LIST, fields=(*LIST.fields, Rule(path="c[*].d")))
TRUTH = Rules(scope=Scope.TRUTH, aligner=Index())
TOP = Rules(depth=Depth.TOP)


def parse_facts(text):
    """Parse `a omission v-; b match vv` as a multiset of facts."""
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
            UNION,
            {"a": [{"b": None}, {"b": 1, "c": None}, None]},
            {"a": []},
            "a[] omission v-; a[].b omission v-",
            id="missing-item-without-values-is-itself-missing",
        ),
        pytest.param(
            CONFIGURED,
            {"c": [{"e": 1}, 5]},
            {"a": {"b": 1}},
            "c[] omission v-; c[] omission v-; a.b hallucination -v",
            id="missing-item-without-configured-fields-is-itself-missing",
        ),
        pytest.param(
            LIST,
            {"c": [{"d": 1}]},
            {"c": [{"d": 2}], "e": 1},
            "c[].d wrong_value vv",
            id="rule-for-alignment-puts-the-items-into-scope",
        ),
        pytest.param(
            LIST,
            {"c": [{"d": 1}]},
            {"c": "none"},
            "c[].d omission v-; c hallucination -v",
            id="string-in-the-place-of-a-configured-list",
        ),
        pytest.param(
            LIST_FIELDS,
            {"c": [{"d": 1, "e": 2}]},
            {"c": [{"d": 2, "e": 3}]},
            "c[].d wrong_value vv",
            id="fields-of-items-are-the-scope-of-a-list",
        ),
        pytest.param(
            LIST_FIELDS,
            {"c": []},
            {"c": "none"},
            "c hallucination -v",
            id="string-in-the-place-of-an-empty-configured-list",
        ),
        pytest.param(
            LIST_FIELDS,
            {"c": "none"},
            {"c": [{"d": 2}]},
            "c format_error vv",
            id="configured-list-in-the-place-of-a-string",
        ),
        pytest.param(UNION, {"a": 1}, {"a": 2}, "a wrong_value vv", id="right-type-wrong-value"),
        pytest.param(
            UNION, {"a": 1}, {"a": True}, "a format_error vv", id="boolean-is-not-a-number"
        ),
        pytest.param(UNION, {"a": 1}, {}, "a omission v-", id="missing-key-is-omission"),
        pytest.param(UNION, {"a": 1}, {"a": None}, "a omission vn", id="null-is-omission"),
        pytest.param(UNION, {"a": 1}, {"a": " "}, "a omission vb", id="whitespace-is-missing"),
        pytest.param(
            UNION, {"a": None}, {"a": 1}, "a hallucination nv", id="value-for-null-is-extra"
        ),
        pytest.param(
            UNION,
            {"b": 1},
            {"b": 1, "a": 1},
            "b match vv; a hallucination -v",
            id="key-absent-from-truth-is-extra",
        ),
        pytest.param(
            UNION, {"a": None}, {"a": ""}, "a both_empty nb", id="null-and-blank-are-both-empty"
        ),
        pytest.param(
            UNION,
            {"a": {"b": 1, "c": 2}},
            {"a": {"c": 2, "d": 3}},
            "a.b omission v-; a.c match vv; a.d hallucination -v",
            id="objects-are-walked-by-union-of-their-keys",
        ),
        pytest.param(
            UNION, {"x.y": 1}, {"x.y": 1}, '["x.y"] match vv', id="key-with-dot-is-quoted"
        ),
        pytest.param(
            UNION, {"a": {}}, {"a": {}}, "a match vv", id="two-empty-objects-are-one-match"
        ),
        pytest.param(
            UNION, {"a": []}, {"a": {}}, "a format_error vv", id="empty-list-is-not-an-empty-object"
        ),
        pytest.param(UNION, {"a": {}}, {}, "a omission v-", id="empty-object-can-be-omitted"),
        pytest.param(UNION, {"a": None}, {"a": []}, "a hallucination nv", id="empty-list-is-extra"),
        pytest.param(
            UNION,
            {"a": {}},
            {"a": {"b": 1}},
            "a.b hallucination -v",
            id="empty-against-full-container",
        ),
        pytest.param(
            UNION,
            {"a": []},
            {"a": 5},
            "a format_error vv",
            id="empty-container-against-scalar",
        ),
        pytest.param(
            UNION,
            {"a": 5},
            {"a": {}},
            "a format_error vv",
            id="scalar-against-empty-container",
        ),
        pytest.param(
            UNION,
            {"a": 5},
            {"a": {"b": 1, "c": 2}},
            "a format_error vv",
            id="scalar-against-full-container",
        ),
        pytest.param(
            UNION,
            {"a": {"b": 1, "c": None}},
            {"a": 5},
            "a.b omission v-; a.c both_empty n-; a hallucination -v",
            id="full-container-against-scalar",
        ),
        pytest.param(
            UNION,
            {"a": {"b": 1}},
            {"a": [1, 2]},
            "a.b omission v-; a[] hallucination -v; a[] hallucination -v",
            id="object-against-list",
        ),
        pytest.param(
            UNION,
            {"a": None},
            {"a": {"b": 1, "c": None}},
            "a.b hallucination -v; a.c both_empty -n",
            id="null-against-object",
        ),
        pytest.param(
            UNION,
            {"a": {"b": 1, "c": ""}},
            {"a": None},
            "a.b omission v-; a.c both_empty b-",
            id="object-against-null",
        ),
        pytest.param(
            UNION,
            {"a": [{"b": 1}, {"b": 2, "c": None}]},
            {"a": [{"b": 1}]},
            "a[].b match vv; a[].b omission v-",
            id="unaligned-item-counts-non-empty-values",
        ),
        pytest.param(
            UNION,
            {"a": [1, None]},
            {"a": [1]},
            "a[] match vv",
            id="unaligned-null-does-not-count",
        ),
        pytest.param(UNION, 5, 6, "$ wrong_value vv", id="scalar-document-is-dollar"),
        pytest.param(
            UNION,
            [{"a": 1}],
            [{"a": 1}, 7],
            "[].a match vv; [] hallucination -v",
            id="list-document-is-aligned",
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
            id="named-comparator-makes-container-leaf",
        ),
        pytest.param(
            WHOLE, {"a": {"b": 1}}, {"a": None}, "a omission vn", id="and-it-is-omitted-whole"
        ),
        pytest.param(
            IGNORED,
            {"a": {"b": 1}},
            {"a": None},
            "a ignored vn",
            id="ignored-subtree-is-one-outcome",
        ),
        pytest.param(
            IGNORED,
            {"b": 1},
            {"b": 1},
            "b match vv",
            id="ignored-field-absent-on-both-sides",
        ),
        pytest.param(ANY_OF, {"a": [1, 2]}, {"a": 2}, "a match vv", id="one-acceptable-value"),
        pytest.param(
            ANY_OF,
            {"a": [None, ""]},
            {"a": 2},
            "a hallucination bv",
            id="no-acceptable-value",
        ),
        pytest.param(
            CONFIGURED,
            {"z": 1},
            {"a": 2},
            "a.b both_empty --",
            id="configured-field-absent-on-both-sides-is-both-empty",
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
            id="candidate-only-key-outside-truth-scope",
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
def test_outcomes_of_the_interpreter(rules, expected, candidate, facts):
    assert interpret(expected, candidate, rules) == parse_facts(facts)
    assert planned(expected, candidate, rules) == parse_facts(facts)
