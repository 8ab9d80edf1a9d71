"""`fm.compare`: results, rules, conventions and errors."""

from __future__ import annotations

import csv
import json

import pytest

import fieldmark as fm
from fieldmark.analyses.report import write_report

PAIR = (
    {"number": "A-1", "total": 100.0, "notes": None, "items": [{"sku": "x", "n": 1}, {"sku": "y", "n": 2}]},
    {"number": "A-2", "total": 100.0, "items": [{"sku": "y", "n": 2}, {"sku": "x", "n": 9}], "extra": 1},
)  # fmt: skip


@pytest.fixture(scope="module")
def result():
    return fm.compare(*PAIR)


def test_counts_and_rates_of_a_case(result):
    assert result.counts == (4, 1, 3, 2)
    assert (result.precision, result.recall) == (4 / 7, 4 / 6)
    assert result.f1 == pytest.approx(8 / 13)
    assert result.errors_by_type == {
        "omission": 0, "hallucination": 1, "format_error": 0, "wrong_value": 2,
    }  # fmt: skip


def test_hits_and_misses_are_paths(result):
    assert result.hits == ("total", "notes", "items[0→1].sku", "items[1→0].sku", "items[1→0].n")
    assert set(result.misses) == {"number", "items[0→1].n", "extra (unexpected value)"}
    assert result.reasoning == "5/8 fields matched"
    assert result.verdict == "partial"


def test_field_contains_both_values_of_an_aligned_item(result):
    fields = {field.path: field for field in result.fields}
    moved = fields["items[0].n"]
    assert (moved.expected, moved.candidate, moved.outcome) == (1, 9, "wrong_value")
    assert moved.attribute == "items[].n"
    assert fields["extra"].expected is fm.MISSING
    assert "expected" not in fields["extra"].to_dict()
    assert fields["number"].reason == "different"


def test_result_converts_to_json(result):
    shape = json.loads(json.dumps(result.to_dict()))
    assert shape["counts"] == {"tp": 4, "tn": 1, "fp": 3, "fn": 2}
    assert len(shape["outcomes"]) == 8
    assert shape["quality"]["rqs_max"] == 0.85


