"""Two JSON values compared from Python: every view of one pair."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm

PAIR = (
    {"number": "A-1", "total": 100.0, "notes": None, "items": [{"sku": "x", "n": 1}, {"sku": "y", "n": 2}]},
    {"number": "A-2", "total": 100.0, "items": [{"sku": "y", "n": 2}, {"sku": "x", "n": 9}], "extra": 1},
)  # fmt: skip


@pytest.fixture(scope="module")
def result():
    return fm.compare(*PAIR)


def test_the_counts_and_rates_of_a_case(result):
    assert result.counts == (4, 1, 3, 2)
    assert (result.precision, result.recall) == (4 / 7, 4 / 6)
    assert result.f1 == pytest.approx(8 / 13)
    assert result.errors_by_type == {
        "omission": 0, "hallucination": 1, "format_error": 0, "wrong_value": 2,
    }  # fmt: skip


def test_hits_and_misses_are_paths(result):
    assert result.hits == ("total", "notes", "items[0].sku", "items[1].sku", "items[1].n")
    assert set(result.misses) == {"number", "items[0].n", "extra (unexpected value)"}
    assert result.reasoning == "5/8 fields matched"
    assert result.verdict == "partial"


def test_a_field_shows_both_values_wherever_the_item_stands(result):
    fields = {field.path: field for field in result.fields}
    moved = fields["items[0].n"]
    assert (moved.expected, moved.candidate, moved.outcome) == (1, 9, "wrong_value")
    assert moved.attribute == "items[].n"
    assert fields["extra"].expected is fm.MISSING
    assert "expected" not in fields["extra"].to_dict()
    assert fields["number"].reason == "different"


def test_a_case_is_json(result):
    shape = json.loads(json.dumps(result.to_dict()))
    assert shape["counts"] == {"tp": 4, "tn": 1, "fp": 3, "fn": 2}
    assert len(shape["outcomes"]) == 8
    assert shape["quality"]["rqs_max"] == 0.85


def test_a_case_shows_itself(result):
    assert repr(result) == "CaseResult(score=0.500, verdict=partial, 5/8 fields matched)"
    assert "items[0].n" in result._repr_html_()


@pytest.mark.parametrize(
    ("rules", "score"),
    [
        pytest.param(None, 0.0, id="none"),
        pytest.param({"a": {"match": "fuzzy", "threshold": 0.5}}, 1.0, id="settings-by-path"),
        pytest.param({"a": "FUZZY"}, 0.0, id="a-strategy-by-path"),
        pytest.param(
            [{"path": "a", "match": "fuzzy", "threshold": 0.5}], 1.0, id="a-list-of-fields"
        ),
        pytest.param({"fields": [{"path": "a", "match": "ignore"}]}, 1.0, id="the-native-form"),
    ],
)
def test_rules_come_in_several_forms(rules, score):
    assert fm.compare({"a": "kitten"}, {"a": "sitting"}, rules=rules).score == pytest.approx(
        score, abs=0.5 if score else 0
    )


def test_rules_may_be_a_file(tmp_path):
    place = tmp_path / "rules.yaml"
    place.write_text("a: {match: numeric_tolerance, tolerance: 1}\n")
    assert fm.compare({"a": 1}, {"a": 2}, rules=place).score == 1.0
    assert fm.compare({"a": 1}, {"a": 2}, rules=str(place)).score == 1.0


def test_conventions_read_the_same_pair_differently():
    pair = {"a": 1, "b": 2}, {"a": 1, "b": 3}
    assert fm.compare(*pair, convention="taxonomy_code").counts.fn == 0
    assert fm.compare(*pair, convention="taxonomy").counts.fn == 1
    quality = fm.compare(*pair, convention="four_phase", options={"rqs_form": "complement"}).quality
    assert quality.rqs_max == 1.0


@pytest.mark.parametrize(
    ("how", "said"),
    [
        pytest.param({"convention": "confuson"}, "confusion", id="an-unknown-convention"),
        pytest.param({"options": {"graded": "perhaps"}}, "graded", id="a-bad-option"),
        pytest.param({"rules": {"a": {"match": "fuzy"}}}, "fuzzy", id="an-unknown-match"),
        pytest.param({"rules": "missing.yaml"}, "missing.yaml", id="a-missing-file"),
    ],
)
def test_a_mistake_is_told_before_anything_is_compared(how, said):
    with pytest.raises(fm.ConfigError, match=said):
        fm.compare({}, {}, **how)


def test_an_error_is_never_a_score():
    rules = {
        "provider": {"type": "recorded", "scores": []},
        "fields": [{"path": "a", "match": "semantic"}],
    }
    result = fm.compare({"a": "x", "b": 1}, {"a": "y", "b": 1}, rules=rules)
    assert (result.score, result.verdict, result.status) == (None, None, "error")
    assert result.misses == ("a (evaluation error: no similarity is recorded for this pair)",)


@pytest.mark.parametrize("value", [None, 1, "text", [], {}, [1, {"a": None}]])
def test_any_value_equals_itself(value):
    result = fm.compare(value, value)
    assert result.score == 1.0
    assert result.counts.fp == result.counts.fn == 0
