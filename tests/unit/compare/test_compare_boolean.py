from __future__ import annotations

import pytest

from fieldmark.compare.boolean import Boolean
from fieldmark.model.outcome import Reason

DIFFERENT, NOT_BOOLEAN, TYPE = Reason.DIFFERENT, Reason.NOT_A_BOOLEAN, Reason.TYPE_MISMATCH


@pytest.mark.parametrize(
    ("expected", "candidate", "coerced"),
    [
        pytest.param(True, True, False, id="true"),
        pytest.param(True, "true", True, id="the-word-true"),
        pytest.param(True, " YES ", True, id="yes-untrimmed-in-capitals"),
        pytest.param(True, 1, True, id="one"),
        pytest.param(False, "no", True, id="no"),
        pytest.param(False, 0.0, True, id="zero"),
        pytest.param("yes", "TRUE", True, id="two-words-for-true"),
        pytest.param("maybe", "maybe", False, id="equal-values-match-whatever-they-are"),
    ],
)
def test_the_same_truth_value_matches(expected, candidate, coerced):
    comparison = Boolean().compare(expected, candidate)
    assert comparison.matched
    assert comparison.coerced is coerced


@pytest.mark.parametrize(
    ("expected", "candidate", "reason"),
    [
        pytest.param(True, False, DIFFERENT, id="the-other-truth-value"),
        pytest.param("yes", "no", DIFFERENT, id="the-other-word"),
        pytest.param(True, "no", TYPE, id="the-other-value-in-another-kind"),
        pytest.param(True, "maybe", NOT_BOOLEAN, id="a-word-that-is-neither"),
        pytest.param(True, 2, NOT_BOOLEAN, id="a-number-that-is-neither"),
        pytest.param(True, [True], NOT_BOOLEAN, id="a-list"),
        pytest.param(True, None, NOT_BOOLEAN, id="null"),
        pytest.param("maybe", "yes", DIFFERENT, id="an-expected-word-that-is-neither"),
    ],
)
def test_why_truth_values_do_not_match(expected, candidate, reason):
    comparison = Boolean().compare(expected, candidate)
    assert not comparison.matched
    assert comparison.reason is reason
    assert comparison.wrong_kind is (reason is not DIFFERENT)
