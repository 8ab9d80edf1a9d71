from __future__ import annotations

import pytest
from metrics_cells import FACTS_BY_WORD, histogram

from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.counts import (
    ERROR_TABLE,
    ErrorCounts,
    Mark,
    cost_table,
    mark_table,
    total,
    verdict_at,
    verdict_of,
)
from fieldmark.model.case import Verdict
from fieldmark.model.counts import Counts

NOTHING = Counts()
BOTH = Counts(fp=1, fn=1)


def cost(convention, word):
    return cost_table(CONVENTIONS[convention].counting)[FACTS_BY_WORD[word]]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("match", Counts(tp=1), id="match-is-a-true-positive"),
        pytest.param("wrong", BOTH, id="wrong-value-is-one-extra-and-one-missing"),
        pytest.param("format", BOTH, id="wrong-type-costs-the-same"),
        pytest.param("omission", Counts(fn=1), id="omission-is-a-false-negative"),
        pytest.param("omission-null", Counts(fn=1), id="null-candidate-is-an-omission-too"),
        pytest.param("omission-blank", Counts(fn=1), id="blank-candidate-is-an-omission-too"),
        pytest.param("extra-key", Counts(fp=1), id="extra-key-is-a-false-positive"),
        pytest.param("extra-for-null", Counts(fp=1), id="value-for-null-is-a-false-positive"),
        pytest.param("extra-for-blank", Counts(fp=1), id="value-for-blank-is-a-false-positive"),
        pytest.param("null-null", Counts(tn=1), id="null-on-both-sides-is-a-true-negative"),
        pytest.param("null-blank", Counts(tn=1), id="null-and-blank-is-a-true-negative"),
        pytest.param("null-absent", Counts(tn=1), id="null-and-absent-is-a-true-negative"),
        pytest.param(
            "absent-absent", Counts(tn=1), id="configured-field-absent-from-both-is-a-true-negative"
        ),
        pytest.param("absent-null", NOTHING, id="null-under-an-extra-key-is-not-counted"),
        pytest.param("absent-blank", NOTHING, id="blank-under-an-extra-key-is-not-counted"),
        pytest.param("ignored", NOTHING, id="ignored-costs-nothing"),
        pytest.param("ignored-omission", NOTHING, id="ignored-costs-nothing-even-if-missing"),
        pytest.param("error", NOTHING, id="error-costs-nothing"),
    ],
)
@pytest.mark.parametrize("convention", ["confusion", "field_accuracy"])
def test_confusion_counts(convention, word, expected):
    assert cost(convention, word) == expected


@pytest.mark.parametrize(
    ("convention", "word", "expected"),
    [
        pytest.param("taxonomy", "wrong", BOTH, id="table-wrong-value-is-fp-and-fn"),
        pytest.param("taxonomy", "format", BOTH, id="table-format-error-is-fp-and-fn"),
        pytest.param("taxonomy_code", "wrong", Counts(fp=1), id="code-wrong-value-is-fp-only"),
        pytest.param("taxonomy_code", "format", Counts(fp=1), id="code-format-error-is-fp-only"),
        pytest.param("taxonomy", "omission", Counts(fn=1), id="omission-is-fn"),
        pytest.param("taxonomy", "extra-key", Counts(fp=1), id="hallucination-is-fp"),
        pytest.param("taxonomy", "null-null", NOTHING, id="both-empty-is-not-counted"),
        pytest.param(
            "taxonomy_code", "absent-absent", NOTHING, id="code-both-empty-is-not-counted"
        ),
        pytest.param("four_phase", "absent-null", Counts(fp=1), id="null-under-an-extra-key-costs"),
        pytest.param("four_phase", "null-null", NOTHING, id="null-on-both-sides-is-skipped"),
    ],
)
def test_costs_of_other_conventions(convention, word, expected):
    assert cost(convention, word) == expected


def test_mistakes_by_type():
    facts = histogram(
        "match omission omission-null extra-key extra-for-null format wrong "
        "wrong null-null absent-null ignored ignored-omission error"
    )
    assert total(facts, ERROR_TABLE) == ErrorCounts(
        omission=2, hallucination=2, format_error=1, wrong_value=2
    )


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
        pytest.param("field_accuracy", "extra-key", Mark.MISS, id="value-that-the-truth-lacks"),
        pytest.param("field_accuracy", "null-null", Mark.HIT, id="both-empty-with-the-key"),
        pytest.param(
            "field_accuracy", "absent-null", Mark.SKIPPED, id="both-empty-without-the-key"
        ),
        pytest.param("field_accuracy", "absent-absent", Mark.SKIPPED, id="absent-from-both"),
        pytest.param("field_accuracy", "ignored", Mark.NONE, id="ignored-is-not-listed"),
        pytest.param("field_accuracy", "error", Mark.ERROR, id="error-is-not-a-miss"),
        pytest.param("confusion", "extra-key", Mark.MISS, id="extra-key-is-a-miss-under-confusion"),
        pytest.param("confusion", "null-null", Mark.HIT, id="true-negative-is-a-hit"),
        pytest.param("confusion", "absent-absent", Mark.SKIPPED, id="true-negative-without-a-key"),
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
