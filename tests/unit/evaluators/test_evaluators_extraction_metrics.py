"""Extraction metrics: precision, recall and F1 by field, with mistakes by type."""

from __future__ import annotations

import pytest
from evaluator_fields import fields
from walk_through import CANDIDATE, EXPECTED, STRATEGIES

from fieldmark.evaluators.field_evaluators import ExtractionMetrics
from fieldmark.model.case import Verdict

PASS, PARTIAL, FAIL = Verdict


def details(expected, candidate, **options):
    return ExtractionMetrics(**options).evaluate(expected, candidate).details


def counts_of(expected, candidate, **options):
    found = details(expected, candidate, **options)
    return found["true_positives"], found["false_positives"], found["false_negatives"]


def test_list_items_are_compared_by_index():
    assert counts_of({"rows": [1, 2]}, {"rows": [2, 1]}) == (0, 2, 2)


def test_ignored_field_is_out_of_scope():
    rules = fields({"path": "b", "match": "ignore"})
    found = details({"a": 1, "b": 2}, {"a": 1, "b": 3}, fields=rules)
    assert (found["total_gt_fields"], found["f1"]) == (1, 1.0)


def test_configured_scope_counts_only_configured_fields():
    found = details({"a": 1, "b": 2}, {"a": 1, "c": 3}, fields=fields("a"), scope="configured")
    assert (found["total_gt_fields"], found["false_positives"]) == (1, 0)


@pytest.mark.parametrize(
    ("options", "counts", "f1"),
    [
        pytest.param({}, (1, 4, 3), 2 / 9, id="exactly"),
        pytest.param({"variant": "taxonomy_code"}, (1, 4, 1), 2 / 7, id="as-code-counts"),
        pytest.param({"fields": STRATEGIES}, (3, 2, 1), 2 / 3, id="with-its-strategies"),
    ],
)
def test_walk_through_pair(options, counts, f1):
    assert counts_of(EXPECTED, CANDIDATE, **options) == counts
    result = ExtractionMetrics(**options).evaluate(EXPECTED, CANDIDATE)
    assert result.score == result.details["f1"] == pytest.approx(f1, abs=1e-9)
    assert result.details["total_gt_fields"] == 4
    names = ["omission", "hallucination", "format_error", "wrong_value"]
    assert list(result.details["errors_by_type"]) == names


@pytest.mark.parametrize(
    ("expected", "candidate", "path"),
    [
        pytest.param([], 5, "$", id="list-against-number"),
        pytest.param(7, 5, "$", id="two-such-documents"),
    ],
)
def test_mismatch_of_whole_documents_shows_them(expected, candidate, path):
    mismatch = details(expected, candidate)["mismatches"][0]
    assert (mismatch["path"], mismatch["expected"]) == (path, expected)


def test_dollar_key_is_an_ordinary_key():
    (mismatch,) = details({"$": 1, "a": 2}, {"$": 3, "a": 2})["mismatches"]
    assert (mismatch["expected"], mismatch["candidate"]) == (1, 3)
