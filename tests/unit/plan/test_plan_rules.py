"""Which rules apply to which fields."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.align.exact_methods import Index
from fieldmark.model.rule import Rule, Rules, Scope
from fieldmark.plan.rule_matching import RuleMatch, match_key
from fieldmark.values.paths import parse_path


def outcomes_of(expected, candidate, rules):
    result = fm.compare(expected, candidate, rules=rules)
    return {field.path: field.outcome for field in result.fields}


IGNORE, EXACT, LOOSE = ({"match": name} for name in ("ignore", "exact", "normalized_text"))
NESTED = {"a": {"b": 1, "c": 2}}


@pytest.mark.parametrize(
    ("rules", "outcomes"),
    [
        pytest.param(
            {"**": IGNORE, "a.b": EXACT},
            {"a.b": "wrong_value", "a.c": "ignored"},
            id="exact-path-wins-over-ignoring-everything",
        ),
        pytest.param(
            {"a.**": IGNORE, "a.b": EXACT},
            {"a.b": "wrong_value", "a.c": "ignored"},
            id="exact-path-wins-over-ignoring-a-branch",
        ),
        pytest.param(
            {"**": IGNORE, "**.b": EXACT},
            {"a.b": "wrong_value", "a.c": "ignored"},
            id="later-pattern-wins-over-an-earlier-one",
        ),
        pytest.param(
            {"a.b": EXACT, "a.**": IGNORE},
            {"a.b": "wrong_value", "a.c": "ignored"},
            id="exact-path-wins-over-a-later-pattern",
        ),
    ],
)
def test_ignored_fields(rules, outcomes):
    assert outcomes_of(NESTED, {"a": {"b": 2, "c": 2}}, rules) == outcomes


@pytest.mark.parametrize(
    ("expected", "candidate", "rules", "score"),
    [
        pytest.param("X", "x", {"$": LOOSE}, 1.0, id="text"),
        pytest.param([1, 2], [2, 1], {"$": {"align": "index"}}, 0.0, id="list"),
        pytest.param({"$": "X"}, {"$": "x"}, {"$": EXACT}, 0.0, id="not-an-object-with-such-a-key"),
    ],
)
def test_rule_for_the_document_applies_to_documents_that_are_not_objects(
    expected, candidate, rules, score
):
    assert fm.compare(expected, candidate, rules=rules).score == score


@pytest.mark.parametrize(
    ("key", "path", "outcome"),
    [
        pytest.param("7", "m.7", "match", id="number-is-a-key-on-objects"),
        pytest.param("007", "m.7", "wrong_value", id="another-spelling-is-another-key"),
        pytest.param("1" * 4000, "m.7", "wrong_value", id="key-of-many-digits-is-a-key"),
    ],
)
def test_numbers_as_keys(key, path, outcome):
    (found,) = outcomes_of({"m": {key: "X"}}, {"m": {key: "x"}}, {path: LOOSE}).values()
    assert found == outcome


INDEXED = {"l": [{"a": 1, "b": 1}, {"a": 2, "b": 2}]}
SHIFTED = {"l": [{"a": 2, "b": 2}, {"a": 1, "b": 1}]}


@pytest.mark.parametrize(
    ("rules", "attributes"),
    [
        pytest.param(
            {"l[0].a": EXACT},
            {"l[0].a": ["wrong_value"], "l[].a": ["hallucination", "omission"],
             "l[].b": ["match", "match"]},
            id="field-of-an-item",
        ),
        pytest.param(
            {"l[0]": EXACT},
            {"l[0]": ["wrong_value"],
             "l[].a": ["omission", "hallucination"], "l[].b": ["omission", "hallucination"]},
            id="whole-item",
        ),
        pytest.param(
            {"l[0]": IGNORE, "l[1]['a']": EXACT, "l[1].b": LOOSE},
            {"l[0]": ["ignored"], "l[1]['a']": ["wrong_value"], "l[1].b": ["wrong_value"]},
            id="all-items",
        ),
        pytest.param(
            {"l": {"match": "set"}, "l[1]": EXACT},
            {"l[1]": ["wrong_value"], "l": ["wrong_value"]},
            id="whole-list-without-the-item",
        ),
        pytest.param(
            {"l[0].**": IGNORE},
            {"l[].a": ["ignored", "match"], "l[].b": ["ignored", "match"]},
            id="all-fields-of-an-item-are-no-field",
        ),
        pytest.param(
            {"l[7].a": EXACT},
            {"l[].a": ["match", "match"], "l[].b": ["match", "match"]},
            id="item-that-does-not-exist",
        ),
    ],
)  # fmt: skip
def test_field_with_an_index_is_paired_by_index_and_counted_there_only(rules, attributes):
    result = fm.compare(INDEXED, SHIFTED, rules=rules)
    found = {}
    for field in result.fields:
        found.setdefault(field.attribute, []).append(field.outcome)
    assert found == attributes


def test_configured_field_is_counted_once_beside_a_pattern_for_all_fields():
    rules = {"scope": "configured", "fields": {"**": EXACT, "a": LOOSE}}
    fields = fm.compare({"a": "X", "b": 1}, {"a": "x", "b": 1}, rules=rules).fields
    assert [(field.path, field.outcome) for field in fields] == [("a", "match"), ("b", "match")]


def test_other_items_keep_their_indexes_without_an_item_that_is_a_field():
    fields = fm.compare({"l": ["a", "b", "c"]}, {"l": ["c", "a"]}, rules={"l[0]": EXACT}).fields
    assert [(field.path, field.outcome) for field in fields] == [
        ("l[0]", "wrong_value"), ("l[1]", "omission"), ("l[2]", "omission"), ("l[1]", "hallucination"),
    ]  # fmt: skip


VENDOR = {"vendor": {"name": "Acme Corp", "city": "Berlin"}, "lines": [{"n": 1, "d": "A"}]}


@pytest.mark.parametrize(
    ("rules", "candidate", "outcomes"),
    [
        pytest.param(
            None,
            {"vendor": {"name": "ACME Corp.", "city": "Berlin"}},
            {"vendor": "wrong_value", "lines": "omission"},
            id="a-key-is-one-value",
        ),
        pytest.param(
            {"vendor": {"name": "FUZZY"}},
            {"vendor": {"name": "ACME Corp.", "city": "Berlin"}},
            {"vendor.name": "match", "vendor": "match", "lines": "omission"},
            id="the-rest-of-the-key-is-one-value",
        ),
        pytest.param(
            {"vendor.name": "FUZZY"},
            {"vendor": {"name": "Acme Corp", "city": "Paris"}},
            {"vendor.name": "match", "vendor": "wrong_value", "lines": "omission"},
            id="the-rest-of-the-key-differs",
        ),
        pytest.param(
            {"vendor.name": "FUZZY", "vendor.city": "EXACT"},
            {"vendor": {"name": "Acme Corp", "city": "Paris"}},
            {"vendor.name": "match", "vendor.city": "wrong_value", "lines": "omission"},
            id="nothing-is-left-of-the-key",
        ),
        pytest.param(
            {"vendor.name": "FUZZY"},
            {"vendor": {"city": "Berlin"}},
            {"vendor.name": "omission", "vendor": "match", "lines": "omission"},
            id="missing-part",
        ),
        pytest.param(
            {"vendor.name": "FUZZY"},
            {"vendor": None},
            {"vendor.name": "omission", "vendor": "omission", "lines": "omission"},
            id="missing-key",
        ),
        pytest.param(
            {"vendor.name": "FUZZY"},
            {"vendor": "Acme Corp"},
            {"vendor": "format_error", "lines": "omission"},
            id="key-of-another-type-is-one-value",
        ),
        pytest.param(
            {"vendor.nam": "FUZZY"},
            {"vendor": VENDOR["vendor"]},
            {"vendor": "match", "lines": "omission"},
            id="path-that-neither-document-has",
        ),
        pytest.param(
            {"vendor": "EXACT", "vendor.name": "FUZZY"},
            {"vendor": {"name": "ACME Corp.", "city": "Berlin"}},
            {"vendor": "wrong_value", "lines": "omission"},
            id="strategy-for-the-key-itself",
        ),
        pytest.param(
            {"**.name": "IGNORE"},
            {"vendor": {"name": "Bolt", "city": "Berlin"}},
            {"vendor.name": "ignored", "vendor": "match", "lines": "omission"},
            id="pattern-at-any-depth",
        ),
        pytest.param(
            {"lines": [{"n": "IGNORE"}]},
            {"lines": [{"n": 2, "d": "A"}, {"n": 3}]},
            {"vendor": "omission", "lines[0].n": "ignored", "lines[0]": "match", "lines[1].n": "ignored"},
            id="items-are-aligned-by-index",
        ),
        pytest.param(
            {"lines[*].n": "EXACT"},
            {"vendor": VENDOR["vendor"]},
            {"vendor": "match", "lines[0].n": "omission", "lines[0]": "omission"},
            id="missing-list",
        ),
    ],
)  # fmt: skip
def test_strategies_inside_top_level_keys(rules, candidate, outcomes):
    result = fm.compare(VENDOR, candidate, rules=rules, convention="four_phase")
    assert {field.path: field.outcome for field in result.fields} == outcomes


def test_rest_of_a_key_says_what_it_leaves_out():
    rules = {"vendor.name": "FUZZY"}
    result = fm.compare(VENDOR, VENDOR, rules=rules, convention="four_phase")
    notes = {field.path: field.note for field in result.fields}
    assert notes == {"vendor.name": "", "vendor": "compared without name", "lines": ""}


@pytest.mark.parametrize(
    ("expected", "candidate", "outcomes"),
    [
        pytest.param({"l": [{"x": 1}]}, {"l": [{"x": 2}]}, {"l[0].x": "wrong_value"}, id="found"),
        pytest.param({"l": [{"x": 1}]}, {}, {"l[0].x": "omission"}, id="missing"),
        pytest.param({"l": [{}]}, {"l": [{"x": 1}]}, {}, id="extra-field"),
        pytest.param({"l": []}, {"l": [{"x": 1}]}, {}, id="extra-item"),
        pytest.param({"l": []}, {"l": 5}, {}, id="other-type-in-the-place-of-a-list"),
        pytest.param({}, {"l": 5}, {}, id="other-type-without-a-list"),
    ],
)
def test_field_that_only_the_truth_decides_is_not_extra(expected, candidate, outcomes):
    rules = Rules(
        fields=(
            Rule(path="n"),
            Rule(path="l", aligner=Index(), truth_only=True),
            Rule(path="l[*].x", truth_only=True),
        ),
        scope=Scope.CONFIGURED,
    )
    result = fm.compare({"n": 1, **expected}, {"n": 1, **candidate}, rules=rules)
    assert {field.path: field.outcome for field in result.fields} == {"n": "match", **outcomes}
    assert {field.reason for field in result.fields if field.outcome == "match"} == {None}


def test_path_with_many_wildcards_matches_each_step_once():
    segments = parse_path(".".join(["**"] * 40 + ["total"])).segments
    matches = (RuleMatch(0, Rule(path="total"), segments),)
    for _ in range(20):
        matches = match_key(matches, "a")
        assert len(matches) <= len(segments)
    assert any(match.complete for match in match_key(matches, "total"))
