"""Response quality: buckets of keys, metrics and the score."""

from __future__ import annotations

import pytest
from walk_through import CANDIDATE, EXPECTED, STRATEGIES

from fieldmark.compare.auto import Auto
from fieldmark.compare.exact import Ignore
from fieldmark.compare.providers import Recorded
from fieldmark.compare.semantic import Semantic
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Status
from fieldmark.evaluators.field_evaluators import ResponseQuality
from fieldmark.metrics.conventions import RqsWeights
from fieldmark.model.case import Verdict
from fieldmark.model.rule import Rule

PASS, PARTIAL, FAIL = Verdict
BUCKETS = (
    "extra_keys",
    "gt_null_aio_has_value",
    "gt_non_null",
    "aio_missing_or_null",
    "both_non_null",
    "both_null",
)
SILENT = Semantic(provider=Recorded(scores={}))


def details(expected, candidate, **options):
    return ResponseQuality(**options).evaluate(expected, candidate).details


@pytest.mark.parametrize(
    ("expected", "candidate", "names"),
    [
        pytest.param({}, {"x": None}, {"extra_keys"}, id="extra-key-even-without-value"),
        pytest.param({"x": " "}, {"x": 1}, {"gt_null_aio_has_value"}, id="value-for-blank"),
        pytest.param({"x": 1}, {"x": ""}, {"gt_non_null", "aio_missing_or_null"}, id="blank-for-value"),
        pytest.param({"x": 0}, {"x": False}, {"gt_non_null", "both_non_null"}, id="0-is-a-value"),
        pytest.param({"x": []}, {"x": {}}, {"gt_non_null", "both_non_null"}, id="[]-is-a-value"),
        pytest.param({"x": None}, {}, {"both_null"}, id="null-and-absent"),
    ],
)  # fmt: skip
def test_keys_are_sorted_into_buckets(expected, candidate, names):
    found = details(expected, candidate)
    assert {name for name in BUCKETS if found[name]} == names


def test_only_top_level_keys_count():
    found = details({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 2}})
    assert (found["both_non_null"], found["accuracy"]) == (["a"], 1.0)


def test_depth_leaf_counts_leaves():
    found = details({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, depth="leaf")
    assert (found["both_non_null"], found["aio_missing_or_null"]) == (["a.b"], ["a.c"])


@pytest.mark.parametrize(
    ("expected", "candidate", "flags"),
    [
        pytest.param({"a": 1}, {"a": 1}, {}, id="nothing-to-flag"),
        pytest.param(
            {"a": None},
            {},
            {
                "completeness": ["vacuous"],
                "accuracy": ["vacuous"],
                "rqs": ["accuracy_vacuous", "completeness_vacuous"],
            },
            id="no-value-was-expected",
        ),
        pytest.param(
            {"a": 1},
            {},
            {"accuracy": ["vacuous"], "rqs": ["accuracy_vacuous"]},
            id="no-values-to-compare",
        ),
    ],
)
def test_vacuous_metrics_are_flagged(expected, candidate, flags):
    assert details(expected, candidate)["flags"] == {**flags, "safety": ["not_evaluated"]}


def test_metrics_without_keys_are_flagged():
    ignored = (Rule(path="a", comparator=Ignore()),)
    found = details({"a": 1}, {"a": 2}, strategies=ignored, ignore_scope="all")
    metrics = {name: found[name] for name in ("completeness", "hallucination", "accuracy")}
    assert metrics == {"completeness": 1.0, "hallucination": 0.0, "accuracy": 1.0}
    assert {name for name, raised in found["flags"].items() if "vacuous" in raised} == set(metrics)


# --- the walk-through -----------------------------------------------------------------------------


def test_walk_through_classification():
    found = details(EXPECTED, CANDIDATE, strategies=STRATEGIES)
    assert {name: found[name] for name in BUCKETS} == {
        "gt_non_null": ["name", "email", "bio", "status"],
        "both_non_null": ["name", "email", "bio"],
        "aio_missing_or_null": ["status"],
        "extra_keys": ["extra_field"],
        "gt_null_aio_has_value": ["internal_id"],
        "both_null": [],
    }


def test_walk_through_metrics():
    result = ResponseQuality(strategies=STRATEGIES).evaluate(EXPECTED, CANDIDATE)
    found = result.details
    assert found["completeness"] == pytest.approx(0.75, abs=1e-9)
    assert found["hallucination"] == pytest.approx(1 / 3, abs=1e-9)
    assert found["accuracy"] == pytest.approx(1.0, abs=1e-9)
    assert found["rqs"] == pytest.approx(0.7375, abs=1e-9)
    assert result.score == found["rqs"]
    assert result.verdict is FAIL


# --- how values are compared ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("similarity", "accuracy"),
    [
        pytest.param(0.80, 1.0, id="at-threshold"),
        pytest.param(0.79, 0.0, id="below-threshold"),
    ],
)
def test_text_is_compared_by_meaning(similarity, accuracy):
    judged = Auto(provider=Recorded(scores={("one", "two"): similarity}))
    assert details({"x": "one"}, {"x": "two"}, default=judged)["accuracy"] == accuracy


