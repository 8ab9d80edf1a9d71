from __future__ import annotations

from decimal import Decimal

import pytest

from fieldmark.compare.numeric import NumericTolerance
from fieldmark.errors import OptionError
from fieldmark.model.outcome import Reason

OUTSIDE, INVALID, TYPE = Reason.OUTSIDE_TOLERANCE, Reason.INVALID_NUMBER, Reason.TYPE_MISMATCH
NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "matched"),
    [
        pytest.param({"tolerance": 0.02, "relative": True}, 100.00, 101.00, True, id="inside-share"),
        pytest.param({"tolerance": 0.02, "relative": True}, 0, 0.02, True, id="relative-to-zero"),
        pytest.param({"tolerance": 0.1}, 1.0, 1.1, True, id="boundary-is-inside"),
        pytest.param({"tolerance": Decimal("0.1")}, 1.0, 1.1, True, id="decimal-tolerance"),
        pytest.param({}, 0.3, 0.1 + 0.2, False, id="no-tolerance-by-default"),
        pytest.param({"absolute": 0.5}, 10, 10.5, True, id="absolute-limit"),
        pytest.param({"relative_tolerance": 0.1}, 10, 11, True, id="relative-limit"),
        pytest.param({"absolute": 0.5, "relative_tolerance": 0.1}, 100, 109, True, id="either-suffices"),
        pytest.param({"tolerance": 2, "period": 360}, 359, 1, True, id="around-circle"),
        pytest.param({}, 100, "100", True, id="plain-numeric-string-is-read"),
        pytest.param({}, "100", " 1e2 ", True, id="numeric-string-on-both-sides"),
        pytest.param({}, 0.3, "0.30000000000000004", False, id="every-digit-of-string-counts"),
        pytest.param({"tolerance": 1}, "1e400", "1e400", True, id="string-above-floats"),
        pytest.param({"number_format": "us"}, 1240, "$1,240.00", True, id="amount-under-format"),
        pytest.param({"number_format": "eu"}, 1240, "1.240,00 €", True, id="amount-in-different-format"),
        pytest.param({"number_format": "auto"}, 1240, "1.240,00", True, id="matching-format"),
        pytest.param({}, 1240, "1,240.00", False, id="amount-without-format"),
    ],
)  # fmt: skip
def test_near_numbers_match(options, expected, candidate, matched):
    comparison = NumericTolerance(**options).compare(expected, candidate)
    assert comparison.matched is matched
    assert comparison.score == float(matched)


@pytest.mark.parametrize(
    ("expected", "candidate", "reason", "wrong_kind"),
    [
        pytest.param(100, 105, OUTSIDE, False, id="different-number"),
        pytest.param("100", "105", OUTSIDE, False, id="different-number-both-as-text"),
        pytest.param(100, "105", TYPE, True, id="different-number-as-text"),
        pytest.param(100, "abc", TYPE, True, id="string-not-number"),
        pytest.param("abc", "abc", TYPE, True, id="equal-strings-not-numbers"),
        pytest.param(1, True, TYPE, True, id="boolean"),
        pytest.param(True, True, TYPE, True, id="two-booleans"),
        pytest.param(1, [1], TYPE, True, id="list"),
        pytest.param(1, NAN, INVALID, True, id="nan"),
        pytest.param(NAN, NAN, INVALID, True, id="nan-on-both-sides"),
        pytest.param(INFINITY, INFINITY, INVALID, True, id="infinity-on-both-sides"),
        pytest.param("abc", "5", INVALID, False, id="expected-string-not-number"),
        pytest.param("abc", 5, TYPE, True, id="expected-string-against-number"),
    ],
)
def test_reasons_for_number_mismatches(expected, candidate, reason, wrong_kind):
    comparison = NumericTolerance().compare(expected, candidate)
    assert not comparison.matched
    assert (comparison.reason, comparison.wrong_kind) == (reason, wrong_kind)


@pytest.mark.parametrize(
    ("expected", "candidate", "coerced"),
    [
        pytest.param(100, 100, False, id="numbers"),
        pytest.param(100, "100", True, id="string-in-candidate"),
        pytest.param("100", 100, True, id="string-in-truth"),
        pytest.param(100, "101", True, id="even-if-it-does-not-match"),
        pytest.param(100, "abc", False, id="unless-it-cannot-be-read"),
    ],
)
def test_numeric_strings_are_marked_as_coerced(expected, candidate, coerced):
    assert NumericTolerance().compare(expected, candidate).coerced is coerced


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"absolute": 1, "tolerance": 1}, "tolerance", id="two-spellings"),
        pytest.param({"absolute": 1, "relative": True}, "tolerance", id="conflicting-tolerances"),
    ],
)
def test_invalid_options_are_rejected(options, option):
    with pytest.raises(OptionError) as caught:
        NumericTolerance(**options)
    assert caught.value.option == option
