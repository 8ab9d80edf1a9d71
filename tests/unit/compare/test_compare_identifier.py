from __future__ import annotations

import pytest

from fieldmark.compare.identifier import Identifier


@pytest.mark.parametrize(
    ("expected", "candidate", "matched"),
    [
        pytest.param("INV-2024/007", "inv 2024 007", True, id="separators-and-case"),
        pytest.param("DE 123 456 789", "DE123456789", True, id="blanks"),
        pytest.param("AB-12", "AB12", True, id="separators-on-one-side"),
        pytest.param("AB-12", "AB 12", True, id="another-separator"),
        pytest.param("AB - 12", "ab–12", True, id="blanks-and-another-dash"),
        pytest.param("(212) 555-0123", "212-555-0123", True, id="brackets-are-separators"),
        pytest.param("Order #12", "order 12", True, id="number-sign"),
        pytest.param("1-23", "12-3", False, id="separators-at-different-places"),
        pytest.param("1/23", "12/3", False, id="slashes-at-different-places"),
        pytest.param("AB-12-3", "AB-123", False, id="both-have-separators-but-not-the-same"),
        pytest.param("A+", "A-", False, id="different-signs"),
        pytest.param("A-", "A", False, id="sign-at-the-end"),
        pytest.param("-5", "5", False, id="sign-at-the-beginning"),
        pytest.param(-5, "5", False, id="negative-integer"),
        pytest.param("5/-3", "5/3", False, id="sign-behind-a-slash"),
        pytest.param("INV-1.0", "INV-10", False, id="decimal-point"),
        pytest.param("1,5", "15", False, id="comma"),
        pytest.param("12:30", "1230", False, id="colon"),
        pytest.param("()", "[]", False, id="nothing-but-brackets"),
        pytest.param("C#", "C", False, id="other-marks"),
        pytest.param("INV-007", "INV-7", False, id="leading-zeros-count"),
        pytest.param("INV-1O0", "INV-100", False, id="letter-is-not-a-digit"),
        pytest.param("INV-100", "ABC-100", False, id="letters-count"),
        pytest.param("INV-100", "INV-1000", False, id="digits-count"),
        pytest.param("１００", "100", True, id="full-width-digits"),
        pytest.param(100, "100", True, id="integer-and-string"),
        pytest.param(7, "007", False, id="integer-without-zeros"),
        pytest.param("-", "+", False, id="only-separators"),
        pytest.param(1.5, 1.5, True, id="equal-values"),
        pytest.param(1.5, "15", False, id="decimal-number"),
        pytest.param(["a"], "a", False, id="list"),
        pytest.param(True, "true", False, id="boolean"),
    ],
)
def test_letters_and_digits_are_compared(expected, candidate, matched):
    assert Identifier().compare(expected, candidate).matched is matched


@pytest.mark.parametrize(
    ("expected", "candidate", "coerced", "wrong_kind"),
    [
        pytest.param("A-1", "A-2", False, False, id="different-text"),
        pytest.param(1, "1", True, False, id="number-read-as-text"),
        pytest.param(1, "2", False, True, id="different-number-as-text"),
        pytest.param("1", None, False, True, id="null"),
    ],
)
def test_flags(expected, candidate, coerced, wrong_kind):
    comparison = Identifier().compare(expected, candidate)
    assert (comparison.coerced, comparison.wrong_kind) == (coerced, wrong_kind)
