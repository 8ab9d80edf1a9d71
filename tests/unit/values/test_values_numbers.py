from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from fieldmark.values.numbers import NumberFormat, Tolerance, as_number


@pytest.mark.parametrize(
    ("value", "number"),
    [
        pytest.param(5, 5, id="integer"),
        pytest.param(0.5, 0.5, id="float"),
        pytest.param("100", 100, id="plain-numeric-text"),
        pytest.param(" -1.50 ", Decimal("-1.50"), id="trimmed"),
        pytest.param("+3", 3, id="with-a-plus"),
        pytest.param("1e3", 1000, id="with-an-exponent"),
        pytest.param("1e400", Decimal("1e400"), id="beyond-floats"),
        pytest.param("0.30000000000000004", Decimal("0.30000000000000004"), id="every-digit"),
        pytest.param(True, None, id="boolean"),
        pytest.param(None, None, id="null"),
        pytest.param([1], None, id="list"),
        pytest.param({}, None, id="object"),
        pytest.param(float("nan"), None, id="nan"),
        pytest.param(float("-inf"), None, id="infinity"),
        pytest.param("NaN", None, id="word-nan"),
        pytest.param("Infinity", None, id="word-infinity"),
        pytest.param("007", None, id="leading-zeros-make-a-code"),
        pytest.param("1_000", None, id="python-syntax"),
        pytest.param("0x10", None, id="hexadecimal"),
        pytest.param(".5", None, id="no-digit-before-the-point"),
        pytest.param("5.", None, id="no-digit-after-the-point"),
        pytest.param("١٢", None, id="digits-of-another-script"),
        pytest.param("1 2", None, id="two-numbers"),
        pytest.param("", None, id="nothing"),
        pytest.param("1,240.00", None, id="thousands-need-a-format"),
        pytest.param("$5", None, id="currency-needs-a-format"),
        pytest.param("1e1001", None, id="power-beyond-the-limit"),
        pytest.param("1e99999999999", None, id="power-far-beyond-the-limit"),
        pytest.param("9" * 1001, None, id="more-digits-than-the-limit"),
    ],
)
def test_numbers_in_values(value, number):
    assert as_number(value) == number


@pytest.mark.parametrize(
    ("text", "us", "eu", "auto"),
    [
        pytest.param("1,240.00", 1240, None, 1240, id="us-thousands-and-point"),
        pytest.param("1.240,00", None, 1240, 1240, id="eu-thousands-and-comma"),
        pytest.param("1,240", 1240, Decimal("1.240"), 1240, id="one-comma-could-be-either"),
        pytest.param("1.240", Decimal("1.24"), 1240, Decimal("1.24"), id="one-point-too"),
        pytest.param("12,50", None, Decimal("12.5"), Decimal("12.5"), id="decimal-comma"),
        pytest.param("1,234,567.8", Decimal("1234567.8"), None, Decimal("1234567.8"), id="us-millions"),
        pytest.param("1.234.567", None, 1234567, 1234567, id="eu-millions"),
        pytest.param("1 234 567,8", None, Decimal("1234567.8"), Decimal("1234567.8"), id="whitespace-between-thousands"),
        pytest.param("1240.50", Decimal("1240.5"), Decimal("1240.5"), Decimal("1240.5"), id="plain-text-under-any-format"),
        pytest.param("0.125", Decimal("0.125"), Decimal("0.125"), Decimal("0.125"), id="no-thousands-after-zero"),
        pytest.param("1e3", 1000, 1000, 1000, id="exponents-under-any-format"),
        pytest.param("$5", 5, 5, 5, id="sign-in-front"),
        pytest.param("5 €", 5, 5, 5, id="sign-behind"),
        pytest.param("USD 1,000", 1000, 1, 1000, id="code-in-front"),
        pytest.param("US$ 12", 12, 12, 12, id="country-and-a-sign"),
        pytest.param("-$5.00", -5, None, -5, id="minus-before-the-sign"),
        pytest.param("$-5.25", Decimal("-5.25"), None, Decimal("-5.25"), id="minus-after-the-sign"),
        pytest.param("\u22125", -5, -5, -5, id="typographic-minus"),
        pytest.param("(5.25)", Decimal("-5.25"), None, Decimal("-5.25"), id="parentheses-are-a-minus"),
        pytest.param("($1,000)", -1000, -1, -1000, id="parentheses-around-money"),
        pytest.param("(-5)", None, None, None, id="two-signs"),
        pytest.param("(5", None, None, None, id="open-parenthesis"),
        pytest.param("1,24,000", None, None, None, id="groups-of-two"),
        pytest.param("12,3456", None, Decimal("12.3456"), Decimal("12.3456"), id="group-of-four-is-a-fraction"),
        pytest.param("abc", None, None, None, id="no-number"),
        pytest.param("5 apples", None, None, None, id="number-of-things"),
    ],
)  # fmt: skip
def test_amounts_need_a_format(text, us, eu, auto):
    readings = tuple(as_number(text, number_format) for number_format in NumberFormat)
    assert readings == (us, eu, auto)


