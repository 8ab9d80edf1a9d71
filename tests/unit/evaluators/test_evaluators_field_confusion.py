"""Field confusion: true and false positives and negatives of configured attributes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evaluator_fields import fields

from fieldmark.compare.providers import Recorded
from fieldmark.compare.semantic import Semantic
from fieldmark.config.files import load_file
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Status
from fieldmark.evaluators.field_confusion import FieldConfusion
from fieldmark.metrics.rates import rates
from fieldmark.model.case import Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rule

PASS, PARTIAL, FAIL = Verdict
RECORDED = Path(__file__).parents[2] / "data" / "agentv-document-extraction"
TP, TN, FP, FN, WRONG = (
    {"tp": 1, "tn": 0, "fp": 0, "fn": 0},
    {"tp": 0, "tn": 1, "fp": 0, "fn": 0},
    {"tp": 0, "tn": 0, "fp": 1, "fn": 0},
    {"tp": 0, "tn": 0, "fp": 0, "fn": 1},
    {"tp": 0, "tn": 0, "fp": 1, "fn": 1},
)
COUNTS = ("tp", "tn", "fp", "fn")


def scored(paths, expected, candidate, **options):
    return FieldConfusion(fields=fields(*paths), **options).evaluate(expected, candidate)


@pytest.mark.parametrize(
    ("expected", "candidate", "counts"),
    [
        pytest.param({"x": "a"}, {"x": "a"}, TP, id="equal-and-not-empty"),
        pytest.param({"x": {"k": [1]}}, {"x": {"k": [1]}}, TP, id="deeply-equal"),
        pytest.param({"x": 0}, {"x": 0}, TP, id="zero-is-a-value"),
        pytest.param({"x": False}, {"x": False}, TP, id="false-is-a-value"),
        pytest.param({"x": None}, {"x": None}, TN, id="both-null"),
        pytest.param({"x": ""}, {"x": "  "}, TN, id="both-blank"),
        pytest.param({"x": None}, {"x": ""}, TN, id="null-and-blank-are-both-empty"),
        pytest.param({"x": None}, {}, TN, id="null-and-absent-are-both-empty"),
        pytest.param({}, {}, TN, id="absent-on-both-sides"),
        pytest.param({"x": "a"}, {"x": "b"}, WRONG, id="another-value-is-invented-and-lost"),
        pytest.param({"x": 100}, {"x": "100"}, WRONG, id="a-value-of-another-kind-too"),
        pytest.param({"x": None}, {"x": "b"}, FP, id="a-value-for-null"),
        pytest.param({"x": " "}, {"x": "b"}, FP, id="a-value-for-blank"),
        pytest.param({}, {"x": "b"}, FP, id="a-value-for-nothing"),
        pytest.param({"x": "a"}, {"x": None}, FN, id="null-for-a-value"),
        pytest.param({"x": "a"}, {"x": ""}, FN, id="blank-for-a-value"),
        pytest.param({"x": "a"}, {}, FN, id="nothing-for-a-value"),
    ],
)
def test_an_attribute_is_classified(expected, candidate, counts):
    metrics = scored(["x"], expected, candidate).details["metrics"]["x"]
    assert {name: metrics[name] for name in COUNTS} == counts


@pytest.mark.parametrize(
    ("expected", "candidate", "figures"),
    [
        pytest.param({"x": 1}, {"x": 1}, {"precision": 1, "recall": 1, "f1": 1}, id="right"),
        pytest.param({"x": 1}, {"x": 2}, {"precision": 0, "recall": 0}, id="wrong-has-no-f1"),
        pytest.param({"x": 1}, {}, {"recall": 0}, id="lost-has-no-precision"),
        pytest.param({}, {"x": 1}, {"precision": 0}, id="invented-has-no-recall"),
        pytest.param({}, {}, {}, id="nothing-has-no-figure-at-all"),
    ],
)
def test_undefined_figures_are_left_out(expected, candidate, figures):
    metrics = scored(["x"], expected, candidate).details["metrics"]["x"]
    assert {name: metrics[name] for name in metrics if name not in COUNTS} == figures


@pytest.mark.parametrize(
    ("expected", "candidate", "score", "vacuous"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1, "b": 2}, 1.0, False, id="all-right"),
        pytest.param({"a": 1, "b": 2}, {"a": 1, "b": 3}, 0.5, False, id="an-undefined-f1-is-0"),
        pytest.param({"a": 1, "b": None}, {"a": 1}, 1.0, False, id="true-negatives-are-left-out"),
        pytest.param({"a": 1}, {"a": 1, "b": 3}, 0.5, False, id="an-invented-value-counts"),
        pytest.param({"a": None}, {"b": ""}, 1.0, True, id="nothing-left-is-vacuous"),
    ],
)
def test_the_score_is_the_mean_f1_of_the_attributes(expected, candidate, score, vacuous):
    result = scored(["a", "b"], expected, candidate)
    assert (result.score, result.vacuous) == (score, vacuous)
    assert result.details["summary"]["macro_f1"] == score
    assert result.details["summary"].get("vacuous", False) is vacuous


def test_means_of_precision_and_recall_are_over_the_defined_ones():
    summary = scored(["a", "b", "c"], {"a": 1, "b": 2}, {"a": 1, "c": 3}).details["summary"]
    assert (summary["macro_precision"], summary["macro_recall"]) == (0.5, 0.5)
    assert summary["macro_f1"] == pytest.approx(1 / 3)


def test_an_attribute_of_list_items_sums_over_the_items():
    documents = {"rows": [{"n": 1}, {"n": 2}]}, {"rows": [{"n": 1}, {"n": 3}]}
    rules = ({"path": "rows", "align": "index"}, "rows[*].n")
    metrics = scored(rules, *documents).details["metrics"]["rows[].n"]
    assert (metrics["tp"], metrics["fp"], metrics["fn"]) == (1, 1, 1)


def test_only_configured_fields_count():
    result = scored(["a"], {"a": 1, "b": 2}, {"a": 1, "c": 3})
    assert list(result.details["metrics"]) == ["a"]
    assert result.score == 1.0


def test_an_ignored_field_counts_nowhere():
    result = scored(["a", {"path": "b", "match": "ignore"}], {"a": 1, "b": 2}, {"a": 1, "b": 3})
    assert list(result.details["metrics"]) == ["a"]
    assert (result.hits, result.misses, result.skipped) == (("a",), (), ())


def test_a_failed_comparison_is_counted_as_an_error_and_nowhere_else():
    rules = (Rule(path="a", comparator=Semantic(provider=Recorded(scores={}))), Rule(path="b"))
    result = FieldConfusion(fields=rules).evaluate({"a": "x", "b": 1}, {"a": "y", "b": 1})
    assert (result.score, result.status) == (None, Status.ERROR)
    assert result.details["metrics"]["a"] == {"tp": 0, "tn": 0, "fp": 0, "fn": 0, "errors": 1}


@pytest.mark.parametrize(
    ("required", "score", "metrics"),
    [
        pytest.param(True, 0.5, ["a", "b..c"], id="required-it-is-lost"),
        pytest.param(False, 1.0, ["a"], id="optional-it-is-skipped"),
    ],
)
def test_a_malformed_path(required, score, metrics):
    result = scored(["a", {"path": "b..c", "required": required}], {"a": 1}, {"a": 1})
    assert result.score == score
    assert list(result.details["metrics"]) == metrics
    assert (result.misses or result.skipped) == ("b..c (invalid path)",)


def test_without_a_readable_candidate_everything_is_lost():
    result = FieldConfusion(fields=fields("a", "b")).evaluate({"a": 1, "b": None}, MISSING)
    assert (result.score, result.verdict, result.hits) == (0.0, FAIL, ())
    assert result.misses == ("a (required, missing)",)


# --- examples of mismatches -----------------------------------------------------------------------


def test_mismatches_show_the_two_values():
    result = scored(["a", "b", "c"], {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": "2"})
    assert result.details["mismatches"] == [
        {
            "path": "b",
            "outcome": "format_error",
            "reason": "type_mismatch",
            "expected": 2,
            "candidate": "2",
        },
        {"path": "c", "outcome": "omission", "reason": "missing", "expected": 3},
    ]
    assert result.details["mismatches_total"] == 2


def test_mismatches_keep_values_to_themselves_on_request():
    result = scored(["a"], {"a": "secret"}, {"a": "other"}, example_values=False)
    assert result.details["mismatches"] == [
        {"path": "a", "outcome": "wrong_value", "reason": "different"}
    ]


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        pytest.param({}, 20, id="twenty-by-default"),
        pytest.param({"max_examples": 3}, 3, id="as-many-as-asked-for"),
        pytest.param({"max_examples": 0}, 0, id="none"),
    ],
)
def test_mismatches_are_bounded_and_counted(options, shown):
    expected = {f"f{number}": number for number in range(25)}
    result = scored(list(expected), expected, {}, **options)
    assert len(result.details["mismatches"]) == shown
    assert result.details["mismatches_total"] == 25


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param("x" * 200, "x" * 200, id="a-text-that-fits"),
        pytest.param("x" * 201, "x" * 199 + "…", id="a-text-that-is-too-long"),
        pytest.param([1, {"k": None}], [1, {"k": None}], id="a-container-that-fits"),
        pytest.param(["x" * 300], '["' + "x" * 197 + "…", id="the-text-of-a-large-container"),
    ],
)
def test_a_mismatch_shows_only_the_beginning_of_a_long_value(value, shown):
    (mismatch,) = scored(["a"], {"a": value}, {}).details["mismatches"]
    assert mismatch["expected"] == shown


# --- results that another tool recorded -----------------------------------------------------------


def recorded_cases():
    document = load_file(RECORDED / "evals" / "confusion-metrics.eval.yaml").value
    paths = [field["path"] for field in document["assert"][0]["fields"]]
    lines = (RECORDED / "evals" / "confusion-metrics.eval.baseline.jsonl").read_text("utf-8")
    baseline = {row["test_id"]: row["scores"][0] for row in map(json.loads, lines.splitlines())}
    for case in document["tests"]:
        expected = case["vars"]["expected_output"][0]["content"]
        fixture = RECORDED / "evals" / case["vars"]["input"][0]["content"][0]["value"]
        candidate = json.loads(fixture.read_text("utf-8"))
        yield case["id"], paths, expected, candidate, baseline[case["id"]]


CASES = list(recorded_cases())


@pytest.mark.parametrize(
    ("paths", "expected", "candidate", "recorded"),
    [pytest.param(*row, id=case_id) for case_id, *row in CASES],
)
def test_recorded_invoices_give_the_recorded_figures(paths, expected, candidate, recorded):
    result = scored(paths, expected, candidate)
    assert result.score == pytest.approx(recorded["score"], abs=1e-9)
    assert result.details["metrics"] == recorded["details"]["metrics"]
    assert result.details["summary"] == pytest.approx(recorded["details"]["summary"], abs=1e-9)
    right = [each["text"].split(":")[0] for each in recorded["assertions"] if each["passed"]]
    assert list(result.hits) == right


def test_recorded_invoices_sum_up_to_the_recorded_table():
    scores, table = [], {}
    for _, paths, expected, candidate, _ in CASES:
        result = scored(paths, expected, candidate)
        scores.append(result.score)
        for path, own in result.details["metrics"].items():
            table[path] = table.get(path, Counts()) + Counts(*(own[name] for name in COUNTS))
    assert scores == pytest.approx([1, 5 / 6, 2 / 3, 2 / 3, 0.5])
    pooled = sum(table.values(), Counts())
    assert pooled == Counts(tp=22, tn=0, fp=6, fn=8)
    assert rates(pooled).f1 == pytest.approx(44 / 58)
    assert table["supplier.name"] == Counts(tp=1, fp=4, fn=4)


# --- configuration --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"fields": ()}, "fields", id="no-fields"),
        pytest.param({"fields": (Rule(path="a"), Rule(path="a"))}, "fields", id="a-path-twice"),
        pytest.param({"max_examples": -1}, "max_examples", id="less-than-no-examples"),
        pytest.param({"pass_threshold": -0.1}, "pass_threshold", id="a-threshold-below-0"),
    ],
)
def test_a_bad_option_is_refused_by_its_name(options, option):
    with pytest.raises(OptionError) as refused:
        FieldConfusion(**{"fields": (Rule(path="a"),), **options})
    assert refused.value.option == option


@pytest.mark.parametrize(
    ("candidate", "verdict"),
    [
        pytest.param({"a": 1, "b": 2}, PASS, id="no-misses"),
        pytest.param({"a": 1, "b": 3}, PARTIAL, id="hits-and-misses"),
        pytest.param({"a": 0, "b": 3}, FAIL, id="misses-alone"),
    ],
)
def test_the_verdict_follows_from_hits_and_misses(candidate, verdict):
    assert scored(["a", "b"], {"a": 1, "b": 2}, candidate).verdict is verdict
