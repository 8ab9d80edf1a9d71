from __future__ import annotations

import pytest

from fieldmark.compare.numeric import Boolean
from fieldmark.model.outcome import Reason

DIFFERENT, NOT_BOOLEAN, TYPE = Reason.DIFFERENT, Reason.NOT_A_BOOLEAN, Reason.TYPE_MISMATCH


@pytest.mark.parametrize(
    ("expected", "candidate", "coerced"),
    [
        pytest.param(True, True, False, id="true"),
        pytest.param(True, "true", True, id="word-true"),
        pytest.param(True, " YES ", True, id="yes-untrimmed-in-capitals"),
        pytest.param(True, 1, True, id="one"),
        pytest.param(False, "no", True, id="no"),
        pytest.param(False, "False", True, id="word-false"),
        pytest.param(False, 0.0, True, id="zero"),
        pytest.param("yes", "TRUE", True, id="two-words-for-true"),
        pytest.param("maybe", "maybe", False, id="equal-values-match-whatever-they-are"),
    ],
)
def test_same_truth_value_matches(expected, candidate, coerced):
    comparison = Boolean().compare(expected, candidate)
    assert comparison.matched
    assert comparison.coerced is coerced


@pytest.mark.parametrize(
    ("expected", "candidate", "reason"),
    [
        pytest.param(True, False, DIFFERENT, id="other-truth-value"),
        pytest.param("yes", "no", DIFFERENT, id="other-word"),
        pytest.param(True, "no", TYPE, id="other-value-in-different-type"),
        pytest.param(True, "maybe", NOT_BOOLEAN, id="word-not-boolean"),
        pytest.param(True, 2, NOT_BOOLEAN, id="number-not-boolean"),
        pytest.param(True, [True], NOT_BOOLEAN, id="list"),
        pytest.param(True, None, NOT_BOOLEAN, id="null"),
        pytest.param("maybe", "yes", DIFFERENT, id="expected-word-not-boolean"),
    ],
)
def test_reasons_for_boolean_mismatches(expected, candidate, reason):
    comparison = Boolean().compare(expected, candidate)
    assert not comparison.matched
    assert comparison.reason is reason
    assert comparison.wrong_kind is (reason is not DIFFERENT)
