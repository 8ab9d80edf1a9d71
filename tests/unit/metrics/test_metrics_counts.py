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
