from __future__ import annotations

import pytest
from metrics_cells import FACTS_BY_WORD

from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.verdict import Mark, mark_table, verdict_at, verdict_of
from fieldmark.model.case import Verdict


def mark(convention, word):
    return mark_table(CONVENTIONS[convention].counting)[FACTS_BY_WORD[word]]


@pytest.mark.parametrize(
    ("convention", "word", "expected"),
    [
        pytest.param("field_accuracy", "match", Mark.HIT, id="match-is-a-hit"),
        pytest.param("field_accuracy", "wrong", Mark.MISS, id="wrong-value-is-a-miss"),
        pytest.param("field_accuracy", "format", Mark.MISS, id="wrong-type-is-a-miss"),
        pytest.param("field_accuracy", "omission", Mark.MISS, id="omission-is-a-miss"),
        pytest.param("field_accuracy", "extra-for-null", Mark.MISS, id="value-for-null"),
        pytest.param("field_accuracy", "extra-key", Mark.SKIPPED, id="no-expected-value"),
        pytest.param("field_accuracy", "null-null", Mark.HIT, id="both-empty-with-the-key"),
        pytest.param(
            "field_accuracy", "absent-null", Mark.SKIPPED, id="both-empty-without-the-key"
        ),
        pytest.param("field_accuracy", "absent-absent", Mark.SKIPPED, id="absent-from-both"),
        pytest.param("field_accuracy", "ignored", Mark.NONE, id="ignored-is-not-listed"),
        pytest.param("field_accuracy", "error", Mark.ERROR, id="error-is-not-a-miss"),
        pytest.param("confusion", "extra-key", Mark.MISS, id="extra-key-is-a-miss-under-confusion"),
        pytest.param("confusion", "absent-absent", Mark.HIT, id="true-negative-is-a-hit"),
        pytest.param("confusion", "absent-null", Mark.SKIPPED, id="not-counted-is-skipped"),
        pytest.param("taxonomy", "null-null", Mark.SKIPPED, id="taxonomy-skips-both-empty"),
        pytest.param("four_phase", "absent-null", Mark.MISS, id="extra-key-is-a-miss"),
        pytest.param("four_phase", "null-absent", Mark.SKIPPED, id="both-null-is-skipped"),
    ],
)
def test_hits_misses_and_skipped(convention, word, expected):
    assert mark(convention, word) is expected


def test_keys_that_the_truth_lacks_are_misses_if_strict():
    strict = CONVENTIONS["field_accuracy"].with_options({"absent_truth": "miss"})
    assert mark_table(strict.counting)[FACTS_BY_WORD["extra-key"]] is Mark.MISS


@pytest.mark.parametrize(
    ("hits", "misses", "verdict"),
    [
        pytest.param(3, 0, Verdict.PASS, id="no-misses-pass"),
        pytest.param(0, 0, Verdict.PASS, id="both-lists-empty-pass"),
        pytest.param(3, 1, Verdict.PARTIAL, id="hits-and-misses-are-partial"),
        pytest.param(0, 1, Verdict.FAIL, id="misses-alone-fail"),
    ],
)
def test_verdict_from_hits_and_misses(hits, misses, verdict):
    assert verdict_of(hits, misses) is verdict


@pytest.mark.parametrize(
    ("score", "verdict"),
    [
        pytest.param(0.8, Verdict.PASS, id="at-the-threshold"),
        pytest.param(0.1 + 0.7, Verdict.PASS, id="at-the-threshold-except-for-rounding"),
        pytest.param(0.79, Verdict.FAIL, id="below"),
    ],
)
def test_verdict_from_a_threshold(score, verdict):
    assert verdict_at(score, 0.8) is verdict
