"""Properties of evaluators, with the formulas of the requirements as oracles."""

from __future__ import annotations

import json
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.compare.exact import Exact, ExactText
from fieldmark.evaluators.base import Status
from fieldmark.evaluators.field_evaluators import (
    ExtractionMetrics,
    FieldAccuracy,
    FieldConfusion,
    ResponseQuality,
)
from fieldmark.evaluators.line_items import LineItems
from fieldmark.model.case import Verdict
from fieldmark.model.json import MISSING
from fieldmark.model.rule import Rule
from fieldmark.values.equality import equal
from fieldmark.values.records import to_json
from fieldmark.values.text import exact_text
from json_strategies import any_json, document_pairs, documents, small_json

PATHS = ("a", "b", "name", "total", "items", "a.b", "parts[0].name", "x.y", "bad..path")
RULES = tuple(
    Rule(path=path, weight=float(number % 3), required=number % 2 == 0)
    for number, path in enumerate(PATHS)
)
EVALUATORS = {
    evaluator.name: evaluator
    for evaluator in (
        FieldAccuracy(fields=RULES),
        FieldConfusion(fields=RULES),
        LineItems(path="items", match_fields=("name",)),
        ExtractionMetrics(),
        ResponseQuality(),
    )
}
evaluators = pytest.mark.parametrize("evaluator", EVALUATORS.values(), ids=EVALUATORS)
flat = st.dictionaries(st.sampled_from("abcdef"), small_json, max_size=6)
items = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "description": st.sampled_from(["red", "Red", "reddish", "green", "", None]),
            "amount": st.sampled_from([None, 1, 2, 2.5]),
            "tags": st.lists(st.sampled_from("xy"), max_size=2),
        },
    ),
    max_size=5,
)

# --- properties of all evaluators -----------------------------------------------------------------


def keeps_the_contract(result):
    assert result.status is Status.OK
    assert 0.0 <= result.score <= 1.0
    assert isinstance(result.verdict, Verdict)
    assert all(map(str, (*result.hits, *result.misses, *result.skipped)))
    scored = len(result.hits) + len(result.misses)
    assert result.reasoning == f"{len(result.hits)}/{scored} fields matched"


@evaluators
@given(expected=any_json, candidate=any_json | st.just(MISSING), unreadable=st.booleans())
def test_evaluators_never_raise_for_any_document(evaluator, expected, candidate, unreadable):
    keeps_the_contract(evaluator.evaluate(expected, candidate, unreadable=unreadable))


@evaluators
@given(pair=document_pairs())
def test_details_are_strict_json(evaluator, pair):
    result = evaluator.evaluate(*pair)
    keeps_the_contract(result)
    stored = to_json(result)
    assert json.loads(json.dumps(stored, allow_nan=False)) == stored


@evaluators
@given(document=documents)
def test_truth_as_prediction_only_misses_invalid_paths(evaluator, document):
    misses = evaluator.evaluate(document, document).misses
    assert set(misses) <= {"bad..path (invalid path)"}


@evaluators
@given(expected=documents)
def test_unreadable_candidates_never_pass(evaluator, expected):
    result = evaluator.evaluate(expected, MISSING)
    assert (result.score, result.verdict, result.hits) == (0.0, Verdict.FAIL, ())
    assert result.misses


@given(pair=document_pairs())
def test_hits_and_misses_decide_the_verdict(pair):
    for name in ("field_accuracy", "field_confusion", "line_items", "extraction_metrics"):
        result = EVALUATORS[name].evaluate(*pair)
        expected = Verdict.PARTIAL if result.hits else Verdict.FAIL
        assert result.verdict is (expected if result.misses else Verdict.PASS)


# --- field accuracy by its formula ----------------------------------------------------------------


@given(pair=document_pairs())
def test_weighted_average_of_the_fields_is_the_score(pair):
    result = EVALUATORS["field_accuracy"].evaluate(*pair)
    rows = result.details["fields"]
    weights = fsum(row["weight"] for row in rows)
    if weights:
        earned = fsum(row["score"] * row["weight"] for row in rows)
        assert result.score == pytest.approx(earned / weights)
    strictly = FieldAccuracy(fields=RULES, aggregation="all_or_nothing").evaluate(*pair)
    assert strictly.score == float(all(row["score"] == 1 for row in rows))


# --- field confusion by its definition ------------------------------------------------------------


def is_empty(value):
    return value is MISSING or value is None or (isinstance(value, str) and value.strip() == "")


def classified(expected, candidate):
    if is_empty(expected) and is_empty(candidate):
        return (0, 1, 0, 0)
    if is_empty(expected):
        return (0, 0, 1, 0)
    if is_empty(candidate):
        return (0, 0, 0, 1)
    return (1, 0, 0, 0) if equal(expected, candidate) else (0, 0, 1, 1)


