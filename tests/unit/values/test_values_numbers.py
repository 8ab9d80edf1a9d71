from __future__ import annotations

import runpy
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from fieldmark.values.currencies import currencies
from fieldmark.values.numbers import NumberFormat, Tolerance, as_number, numbers_in, read_amount

SCRIPTS = Path(__file__).parents[3] / "scripts"


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
    ("text", "numbers"),
    [
        pytest.param("Unit 05 of 1,240", ["5", "1240"], id="zeros-and-thousands"),
        pytest.param("1.50 or 1,50 or .5", ["1.50", "1.50", "0.5"], id="decimals"),
        pytest.param("1.05 is not 1.5", ["1.05", "1.5"], id="zeros-behind-the-point"),
        pytest.param("-100 or \u2212100 or -$100 or 100-", ["-100", "-100", "-100", "-100"], id="signs"),
        pytest.param("INV-7 (8)-9", ["7", "8", "9"], id="dashes-behind-words"),
        pytest.param("10-20, 10 \u2013 20, 1:5, 1/5", ["10-20", "10-20", "1:5", "1/5"], id="joined"),
        pytest.param("31.01.2024, 2024-01-31T10:30", ["31", "1", "2024", "2024", "1", "31", "10:30"], id="dates"),
        pytest.param("1.2.3.4", ["1", "2", "3", "4"], id="version"),
        pytest.param("5(a), 5 (ii), 12A, 12 N. Main", ["5a", "5ii", "12a", "12n"], id="letters-behind"),
        pytest.param("5 x 7, 5x7, 5 kg, 5 p.m., 5 o'clock", ["5", "7", "5", "7", "5", "5", "5"], id="other-words-behind"),
        pytest.param("A+, AB-, C++, pre-, T-shirt", ["a+", "ab-", "c++"], id="letters-with-a-sign"),
    ],
)  # fmt: skip
def test_numbers_inside_text(text, numbers):
    assert numbers_in(text) == numbers


@pytest.mark.parametrize(
    ("text", "us", "eu", "ch", "in_", "auto"),
    [
        pytest.param("1,240.00", 1240, None, None, 1240, 1240, id="us-thousands-and-point"),
        pytest.param("1.240,00", None, 1240, None, None, 1240, id="eu-thousands-and-comma"),
        pytest.param("1'240.00", None, None, 1240, None, 1240, id="apostrophes"),
        pytest.param("1\u2019240,50", None, None, Decimal("1240.5"), None, Decimal("1240.5"), id="typographic-apostrophes"),
        pytest.param("1,24,000.00", None, None, None, 124000, 124000, id="lakh"),
        pytest.param("1,23,45,678", None, None, None, 12345678, 12345678, id="crore"),
        pytest.param("123,456", 123456, Decimal("123.456"), Decimal("123.456"), None, 123456, id="no-lakh-has-three-digits-first"),
        pytest.param("1,240", 1240, Decimal("1.240"), Decimal("1.240"), 1240, 1240, id="one-comma-could-be-either"),
        pytest.param("1.240", Decimal("1.24"), 1240, Decimal("1.24"), Decimal("1.24"), Decimal("1.24"), id="one-point-too"),
        pytest.param("12,50", None, Decimal("12.5"), Decimal("12.5"), None, Decimal("12.5"), id="decimal-comma"),
        pytest.param("1,234,567.8", Decimal("1234567.8"), None, None, None, Decimal("1234567.8"), id="us-millions"),
        pytest.param("1.234.567", None, 1234567, None, None, 1234567, id="eu-millions"),
        pytest.param("1 234 567", 1234567, 1234567, 1234567, 1234567, 1234567, id="blanks-between-thousands"),
        pytest.param("1\u00a0234\u202f567", 1234567, 1234567, 1234567, 1234567, 1234567, id="blanks-that-do-not-break"),
        pytest.param("1\u2009234,5", None, Decimal("1234.5"), Decimal("1234.5"), None, Decimal("1234.5"), id="thin-blanks"),
        pytest.param("1,234 567", None, None, None, None, None, id="mixed-groups"),
        pytest.param("1240.50", Decimal("1240.5"), Decimal("1240.5"), Decimal("1240.5"), Decimal("1240.5"), Decimal("1240.5"), id="plain-text-under-any-format"),
        pytest.param("1e3", 1000, 1000, 1000, 1000, 1000, id="exponents-under-any-format"),
        pytest.param("12,3456", None, Decimal("12.3456"), Decimal("12.3456"), None, Decimal("12.3456"), id="group-of-four-is-a-fraction"),
    ],
)  # fmt: skip
def test_digits_are_grouped_as_the_format_says(text, us, eu, ch, in_, auto):
    readings = tuple(as_number(text, number_format) for number_format in NumberFormat)
    assert readings == (us, eu, ch, in_, auto)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        pytest.param("-5.25", Decimal("-5.25"), id="minus"),
        pytest.param("\u22125.25", Decimal("-5.25"), id="typographic-minus"),
        pytest.param("-$5.25", Decimal("-5.25"), id="minus-before-the-currency"),
        pytest.param("$-5.25", Decimal("-5.25"), id="minus-after-the-currency"),
        pytest.param("5.25-", Decimal("-5.25"), id="trailing-minus"),
        pytest.param("5.25- USD", Decimal("-5.25"), id="trailing-minus-before-the-currency"),
        pytest.param("USD 5.25 -", Decimal("-5.25"), id="trailing-minus-after-a-blank"),
        pytest.param("(5.25)", Decimal("-5.25"), id="accounting-parentheses"),
        pytest.param("($1,000)", -1000, id="parentheses-around-money"),
        pytest.param("( 5.25 USD )", Decimal("-5.25"), id="blanks-in-parentheses"),
        pytest.param("+5", 5, id="plus"),
        pytest.param("19%", 19, id="percent-is-the-number-as-written"),
        pytest.param("19 %", 19, id="percent-after-a-blank"),
        pytest.param("%19", 19, id="percent-before-the-number"),
        pytest.param("CHF 12.-", 12, id="dash-for-cents"),
        pytest.param("12,-- \u20ac", 12, id="two-dashes-for-cents"),
        pytest.param("12.50.-", None, id="cents-and-a-dash"),
        pytest.param("(-5)", None, id="two-signs"),
        pytest.param("-5-", None, id="sign-on-both-sides"),
        pytest.param("--5", None, id="double-minus"),
        pytest.param("(5", None, id="open-parenthesis"),
        pytest.param("5)", None, id="closed-parenthesis"),
        pytest.param("5 - 6", None, id="range"),
        pytest.param("INV-100", None, id="code-is-no-currency"),
        pytest.param("ABC 100", None, id="three-letters-are-no-currency"),
        pytest.param("usd 100", None, id="codes-are-in-capitals"),
        pytest.param("5 apples", None, id="number-of-things"),
        pytest.param("5 L", None, id="unit"),
        pytest.param("5\u00b2", None, id="power"),
        pytest.param("$.50", None, id="no-digit-before-the-point"),
        pytest.param(".50", None, id="no-digit-before-the-point-without-currency"),
        pytest.param("5.", None, id="no-digit-after-the-point"),
        pytest.param("$007", None, id="leading-zeros"),
        pytest.param("$5%", None, id="percent-of-a-currency"),
        pytest.param("\u20ac 5 USD", None, id="two-currencies"),
        pytest.param("abc", None, id="no-number"),
        pytest.param("$" + "5" * 999, Decimal("5" * 999), id="as-long-as-the-limit"),
        pytest.param("5" * 1001, None, id="too-long"),
    ],
)
def test_what_may_be_printed_around_a_number(text, number):
    amount = read_amount(text)
    assert (amount and amount.number) == number
    assert as_number(text, NumberFormat.AUTO) == number


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        pytest.param("5", "", id="none"),
        pytest.param("RM 12.50", "MYR", id="letters"),
        pytest.param("RM12.50", "MYR", id="letters-without-a-blank"),
        pytest.param("12.50 MYR", "MYR", id="code-behind"),
        pytest.param("\u20ac5", "EUR", id="sign"),
        pytest.param("US$ 5", "USD", id="country-and-a-sign"),
        pytest.param("A$5", "AUD", id="another-country"),
        pytest.param("$5 USD", "USD", id="sign-and-code"),
        pytest.param("kr. 5", "DKK EEK ISK NOK SEK", id="abbreviation-with-a-dot"),
        pytest.param("Rs.500", "INR LKR MUR NPR PKR SCR", id="abbreviation-before-digits"),
        pytest.param("12,50 z\u0142", "PLN", id="letters-of-another-language"),
        pytest.param("1 500 F CFA", "XOF", id="two-words"),
        pytest.param("\uffe51,000", "CNY JPY", id="wide-sign"),
    ],
)
def test_currencies_of_amounts(text, codes):
    assert read_amount(text).currencies == frozenset(codes.split())


