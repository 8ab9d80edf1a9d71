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
        pytest.param({"tolerance": 0.05}, 100.00, 100.02, True, id="inside-the-tolerance"),
        pytest.param({"tolerance": 1.0}, 100.00, 105.00, False, id="outside-the-tolerance"),
        pytest.param({"tolerance": 0.02, "relative": True}, 100.00, 101.00, True, id="inside-the-share"),
        pytest.param({"tolerance": 0.02, "relative": True}, 100.00, 103.00, False, id="outside-the-share"),
        pytest.param({"tolerance": 0.02, "relative": True}, 0, 0.02, True, id="zero-has-no-share"),
        pytest.param({"tolerance": 0.1}, 1.0, 1.1, True, id="the-boundary-is-inside"),
        pytest.param({"tolerance": Decimal("0.1")}, 1.0, 1.1, True, id="a-decimal-tolerance"),
        pytest.param({}, 0.3, 0.1 + 0.2, False, id="no-tolerance-by-default"),
        pytest.param({"tolerance": 1e-9}, 0.3, 0.1 + 0.2, True, id="a-tiny-tolerance"),
        pytest.param({}, 1, 1.0, True, id="numbers-by-value"),
        pytest.param({}, 2**53 + 1, 2**53, False, id="long-integers-are-exact"),
        pytest.param({"absolute": 0.5}, 10, 10.5, True, id="an-absolute-limit"),
        pytest.param({"relative_tolerance": 0.1}, 10, 11, True, id="a-relative-limit"),
        pytest.param({"absolute": 0.5, "relative_tolerance": 0.1}, 100, 109, True, id="either-suffices"),
        pytest.param({"absolute": 0.5, "relative_tolerance": 0.1}, 100, 111, False, id="beyond-both"),
        pytest.param({"tolerance": 2, "period": 360}, 359, 1, True, id="around-the-circle"),
        pytest.param({"tolerance": 1, "period": 360}, 359, 1, False, id="around-the-circle-beyond"),
        pytest.param({}, 100, "100", True, id="plain-numeric-text-is-read"),
        pytest.param({}, "100", " 1e2 ", True, id="numeric-text-on-both-sides"),
        pytest.param({}, 0.3, "0.30000000000000004", False, id="every-digit-of-a-text-counts"),
        pytest.param({"tolerance": 1}, "1e400", "1e400", True, id="text-beyond-floats"),
        pytest.param({"number_format": "us"}, 1240, "$1,240.00", True, id="an-amount-under-a-format"),
        pytest.param({"number_format": "eu"}, 1240, "1.240,00 €", True, id="an-amount-in-another-format"),
        pytest.param({"number_format": "auto"}, 1240, "1.240,00", True, id="whichever-format-fits"),
        pytest.param({}, 1240, "1,240.00", False, id="an-amount-without-a-format"),
    ],
)  # fmt: skip
def test_near_numbers_match(options, expected, candidate, matched):
    comparison = NumericTolerance(**options).compare(expected, candidate)
    assert comparison.matched is matched
    assert comparison.score == float(matched)


@pytest.mark.parametrize(
    ("expected", "candidate", "reason", "wrong_kind"),
    [
        pytest.param(100, 105, OUTSIDE, False, id="another-number"),
        pytest.param("100", "105", OUTSIDE, False, id="another-number-both-as-text"),
        pytest.param(100, "105", TYPE, True, id="another-number-as-text"),
        pytest.param(100, "abc", TYPE, True, id="text-that-is-no-number"),
        pytest.param("abc", "abc", TYPE, True, id="equal-texts-that-are-no-numbers"),
        pytest.param(1, True, TYPE, True, id="a-boolean"),
        pytest.param(True, True, TYPE, True, id="two-booleans"),
        pytest.param(1, [1], TYPE, True, id="a-list"),
        pytest.param(1, NAN, INVALID, True, id="nan"),
        pytest.param(NAN, NAN, INVALID, True, id="nan-on-both-sides"),
        pytest.param(INFINITY, INFINITY, INVALID, True, id="infinity-on-both-sides"),
        pytest.param("abc", "5", INVALID, False, id="an-expected-text-that-is-no-number"),
        pytest.param("abc", 5, TYPE, True, id="an-expected-text-against-a-number"),
    ],
)
def test_why_numbers_do_not_match(expected, candidate, reason, wrong_kind):
    comparison = NumericTolerance().compare(expected, candidate)
    assert not comparison.matched
    assert (comparison.reason, comparison.wrong_kind) == (reason, wrong_kind)


@pytest.mark.parametrize(
    ("expected", "candidate", "coerced"),
    [
        pytest.param(100, 100, False, id="numbers"),
        pytest.param(100, "100", True, id="text-in-the-candidate"),
        pytest.param("100", 100, True, id="text-in-the-truth"),
        pytest.param(100, "101", True, id="even-if-it-does-not-match"),
        pytest.param(100, "abc", False, id="unless-it-cannot-be-read"),
    ],
)
def test_reading_text_as_a_number_is_told(expected, candidate, coerced):
    assert NumericTolerance().compare(expected, candidate).coerced is coerced


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"tolerance": "not a number"}, "tolerance", id="text"),
        pytest.param({"tolerance": -0.1}, "tolerance", id="a-negative-tolerance"),
        pytest.param({"tolerance": NAN}, "tolerance", id="nan"),
        pytest.param({"tolerance": INFINITY}, "tolerance", id="infinity"),
        pytest.param({"tolerance": True}, "tolerance", id="a-boolean"),
        pytest.param({"tolerance": None}, "tolerance", id="nothing"),
        pytest.param({"relative": "yes"}, "relative", id="a-word-for-a-flag"),
        pytest.param({"absolute": -1}, "absolute", id="a-negative-absolute-limit"),
        pytest.param({"relative_tolerance": -1}, "relative_tolerance", id="a-negative-share"),
        pytest.param({"absolute": 1, "tolerance": 1}, "tolerance", id="two-ways-to-say-it"),
        pytest.param({"absolute": 1, "relative": True}, "tolerance", id="two-ways-to-say-relative"),
        pytest.param({"number_format": "uk"}, "number_format", id="an-unknown-format"),
        pytest.param({"period": 0}, "period", id="no-period"),
        pytest.param({"period": -360}, "period", id="a-negative-period"),
    ],
)
def test_options_that_are_refused(options, option):
    with pytest.raises(OptionError) as caught:
        NumericTolerance(**options)
    assert caught.value.option == option


def test_a_near_miss_of_an_option_is_suggested():
    with pytest.raises(OptionError, match="Did you mean auto"):
        NumericTolerance(number_format="auot")
