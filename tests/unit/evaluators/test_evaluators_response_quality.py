"""Response quality: keys in buckets, four figures and the score made of them."""

from __future__ import annotations

import pytest
from walk_through import CANDIDATE, EXPECTED, STRATEGIES

from fieldmark.compare.auto import Auto
from fieldmark.compare.ignore import Ignore
from fieldmark.compare.providers import Recorded
from fieldmark.compare.semantic import Semantic
from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Status
from fieldmark.evaluators.response_quality import ResponseQuality
from fieldmark.metrics.conventions import RqsWeights
from fieldmark.model.case import Verdict
from fieldmark.model.json import MISSING
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


def buckets(expected, candidate, **options):
    found = details(expected, candidate, **options)
    return {name for name in BUCKETS if found[name]}


@pytest.mark.parametrize(
    ("expected", "candidate", "names"),
    [
        pytest.param({}, {"x": 1}, {"extra_keys"}, id="a-key-that-the-truth-does-not-have"),
        pytest.param({}, {"x": None}, {"extra_keys"}, id="even-without-a-value"),
        pytest.param({}, {"x": ""}, {"extra_keys"}, id="even-blank"),
        pytest.param({"x": None}, {"x": 1}, {"gt_null_aio_has_value"}, id="a-value-for-null"),
        pytest.param({"x": " "}, {"x": 1}, {"gt_null_aio_has_value"}, id="a-value-for-blank"),
        pytest.param({"x": 1}, {}, {"gt_non_null", "aio_missing_or_null"}, id="a-missing-key"),
        pytest.param(
            {"x": 1}, {"x": None}, {"gt_non_null", "aio_missing_or_null"}, id="null-for-a-value"
        ),
        pytest.param(
            {"x": 1}, {"x": " "}, {"gt_non_null", "aio_missing_or_null"}, id="blank-for-a-value"
        ),
        pytest.param({"x": 1}, {"x": 2}, {"gt_non_null", "both_non_null"}, id="two-values"),
        pytest.param({"x": 0}, {"x": False}, {"gt_non_null", "both_non_null"}, id="0-is-a-value"),
        pytest.param({"x": []}, {"x": {}}, {"gt_non_null", "both_non_null"}, id="[]-is-a-value"),
        pytest.param({"x": None}, {}, {"both_null"}, id="null-and-absent-are-skipped"),
        pytest.param({"x": None}, {"x": ""}, {"both_null"}, id="null-and-blank-are-skipped"),
    ],
)
def test_a_key_falls_into_its_bucket(expected, candidate, names):
    assert buckets(expected, candidate) == names


def test_only_the_keys_of_the_document_itself_count():
    found = details({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 2}})
    assert (found["both_non_null"], found["accuracy"]) == (["a"], 1.0)


def test_leaves_count_where_that_is_the_depth():
    found = details({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, depth="leaf")
    assert (found["both_non_null"], found["aio_missing_or_null"]) == (["a.b"], ["a.c"])


@pytest.mark.parametrize(
    ("expected", "candidate", "completeness", "hallucination", "accuracy"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1, "b": 2}, 1.0, 0.0, 1.0, id="perfect"),
        pytest.param({"a": 1, "b": 2}, {"a": 1}, 0.5, 0.0, 1.0, id="half-complete"),
        pytest.param({"a": 1, "b": 2}, {"a": 1, "b": 3}, 1.0, 0.0, 0.5, id="half-accurate"),
        pytest.param({"a": 1}, {"a": 1, "b": 3}, 1.0, 0.5, 1.0, id="half-invented"),
        pytest.param(
            {"a": 1, "b": None, "c": None}, {"a": 1, "b": 2}, 1.0, 1 / 3, 1.0, id="of-all-keys"
        ),
        pytest.param({"a": None}, {}, 1.0, 0.0, 1.0, id="nothing-expected-is-complete"),
        pytest.param({}, {}, 1.0, 0.0, 1.0, id="no-keys-at-all"),
        pytest.param({"a": 1}, {}, 0.0, 0.0, 1.0, id="nothing-to-score-is-accurate"),
    ],
)
def test_the_three_figures(expected, candidate, completeness, hallucination, accuracy):
    found = details(expected, candidate)
    assert found["completeness"] == pytest.approx(completeness)
    assert found["hallucination"] == pytest.approx(hallucination)
    assert found["accuracy"] == pytest.approx(accuracy)