def test_rules_can_be_a_file(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text("a: {match: numeric_tolerance, tolerance: 1}\n")
    assert fm.compare({"a": 1}, {"a": 2}, rules=path).score == 1.0
    assert fm.compare({"a": 1}, {"a": 2}, rules=str(path)).score == 1.0


@pytest.mark.parametrize(
    ("convention", "score"),
    [
        pytest.param("confusion", 0.9, id="partial-credit"),
        pytest.param("four_phase", 1.0, id="0-or-1"),
    ],
)
def test_scores_of_fields_follow_the_convention(convention, score, tmp_path):
    pair = {"name": "John Smith"}, {"name": "John Smyth"}
    settings = {"rules": {"name": {"match": "fuzzy"}}, "convention": convention}
    (field,) = fm.compare(*pair, **settings).fields
    assert (field.score, field.similarity) == (pytest.approx(score), pytest.approx(0.9))
    run = fm.score([pair], **settings, out=tmp_path / "run")
    write_report(run.path, tmp_path / "fields.csv", kind="csv-outcomes")
    (row,) = csv.DictReader((tmp_path / "fields.csv").read_text("utf-8").splitlines())
    assert float(row["score"]) == pytest.approx(score)


def test_comparison_error_is_not_a_score():
    rules = {
        "provider": {"type": "recorded", "scores": []},
        "fields": [{"path": "a", "match": "semantic"}],
    }
    result = fm.compare({"a": "x", "b": 1}, {"a": "y", "b": 1}, rules=rules)
    assert (result.score, result.verdict, result.status) == (None, None, "error")
    assert result.misses == ("a (evaluation error: no similarity recorded for this pair)",)


FENCED = '```json\n{"a": 1}\n```'
READ = [
    pytest.param({"a": 1}, '{"a": 1}', 1.0, "ok", id="json-text"),
    pytest.param({"a": 1}, FENCED, 1.0, "ok", id="fenced"),
    pytest.param({"a": 1}, f"Here it is:\n{FENCED}\nDone.", 1.0, "ok", id="fenced-amid-prose"),
    pytest.param([1], "[1]", 1.0, "ok", id="list"),
    pytest.param({"a": 1}, "nothing", 0.0, "parse_error", id="no-json-in-the-text"),
    pytest.param({"a": 1}, '{"a": 1', 0.0, "parse_error", id="truncated"),
    pytest.param("x", "x", 1.0, "ok", id="two-plain-strings"),
    pytest.param("[sic]", "[sic]", 1.0, "ok", id="expected-remark-in-brackets"),
    pytest.param("5", "5", 1.0, "ok", id="expected-digits-are-a-string"),
    pytest.param("x", '{"a": 1}', 0.0, "ok", id="expected-string-and-json"),
    pytest.param('{"a": 1}', {"a": 1}, 1.0, "ok", id="expected-in-text"),
    pytest.param(FENCED, '{"a":1}', 1.0, "ok", id="both-in-text"),
    pytest.param(5, "5", 1.0, "ok", id="expected-number-and-json"),
    pytest.param(5, "five", 0.0, "ok", id="expected-number-and-prose"),
    pytest.param({"a": "{}"}, {"a": "{}"}, 1.0, "ok", id="texts-inside-a-document-are-values"),
]


@pytest.mark.parametrize(("expected", "candidate", "score", "read"), READ)
def test_documents_in_text_are_read_alike_everywhere(expected, candidate, score, read):
    result = fm.compare(expected, candidate)
    (ranked,) = fm.compare_many(expected, [candidate]).results
    run = fm.score([{"id": "a", "expected": expected, "candidate": candidate}])
    assert (result.score, result.input) == (score, read)
    assert (ranked.score, ranked.input) == (score, read)
    assert run.mean_score == score
    assert run.summary.cases.unparseable == (read == "parse_error")


def test_unparseable_candidate_has_no_fields_and_a_note():
    result = fm.compare({"a": 1, "b": 2}, "nothing")
    assert result.errors_by_type["omission"] == 2
    assert result.note == result.to_dict()["note"] == "the text contains no JSON object or array"
    assert fm.compare_many({"a": 1}, ["nothing", '{"a": 1}']).consistency == 0.0


@pytest.mark.parametrize("expected", ['{"a": 1', '```json\n{"a": 1,}\n```', '{"a": NaN}'])
def test_unreadable_expected_text_is_an_error(expected):
    for call in (fm.compare, lambda expected, candidate: fm.compare_many(expected, [candidate])):
        with pytest.raises(fm.DataError, match=r"^expected: "):
            call(expected, {"a": 1})
    run = fm.score([{"id": "a", "expected": expected, "candidate": {"a": 1}}])
    assert run.summary.cases.invalid_truth == 1


DOCUMENT = {"total": 1, "internal_notes": "x", "vendor": {"name": "Acme"}}


@pytest.mark.parametrize(
    ("rules", "warnings"),
    [
        pytest.param({"totl": "EXACT"}, ["no document has 'totl'; did you mean 'total'?"], id="misspelled"),
        pytest.param({"total": "EXACT"}, [], id="present"),
        pytest.param({"intrnal_notes": "IGNORE"}, ["no document has 'intrnal_notes'; did you mean 'internal_notes'?"], id="misspelled-and-ignored"),
        pytest.param({"comments": "IGNORE"}, [], id="ignored-and-absent"),
        pytest.param({"internal_note": "IGNORE", "internal_notes": "EXACT"}, [], id="ignored-beside-a-similar-rule"),
        pytest.param({"totl": {"match": "exact", "required": False}}, ["no document has 'totl'; did you mean 'total'?"], id="misspelled-and-optional"),
        pytest.param({"tax": {"match": "exact", "required": False}}, [], id="optional-and-absent"),
    ],
)  # fmt: skip
def test_paths_of_rules_that_no_document_has_are_warnings(rules, warnings):
    result = fm.compare(DOCUMENT, {**DOCUMENT, "total": 2}, rules=rules)
    assert list(result.warnings) == result.to_dict()["warnings"] == warnings
    many = fm.compare_many(DOCUMENT, [DOCUMENT, {}], rules=rules)
    assert list(many.warnings) == many.to_dict()["warnings"] == warnings


def test_a_path_that_one_of_several_candidates_has_is_not_a_warning():
    candidates = [{"total": 1, "totl": 1}, {}]
    many = fm.compare_many({"total": 1}, candidates, rules={"totl": "EXACT"})
    assert many.warnings == ()