@given(expected=flat, candidate=flat)
def test_confusion_agrees_with_its_definition(expected, candidate):
    rules = tuple(Rule(path=path, comparator=Exact()) for path in "abcdef")
    metrics = FieldConfusion(fields=rules).evaluate(expected, candidate).details["metrics"]
    for path in "abcdef":
        sides = expected.get(path, MISSING), candidate.get(path, MISSING)
        null_for_absent = sides[0] is MISSING and sides[1] is not MISSING and is_empty(sides[1])
        counts = (0, 0, 0, 0) if null_for_absent else classified(*sides)
        assert tuple(metrics[path][name] for name in ("tp", "tn", "fp", "fn")) == counts


# --- line items -----------------------------------------------------------------------------------


@given(expected=items, candidate=items, data=st.data())
def test_item_order_does_not_matter(expected, candidate, data):
    evaluator = LineItems()
    others = data.draw(st.permutations(expected)), data.draw(st.permutations(candidate))
    here = evaluator.evaluate({"line_items": expected}, {"line_items": candidate})
    there = evaluator.evaluate({"line_items": others[0]}, {"line_items": others[1]})
    assert here.score == pytest.approx(there.score)
    assert here.details["summary"] == pytest.approx(there.details["summary"])


@given(expected=items, candidate=items)
def test_every_item_is_aligned_missing_or_extra(expected, candidate):
    details = LineItems().evaluate({"line_items": expected}, {"line_items": candidate}).details
    ours = [row["expected_idx"] for row in details["alignment"]] + details["unmatched_expected"]
    theirs = [row["parsed_idx"] for row in details["alignment"]] + details["unmatched_parsed"]
    assert sorted(ours) == list(range(len(expected)))
    assert sorted(theirs) == list(range(len(candidate)))


# --- extraction metrics by their code -------------------------------------------------------------


def compute_metrics(total_gt_fields, errors):
    """Return the confusion counts and rates as the code of the guide computes them."""
    wrong = errors["format_error"] + errors["wrong_value"]
    tp = total_gt_fields - errors["omission"] - wrong
    fp = errors["hallucination"] + wrong
    fn = errors["omission"]
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    f1 = 2 * (precision * recall) / (precision + recall) if precision + recall else 0.0
    return {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "true_positives": tp,
        "false_positives": fp,
        "false_negatives": fn,
        "total_gt_fields": total_gt_fields,
        "correct_fields": tp,
    }


@given(pair=document_pairs())
def test_code_variant_agrees_with_the_published_code(pair):
    details = ExtractionMetrics(variant="taxonomy_code").evaluate(*pair).details
    computed = compute_metrics(details["total_gt_fields"], details["errors_by_type"])
    assert {name: details[name] for name in computed} == pytest.approx(computed)


@given(pair=document_pairs())
def test_matched_and_missed_fields_are_the_fields_of_the_truth(pair):
    details = ExtractionMetrics().evaluate(*pair).details
    assert details["true_positives"] + details["false_negatives"] == details["total_gt_fields"]


# --- response quality by its definition -----------------------------------------------------------


def four_phases(expected, candidate):
    """Compute the metrics as the plan defines them, with exact comparison of all keys."""
    keys = expected.keys() | candidate.keys()
    extra = [key for key in keys if key not in expected]
    non_null = [key for key in expected if not is_empty(expected[key])]
    both = [key for key in non_null if not is_empty(candidate.get(key))]
    value_for_empty = [
        key for key in expected if is_empty(expected[key]) and not is_empty(candidate.get(key))
    ]
    completeness = len(both) / len(non_null) if non_null else 1.0
    hallucination = (len(extra) + len(value_for_empty)) / len(keys) if keys else 0.0
    right = sum(exact_text(expected[key]) == exact_text(candidate[key]) for key in both)
    accuracy = right / len(both) if both else 1.0
    rqs = 0.45 * accuracy + 0.25 * completeness + 0.15 - 0.15 * hallucination
    return completeness, hallucination, accuracy, max(0.0, min(1.0, rqs))


@given(expected=flat, candidate=flat)
def test_response_quality_agrees_with_its_definition(expected, candidate):
    details = ResponseQuality(default=ExactText()).evaluate(expected, candidate).details
    metrics = ("completeness", "hallucination", "accuracy", "rqs")
    computed = four_phases(expected, candidate)
    assert tuple(details[name] for name in metrics) == pytest.approx(computed, abs=1e-9)


@given(pair=document_pairs())
def test_buckets_partition_the_keys(pair):
    details = EVALUATORS["response_quality"].evaluate(*pair).details
    assert details["gt_non_null"] == [
        key
        for key in details["gt_non_null"]
        if key in (*details["both_non_null"], *details["aio_missing_or_null"])
    ]
    disjoint = ("extra_keys", "gt_null_aio_has_value", "aio_missing_or_null", "both_non_null")
    keys = [key for name in (*disjoint, "both_null") for key in details[name]]
    assert len(keys) == len(set(keys))
