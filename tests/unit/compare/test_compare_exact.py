from __future__ import annotations

import pytest

from fieldmark.compare.exact import Exact, ExactText, NormalizedText
from fieldmark.model.outcome import Reason

MATCH, DIFFERENT, TYPE = None, Reason.DIFFERENT, Reason.TYPE_MISMATCH


def answer(comparator, expected, candidate):
    comparison = comparator.compare(expected, candidate)
    assert comparison.matched is (comparison.reason is None)
    assert comparison.score == float(comparison.matched)
    assert comparison.wrong_kind is (comparison.reason is TYPE)
    return comparison.reason


@pytest.mark.parametrize(
    ("expected", "candidate", "exact", "exact_text", "normalized_text"),
    [
        pytest.param("INV-001", "INV-001", MATCH, MATCH, MATCH, id="the-same-text"),
        pytest.param("INV-002", "INV-001", DIFFERENT, DIFFERENT, DIFFERENT, id="another-text"),
        pytest.param("Acme", "ACME", DIFFERENT, MATCH, MATCH, id="another-case"),
        pytest.param("Acme Corp", " Acme  Corp", DIFFERENT, DIFFERENT, MATCH, id="other-blanks"),
        pytest.param("café", "cafe\u0301", DIFFERENT, DIFFERENT, MATCH, id="accents-encoded-otherwise"),
        pytest.param(100, "100", TYPE, MATCH, TYPE, id="text-for-a-number"),
        pytest.param("100", 100, TYPE, MATCH, TYPE, id="a-number-for-text"),
        pytest.param(100, "200", TYPE, TYPE, TYPE, id="another-number-as-text"),
        pytest.param(1, 1.0, MATCH, DIFFERENT, MATCH, id="one-and-one-point-zero"),
        pytest.param(1, True, TYPE, TYPE, TYPE, id="a-boolean-for-a-number"),
        pytest.param(True, "TRUE", TYPE, MATCH, TYPE, id="a-word-for-a-boolean"),
        pytest.param(True, False, DIFFERENT, DIFFERENT, DIFFERENT, id="the-other-boolean"),
        pytest.param([1], [True], DIFFERENT, DIFFERENT, DIFFERENT, id="a-boolean-inside-a-list"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, MATCH, MATCH, MATCH, id="keys-in-another-order"),
        pytest.param([1, 2], [2, 1], DIFFERENT, DIFFERENT, DIFFERENT, id="items-in-another-order"),
        pytest.param({"a": "X"}, {"a": "x"}, DIFFERENT, MATCH, DIFFERENT, id="another-case-inside"),
        pytest.param([], {}, TYPE, TYPE, TYPE, id="an-object-for-a-list"),
        pytest.param(5, float("nan"), DIFFERENT, DIFFERENT, DIFFERENT, id="an-invalid-number"),
    ],
)  # fmt: skip
def test_equality_strict_literal_and_normalised(
    expected, candidate, exact, exact_text, normalized_text
):
    assert answer(Exact(), expected, candidate) is exact
    assert answer(ExactText(), expected, candidate) is exact_text
    assert answer(NormalizedText(), expected, candidate) is normalized_text


def test_a_match_across_kinds_says_that_it_was_coerced():
    assert ExactText().compare(100, "100").coerced
    assert not ExactText().compare("a", "A").coerced