def test_dollar_sign_stands_for_any_dollar():
    assert {"USD", "CAD", "AUD", "SGD", "HKD", "MXN"} <= read_amount("$5").currencies


@pytest.mark.parametrize(
    ("text", "ambiguous"),
    [
        pytest.param("1,240", True, id="comma-before-three-digits"),
        pytest.param("1.240", True, id="point-before-three-digits"),
        pytest.param("1,240.00", False, id="both-separators"),
        pytest.param("12.50", False, id="two-decimals"),
        pytest.param("1 240", False, id="blanks-never-mean-decimals"),
    ],
)
def test_formats_that_read_another_number_make_it_ambiguous(text, ambiguous):
    assert read_amount(text).ambiguous is ambiguous
    assert not read_amount(text, NumberFormat.US).ambiguous


def test_table_of_currencies_is_current():
    script = runpy.run_path(str(SCRIPTS / "write_currencies.py"))
    assert script["symbols"]() == currencies().symbols
    assert script["codes"]() == currencies().codes


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


@pytest.mark.parametrize(
    ("limits", "numbers", "groups"),
    [
        pytest.param({"absolute": "0.1"}, [1.0, 3.0, 5.0], {}, id="all-apart"),
        pytest.param({"absolute": "0.1"}, [3.0, 1.1, 1.0], {1.1: 1.0}, id="two-are-near"),
        pytest.param({"absolute": "0.1"}, [1.0, 1.1, 1.2], None, id="one-between-two"),
        pytest.param({"relative": "0.02"}, [1.0, 100.0, 101.0], {101.0: 100.0}, id="share-of-a-large-number"),
        pytest.param({"relative": "0.02"}, [-101.0, -100.0, 1.0], {-100.0: -101.0}, id="share-of-a-negative-number"),
        pytest.param({"relative": "0.1"}, [0.0, 0.1], None, id="near-in-one-direction-only"),
        pytest.param({"absolute": "2", "period": "360"}, [1.0, 359.0], None, id="around-the-circle"),
    ],
)  # fmt: skip
def test_numbers_within_the_tolerance_are_grouped(limits, numbers, groups):
    tolerance = Tolerance(**{name: Fraction(limit) for name, limit in limits.items()})
    assert tolerance.groups(numbers) == groups
