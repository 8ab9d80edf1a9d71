from __future__ import annotations

import pytest
from metrics_cells import FACTS_BY_WORD

from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.metrics.counts import cost_table
from fieldmark.model.counts import Counts

NOTHING = Counts()
BOTH = Counts(fp=1, fn=1)


def cost(convention, word):
    return cost_table(CONVENTIONS[convention].counting)[FACTS_BY_WORD[word]]


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
