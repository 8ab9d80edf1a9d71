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
        pytest.param("field_accuracy", "match", Mark.HIT, id="a-match-is-a-hit"),
        pytest.param("field_accuracy", "wrong", Mark.MISS, id="a-wrong-value-is-a-miss"),
        pytest.param("field_accuracy", "format", Mark.MISS, id="a-wrong-kind-is-a-miss"),
        pytest.param("field_accuracy", "omission", Mark.MISS, id="an-omission-is-a-miss"),
        pytest.param("field_accuracy", "invented-for-null", Mark.MISS, id="a-value-for-null"),
        pytest.param("field_accuracy", "invented-key", Mark.SKIPPED, id="no-expected-value"),
        pytest.param("field_accuracy", "null-null", Mark.HIT, id="both-empty-with-the-key"),
        pytest.param("field_accuracy", "absent-null", Mark.SKIPPED, id="both-empty-without-it"),
        pytest.param("field_accuracy", "absent-absent", Mark.SKIPPED, id="nothing-anywhere"),
        pytest.param("field_accuracy", "ignored", Mark.NONE, id="ignored-is-on-no-list"),
        pytest.param("field_accuracy", "error", Mark.ERROR, id="an-error-is-no-miss"),
        pytest.param("confusion", "invented-key", Mark.MISS, id="confusion-misses-invented-keys"),
        pytest.param("confusion", "absent-absent", Mark.HIT, id="a-true-negative-is-a-hit"),
        pytest.param("confusion", "absent-null", Mark.SKIPPED, id="not-counted-is-skipped"),
        pytest.param("taxonomy", "null-null", Mark.SKIPPED, id="taxonomy-skips-both-empty"),
        pytest.param("four_phase", "absent-null", Mark.MISS, id="an-extra-key-is-a-miss"),
        pytest.param("four_phase", "null-absent", Mark.SKIPPED, id="both-null-is-skipped"),
    ],
)
def test_hits_misses_and_the_rest(convention, word, expected):
    assert mark(convention, word) is expected


def test_the_strict_reading_misses_what_the_truth_does_not_know():
    strict = CONVENTIONS["field_accuracy"].with_options({"absent_truth": "miss"})
    assert mark_table(strict.counting)[FACTS_BY_WORD["invented-key"]] is Mark.MISS


@pytest.mark.parametrize(
    ("hits", "misses", "verdict"),
    [
        pytest.param(3, 0, Verdict.PASS, id="no-misses-pass"),
        pytest.param(0, 0, Verdict.PASS, id="both-lists-empty-pass"),
        pytest.param(3, 1, Verdict.PARTIAL, id="both-are-partial"),
        pytest.param(0, 1, Verdict.FAIL, id="misses-alone-fail"),
    ],
)
def test_verdict_from_hits_and_misses(hits, misses, verdict):
    assert verdict_of(hits, misses) is verdict


@pytest.mark.parametrize(
    ("score", "verdict"),
    [
        pytest.param(0.8, Verdict.PASS, id="at-the-threshold"),
        pytest.param(0.1 + 0.7, Verdict.PASS, id="at-the-threshold-but-for-rounding"),
        pytest.param(0.79, Verdict.FAIL, id="below"),
    ],
)
def test_verdict_from_a_threshold(score, verdict):
    assert verdict_at(score, 0.8) is verdict