@pytest.mark.parametrize(
    ("limits", "expected", "candidate", "admitted"),
    [
        pytest.param({"absolute": "0.1"}, 1.0, 1.1, True, id="boundary-is-inside"),
        pytest.param({"absolute": "0.1"}, 1.1, 1.0, True, id="boundary-below"),
        pytest.param({"absolute": "0.01"}, 100.0, 100.01, True, id="cent"),
        pytest.param({"absolute": "0.01"}, 100.0, 100.0100000001, False, id="little-more"),
        pytest.param({"absolute": "0"}, 0.3, 0.1 + 0.2, False, id="no-tolerance-is-exact"),
        pytest.param({"absolute": "1e-9"}, 0.3, 0.1 + 0.2, True, id="tiny-tolerance"),
        pytest.param({"absolute": "0"}, Decimal("0.1"), 0.1, True, id="text-and-float-of-one-number"),
        pytest.param({"absolute": "0"}, 2**53 + 1, 2.0**53, False, id="long-integers-are-exact"),
        pytest.param({"absolute": "1"}, 2**53 + 1, 2.0**53, True, id="long-integers-one-apart"),
        pytest.param({"absolute": "1"}, 10**400, 10**400 + 1, True, id="integers-beyond-floats"),
        pytest.param({"absolute": "1"}, 10**400, 10**400 + 2, False, id="integers-beyond-floats-apart"),
        pytest.param({"absolute": "1"}, 10**400, 1.5, False, id="beyond-floats-against-a-float"),
        pytest.param({"absolute": "1"}, Decimal("1e400"), Decimal("1e400"), True, id="text-beyond-floats"),
        pytest.param({"absolute": "1"}, 1e308, -1e308, False, id="gap-beyond-floats"),
        pytest.param({"absolute": "1e500"}, 1e308, -1e308, True, id="limit-beyond-floats"),
        pytest.param({"absolute": "0"}, 5e-324, 0.0, False, id="smallest-float"),
        pytest.param({"absolute": "5e-324"}, 5e-324, 0.0, True, id="smallest-gap"),
        pytest.param({"relative": "0.02"}, 100.0, 102.0, True, id="share-at-the-boundary"),
        pytest.param({"relative": "0.02"}, 100.0, 102.01, False, id="share-beyond"),
        pytest.param({"relative": "0.02"}, -100.0, -101.0, True, id="share-of-a-negative-number"),
        pytest.param({"relative": "0.1"}, 0, 0.1, True, id="zero-has-no-share-so-it-is-absolute"),
        pytest.param({"relative": "0.1"}, 0.0, 0.11, False, id="zero-has-no-share-beyond"),
        pytest.param({"absolute": "0.01", "relative": "0.1"}, 0, 0.05, False, id="zero-with-both-is-absolute"),
        pytest.param({"absolute": "5", "relative": "0.01"}, 100, 104, True, id="absolute-limit-suffices"),
        pytest.param({"absolute": "1", "relative": "0.05"}, 100, 104, True, id="relative-limit-suffices"),
        pytest.param({"absolute": "1", "relative": "0.01"}, 100, 104, False, id="beyond-both"),
        pytest.param({"absolute": "2", "period": "360"}, 359, 1, True, id="around-the-circle"),
        pytest.param({"absolute": "1", "period": "360"}, 359, 1, False, id="around-the-circle-beyond"),
        pytest.param({"absolute": "0", "period": "360"}, 0, 720.0, True, id="whole-turns"),
        pytest.param({"absolute": "1", "period": "360"}, 10**400, 10**400 + 361, True, id="many-turns"),
    ],
)  # fmt: skip
def test_tolerance(limits, expected, candidate, admitted):
    tolerance = Tolerance(**{name: Fraction(limit) for name, limit in limits.items()})
    assert tolerance.admits(expected, candidate) is admitted