def test_completeness_is_the_share_of_expected_keys_that_have_a_value():
    expected = {f"k{number}": number for number in range(50)}
    candidate = {**expected, "k7": None}
    assert details(expected, candidate)["completeness"] == pytest.approx(0.98)


@pytest.mark.parametrize(
    ("expected", "candidate", "flags"),
    [
        pytest.param({"a": 1}, {"a": 1}, {}, id="nothing-to-flag"),
        pytest.param(
            {"a": None},
            {},
            {"completeness": ["vacuous"], "accuracy": ["vacuous"]},
            id="no-value-was-expected",
        ),
        pytest.param({"a": 1}, {}, {"accuracy": ["vacuous"]}, id="no-values-to-compare"),
    ],
)
def test_figures_that_rest_on_nothing_are_flagged(expected, candidate, flags):
    assert details(expected, candidate)["flags"] == {**flags, "safety": ["not_evaluated"]}


def test_without_any_key_every_figure_is_flagged():
    ignored = (Rule(path="a", comparator=Ignore()),)
    found = details({"a": 1}, {"a": 2}, strategies=ignored, ignore_scope="all")
    figures = {name: found[name] for name in ("completeness", "hallucination", "accuracy")}
    assert figures == {"completeness": 1.0, "hallucination": 0.0, "accuracy": 1.0}
    assert {name for name, raised in found["flags"].items() if "vacuous" in raised} == set(figures)


# --- the walk-through -----------------------------------------------------------------------------


def test_the_walk_through_classification():
    found = details(EXPECTED, CANDIDATE, strategies=STRATEGIES)
    assert {name: found[name] for name in BUCKETS} == {
        "gt_non_null": ["name", "email", "bio", "status"],
        "both_non_null": ["name", "email", "bio"],
        "aio_missing_or_null": ["status"],
        "extra_keys": ["extra_field"],
        "gt_null_aio_has_value": ["internal_id"],
        "both_null": [],
    }


def test_the_walk_through_figures():
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
    ("expected", "candidate", "accuracy"),
    [
        pytest.param(100, "100", 1.0, id="a-number-by-its-text"),
        pytest.param(True, "TRUE", 1.0, id="a-boolean-by-its-text"),
        pytest.param("a@b.org", "A@B.ORG", 1.0, id="an-address-without-case"),
        pytest.param("2025-01-15", "2025-01-16", 0.0, id="a-date-by-its-text"),
        pytest.param([1, 2], [2, 1], 0.0, id="a-list-as-a-whole"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, 1.0, id="an-object-with-sorted-keys"),
    ],
)
def test_what_is_no_text_is_compared_exactly(expected, candidate, accuracy):
    assert details({"x": expected}, {"x": candidate})["accuracy"] == accuracy


@pytest.mark.parametrize(
    ("similarity", "accuracy"),
    [
        pytest.param(0.80, 1.0, id="at-the-threshold-it-counts-in-full"),
        pytest.param(0.79, 0.0, id="below-it-counts-nothing"),
    ],
)
def test_text_is_compared_by_meaning(similarity, accuracy):
    judged = Auto(provider=Recorded(scores={("one", "two"): similarity}))
    assert details({"x": "one"}, {"x": "two"}, default=judged)["accuracy"] == accuracy


@pytest.mark.parametrize(
    ("ignore_scope", "both", "completeness", "hallucination"),
    [
        pytest.param("accuracy", ["a", "b"], 1.0, 0.0, id="out-of-the-accuracy-only"),
        pytest.param("all", ["a"], 1.0, 0.0, id="out-of-everything"),
    ],
)
def test_an_ignored_key(ignore_scope, both, completeness, hallucination):
    ignored = (Rule(path="b", comparator=Ignore()),)
    found = details(
        {"a": 1, "b": 2}, {"a": 1, "b": 9}, strategies=ignored, ignore_scope=ignore_scope
    )
    assert (found["both_non_null"], found["accuracy"]) == (both, 1.0)
    assert (found["completeness"], found["hallucination"]) == (completeness, hallucination)


def test_an_ignored_key_still_counts_as_lost_or_invented():
    ignored = (Rule(path="a", comparator=Ignore()), Rule(path="b", comparator=Ignore()))
    found = details({"a": 1, "b": None, "c": 1}, {"b": 2, "c": 1}, strategies=ignored)
    assert found["aio_missing_or_null"] == ["a"]
    assert found["gt_null_aio_has_value"] == ["b"]