@pytest.mark.parametrize(
    ("ignore_scope", "both", "completeness", "hallucination"),
    [
        pytest.param("accuracy", ["a", "b"], 1.0, 0.0, id="out-of-accuracy-only"),
        pytest.param("all", ["a"], 1.0, 0.0, id="out-of-everything"),
    ],
)
def test_ignored_key(ignore_scope, both, completeness, hallucination):
    ignored = (Rule(path="b", comparator=Ignore()),)
    found = details(
        {"a": 1, "b": 2}, {"a": 1, "b": 9}, strategies=ignored, ignore_scope=ignore_scope
    )
    assert (found["both_non_null"], found["accuracy"]) == (both, 1.0)
    assert (found["completeness"], found["hallucination"]) == (completeness, hallucination)


def test_ignored_key_can_still_be_missing_or_extra():
    ignored = (Rule(path="a", comparator=Ignore()), Rule(path="b", comparator=Ignore()))
    found = details({"a": 1, "b": None, "c": 1}, {"b": 2, "c": 1}, strategies=ignored)
    assert found["aio_missing_or_null"] == ["a"]
    assert found["gt_null_aio_has_value"] == ["b"]


# --- the score ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "safety", "rqs", "flags"),
    [
        pytest.param({}, None, 0.85, {"safety": ["not_evaluated"]}, id="without-judge"),
        pytest.param({}, 0.0, 0.70, {}, id="judged-unsafe"),
        pytest.param({"rqs_form": "complement"}, 1.0, 1.0, {}, id="form"),
        pytest.param({"weights": RqsWeights(accuracy=0.2)}, 1.0, 0.6, {}, id="weights"),
    ],
)
def test_options_and_safety_decide_the_score(options, safety, rqs, flags):
    result = ResponseQuality(**options).evaluate({"a": 1}, {"a": 1}, safety=safety)
    assert result.score == pytest.approx(rqs)
    assert result.details["flags"] == flags


@pytest.mark.parametrize(
    ("options", "candidate", "verdict"),
    [
        pytest.param({}, {"a": 1, "b": 2}, PASS, id="at-least-0.8-by-default"),
        pytest.param({}, {"a": 1}, FAIL, id="below-0.8-by-default"),
        pytest.param({"pass_threshold": 0.7}, {"a": 1}, PASS, id="at-least-threshold"),
        pytest.param({"pass_threshold": None}, {"a": 1}, PARTIAL, id="by-hits-and-misses"),
    ],
)
def test_verdict(options, candidate, verdict):
    assert ResponseQuality(**options).evaluate({"a": 1, "b": 2}, candidate).verdict is verdict


def test_hits_and_misses_name_the_keys():
    result = ResponseQuality().evaluate({"a": 1, "b": 2, "n": None}, {"a": 1, "x": None, "y": 3})
    assert result.hits == ("a",)
    assert result.misses == (
        "b (required, missing)",
        "x (unexpected key)",
        "y (unexpected value)",
    )
    assert result.skipped == ("n",)


def test_failed_comparison_leaves_neither_accuracy_nor_a_score():
    rules = (Rule(path="a", comparator=SILENT),)
    result = ResponseQuality(strategies=rules).evaluate({"a": "x", "b": 1}, {"a": "y", "b": 1})
    assert (result.score, result.verdict, result.status) == (None, None, Status.ERROR)
    assert (result.details["accuracy"], result.details["rqs"]) == (None, None)
    assert result.details["flags"]["accuracy"] == ["error"]
    assert result.bounds == pytest.approx((0.85 - 0.225, 0.85))
    assert result.details["both_non_null"] == ["a", "b"]


@pytest.mark.parametrize("safety", [-0.1, 1.1, float("nan")])
def test_safety_outside_0_to_1_is_rejected(safety):
    with pytest.raises(OptionError):
        ResponseQuality().evaluate({"a": 1}, {"a": 1}, safety=safety)
