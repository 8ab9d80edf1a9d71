from __future__ import annotations

import pytest
from metrics_cells import FACTS_BY_WORD, histogram

from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.counts import cost_table, total
from fieldmark.metrics.taxonomy import ErrorCounts, errors_by_type, truth_fields
from fieldmark.metrics.verdict import Mark, mark_table, verdict_at, verdict_of
from fieldmark.model.case import Verdict
from fieldmark.model.counts import Counts

NOTHING = Counts()
BOTH = Counts(fp=1, fn=1)


def cost(convention, word):
    return cost_table(CONVENTIONS[convention].counting)[FACTS_BY_WORD[word]]


def mark(convention, word):
    return mark_table(CONVENTIONS[convention].counting)[FACTS_BY_WORD[word]]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("match", Counts(tp=1), id="a-match-is-a-true-positive"),
        pytest.param("wrong", BOTH, id="a-wrong-value-is-one-invented-and-one-lost"),
        pytest.param("format", BOTH, id="a-value-of-the-wrong-kind-costs-the-same"),
        pytest.param("omission", Counts(fn=1), id="an-omission-is-a-false-negative"),
        pytest.param("omission-null", Counts(fn=1), id="a-null-candidate-is-an-omission-too"),
        pytest.param("omission-blank", Counts(fn=1), id="a-blank-candidate-is-an-omission-too"),
        pytest.param("invented-key", Counts(fp=1), id="an-invented-key-is-a-false-positive"),
        pytest.param("invented-for-null", Counts(fp=1), id="so-is-a-value-for-null"),
        pytest.param("invented-for-blank", Counts(fp=1), id="so-is-a-value-for-blank"),
        pytest.param("null-null", Counts(tn=1), id="null-on-both-sides-is-a-true-negative"),
        pytest.param("null-blank", Counts(tn=1), id="null-against-blank-too"),
        pytest.param("null-absent", Counts(tn=1), id="null-against-an-absent-key-too"),
        pytest.param("absent-absent", Counts(tn=1), id="a-configured-field-absent-on-both-too"),
        pytest.param("absent-null", NOTHING, id="null-under-a-key-unknown-to-the-truth-is-not"),
        pytest.param("absent-blank", NOTHING, id="nor-is-blank"),
        pytest.param("ignored", NOTHING, id="ignored-costs-nothing"),
        pytest.param("ignored-omission", NOTHING, id="ignored-costs-nothing-even-if-left-out"),
        pytest.param("error", NOTHING, id="an-error-costs-nothing"),
    ],
)
@pytest.mark.parametrize("convention", ["confusion", "field_accuracy"])
def test_confusion_counts(convention, word, expected):
    assert cost(convention, word) == expected


@pytest.mark.parametrize(
    ("convention", "word", "expected"),
    [
        pytest.param("taxonomy", "wrong", BOTH, id="table-and-note-wrong-value-costs-both"),
        pytest.param("taxonomy", "format", BOTH, id="table-and-note-format-error-costs-both"),
        pytest.param("taxonomy_code", "wrong", Counts(fp=1), id="code-wrong-value-is-fp-only"),
        pytest.param("taxonomy_code", "format", Counts(fp=1), id="code-format-error-is-fp-only"),
        pytest.param("taxonomy", "omission", Counts(fn=1), id="omission-is-fn"),
        pytest.param("taxonomy", "invented-key", Counts(fp=1), id="hallucination-is-fp"),
        pytest.param("taxonomy", "null-null", NOTHING, id="both-empty-is-not-counted"),
        pytest.param("taxonomy_code", "absent-absent", NOTHING, id="in-the-code-neither"),
        pytest.param("four_phase", "absent-null", Counts(fp=1), id="null-under-an-extra-key-costs"),
        pytest.param("four_phase", "null-null", NOTHING, id="null-on-both-sides-is-skipped"),
    ],
)
def test_other_conventions_cost_otherwise(convention, word, expected):
    assert cost(convention, word) == expected


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


def test_mistakes_by_type():
    facts = histogram(
        "match omission omission-null invented-key invented-for-null format wrong "
        "wrong null-null absent-null ignored ignored-omission error"
    )
    assert errors_by_type(facts) == ErrorCounts(
        omission=2, hallucination=2, format_error=1, wrong_value=2
    )


def test_truth_fields_are_met_left_out_or_answered_wrongly():
    facts = histogram("match match omission wrong format invented-key null-null ignored error")
    correct = total(facts, cost_table(CONVENTIONS["taxonomy"].counting)).tp
    assert correct == 2
    assert truth_fields(correct, errors_by_type(facts)) == 5