def test_where_every_key_is_ignored_the_accuracy_is_vacuous():
    found = details({"a": 1}, {"a": 2}, strategies=(Rule(path="a", comparator=Ignore()),))
    assert (found["accuracy"], found["flags"]["accuracy"]) == (1.0, ["vacuous"])


# --- the score ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "rqs", "rqs_max"),
    [
        pytest.param({}, 0.85, 0.85, id="a-perfect-answer-reaches-no-more-than-0.85"),
        pytest.param({"rqs_form": "complement"}, 1.0, 1.0, id="the-complement-reaches-1"),
        pytest.param(
            {"weights": RqsWeights(accuracy=1, completeness=1, safety=1, hallucination=1)},
            1.0,
            1.0,
            id="the-score-is-clamped-above",
        ),
    ],
)
def test_the_score_of_a_perfect_answer(options, rqs, rqs_max):
    found = details({"a": 1}, {"a": 1}, **options)
    assert (found["rqs"], found["rqs_max"]) == (pytest.approx(rqs), pytest.approx(rqs_max))


def test_the_score_is_clamped_below():
    weights = RqsWeights(accuracy=0, completeness=0, safety=0, hallucination=1)
    assert details({}, {"a": 1}, weights=weights)["rqs"] == 0.0


@pytest.mark.parametrize(
    ("safety", "rqs", "flags"),
    [
        pytest.param(None, 0.85, {"safety": ["not_evaluated"]}, id="without-a-judge-it-is-1"),
        pytest.param(1.0, 0.85, {}, id="judged-safe"),
        pytest.param(0.0, 0.70, {}, id="judged-unsafe"),
    ],
)
def test_safety(safety, rqs, flags):
    result = ResponseQuality().evaluate({"a": 1}, {"a": 1}, safety=safety)
    assert result.score == pytest.approx(rqs)
    assert result.details["flags"] == flags


@pytest.mark.parametrize(
    ("options", "candidate", "verdict"),
    [
        pytest.param({}, {"a": 1, "b": 2}, PASS, id="at-least-0.8-by-default"),
        pytest.param({}, {"a": 1}, FAIL, id="below-0.8-by-default"),
        pytest.param({"pass_threshold": 0.7}, {"a": 1}, PASS, id="at-least-the-threshold"),
        pytest.param({"pass_threshold": None}, {"a": 1}, PARTIAL, id="by-hits-and-misses"),
    ],
)
def test_the_verdict(options, candidate, verdict):
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


def test_a_failed_comparison_leaves_the_accuracy_partial_and_gives_no_score():
    rules = (Rule(path="a", comparator=SILENT),)
    result = ResponseQuality(strategies=rules).evaluate({"a": "x", "b": 1}, {"a": "y", "b": 1})
    assert (result.score, result.verdict, result.status) == (None, None, Status.ERROR)
    assert result.details["accuracy"] == 1.0
    assert result.details["flags"]["accuracy"] == ["partial"]
    assert result.details["both_non_null"] == ["a", "b"]


def test_an_unreadable_candidate_scores_nothing():
    result = ResponseQuality().evaluate({"a": 1}, MISSING, unreadable=True)
    assert (result.score, result.verdict, result.details["rqs"]) == (0.0, FAIL, 0.0)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"rqs_form": "sum"}, "rqs_form", id="an-unknown-form"),
        pytest.param({"ignore_scope": "none"}, "ignore_scope", id="an-unknown-scope"),
        pytest.param({"depth": "deep"}, "depth", id="an-unknown-depth"),
        pytest.param({"pass_threshold": 2}, "pass_threshold", id="a-threshold-out-of-reach"),
        pytest.param(
            {"strategies": (Rule(path="a"), Rule(path="a"))}, "strategies", id="a-key-twice"
        ),
    ],
)
def test_a_bad_option_is_refused_by_its_name(options, option):
    with pytest.raises(OptionError) as refused:
        ResponseQuality(**options)
    assert refused.value.option == option


@pytest.mark.parametrize("safety", [-0.1, 1.1, float("nan")])
def test_a_safety_that_is_no_share_is_refused(safety):
    with pytest.raises(OptionError):
        ResponseQuality().evaluate({"a": 1}, {"a": 1}, safety=safety)
