"""The pattern of each pair of values, and the hints that go with patterns."""

from __future__ import annotations

import pytest

from fieldmark.metrics import patterns
from fieldmark.metrics.patterns import BY_NAME, is_date_swapped, pattern_of
from fieldmark.values.dates import DateOrder

TRUE, FALSE = ("true", "Yes", "y", "1", "on"), ("false", "No", "n", "0", "off")


@pytest.mark.parametrize(
    ("expected", "candidate", "pattern"),
    [
        pytest.param("2024-03-02", "2024-02-03", "date_swapped", id="iso-dates"),
        pytest.param("03/02/2024", "02/03/2024", "date_swapped", id="dates-with-slashes"),
        pytest.param("30/08/2017", "08/30/2017", "date_format", id="dates-that-are-not-ambiguous"),
        pytest.param("30/08/2017", "30.08.2017", "date_format", id="other-separators"),
        pytest.param("2024-03-02", "03/02/2024", "date_format", id="other-date-format"),
        pytest.param("2024-03-02", "02/03/2024", "date_order", id="day-first"),
        pytest.param("2024-03-02", "02.03.2024", "date_format", id="dots-are-day-first-by-default"),
        pytest.param("25/03/2024", "2024-03-25", "date_format", id="only-one-order-is-possible"),
        pytest.param("2024-03-02", "2024-05-09", "different", id="another-date-is-no-typo"),
        pytest.param("A-17", "A\N{EN DASH}17", "dash", id="dash"),
        pytest.param("!!", "??", "different", id="no-words"),
        pytest.param("\N{MINUS SIGN}5", "-5", "dash", id="minus-sign"),
        pytest.param("Buyer's risk", "Buyer\N{RIGHT SINGLE QUOTATION MARK}s risk", "dash", id="apostrophe"),
        pytest.param("1234.37", "1230", "different", id="ten-is-no-decimal"),
        pytest.param(1240.37, 1240, "rounded", id="rounded-to-a-multiple-of-ten"),
        pytest.param("0.5", ".5", "different", id="zero-before-the-point"),
        pytest.param(1250.5, 1250500, "scale", id="thousand-and-more-has-no-separator-of-thousands"),
        pytest.param(45.67, 45670, "scale", id="two-decimals-are-no-thousands"),
        pytest.param("45.670", "45670", "thousands_separator", id="three-decimals-may-be-thousands"),
        pytest.param("2024-03-02", "02-MAR-2024", "date_format", id="month-in-letters"),
        pytest.param("2024-03-02", "2023-03-02", "date_part", id="another-year"),
        pytest.param("2024-03-02T14:30", "2024-03-02T15:30", "time_of_day", id="another-time"),
        pytest.param("2024-03-02 14:30", "2024-03-02", "time_of_day", id="no-time"),
        pytest.param("2024-03-02T14:30+02:00", "2 Mar 2024 12:30 UTC", "timestamp_format", id="another-zone"),
        pytest.param("2024-03-02T14:30:00", "02.03.2024 14:30", "timestamp_format", id="no-seconds"),
        pytest.param("2024-03", "March 2024", "month_format", id="month-in-letters-without-a-day"),
        pytest.param("2024-03", "2024-03-01", "extra_text", id="a-day-is-no-month"),
        pytest.param("14:30", "2:30 PM", "time_format", id="twelve-hours"),
        pytest.param("2.30", "02.30", "leading_zeros", id="a-number-is-no-time"),
        pytest.param("EUR", "€", "currency_name", id="symbol-for-code"),
        pytest.param("EUR", "Euro", "currency_name", id="name-for-code"),
        pytest.param("EUR", "USD", "different", id="another-currency"),
        pytest.param("5.00 EUR", "€ 5.00", "money_format", id="symbol-for-code-of-an-amount"),
        pytest.param("5 Euro", "5 EUR", "money_format", id="code-for-name-of-an-amount"),
        pytest.param("$5.00", "5.00 USD", "money_format", id="symbol-of-several-currencies"),
        pytest.param("2015-09-01", "09/01", "date_without_year", id="no-year"),
        pytest.param("1,240.00", "1240.00", "number_format", id="separators-dropped"),
        pytest.param(1240, 1.24, "thousands_separator", id="separator-read-as-decimal-point"),
        pytest.param("1.240,50", "1,240.50", "number_format", id="two-notations"),
        pytest.param("$1,240.50", "$1.240,50", "number_format", id="two-notations-of-money"),
        pytest.param("$8.20", "RM$8.20", "extra_text", id="another-currency-in-front"),
        pytest.param("RM29.30", "RMRM29.30", "extra_text", id="currency-twice"),
        pytest.param("8.20", "8.2", "number_format", id="last-zero-dropped"),
        pytest.param("(5.00)", "-5.00", "number_format", id="another-form-of-minus"),
        pytest.param(12.5, 1250, "scale", id="decimal-point-dropped"),
        pytest.param(0.15, 15, "scale", id="fraction-for-percentage"),
        pytest.param("$5.00", "€5.00", "currency_symbol", id="wrong-sign"),
        pytest.param("$5.00", "5.00", "currency_symbol", id="missing-sign"),
        pytest.param("5.00 USD", "5.00 EUR", "currency_symbol", id="wrong-code"),
        pytest.param("12 kg", "12", "unit", id="missing-unit"),
        pytest.param("12 kg", "12 lb", "unit", id="another-unit"),
        pytest.param(12, "12 pcs", "unit", id="extra-unit"),
        pytest.param(-5, 5, "sign", id="minus-dropped"),
        pytest.param("(120.00)", "120.00", "sign", id="parentheses-for-minus"),
        pytest.param("00123", "123", "leading_zeros", id="leading-zeros"),
        pytest.param("00123", 123, "leading_zeros", id="identifier-as-number"),
        pytest.param(12.345, 12.35, "rounded", id="rounded"),
        pytest.param(12.7, 12, "rounded", id="truncated-number"),
        pytest.param(24684525, 24604525, "one_digit", id="misread-digit"),
        pytest.param("ACME Corp", "Acme corp", "case_or_whitespace", id="case"),
        pytest.param("Acme Corp", "AcmeCorp", "case_or_whitespace", id="whitespace"),
        pytest.param("Acme, Inc.", "Acme Inc", "punctuation", id="punctuation"),
        pytest.param("Müller", "Muller", "accents", id="accents"),
        pytest.param("John Smith", "Smith, John", "word_order", id="word-order"),
        pytest.param("12 Long Street, Springfield", "12 Long Street", "truncated", id="truncated"),
        pytest.param("The Acme Company", "Acme", "partial_text", id="part-of-the-value"),
        pytest.param("Acme", "Vendor: Acme", "extra_text", id="extra-label"),
        pytest.param("B0B5", "BOBS", "similar_characters", id="ambiguous-characters"),
        pytest.param("SOI", "501", "similar_characters", id="letters-read-as-digits"),
        pytest.param("501", "SOI", "similar_characters", id="digits-read-as-letters"),
        pytest.param("Springfield", "Springfeild", "misspelled", id="typo"),
        pytest.param(5, "5", "number_as_string", id="number-as-string"),
        *(pytest.param(True, word, "boolean_as_word", id=f"{word}-for-true") for word in TRUE),
        *(pytest.param(False, word, "boolean_as_word", id=f"{word}-for-false") for word in FALSE),
        *(pytest.param(False, word, "different", id=f"{word}-is-not-false") for word in TRUE),
        *(pytest.param(True, word, "different", id=f"{word}-is-not-true") for word in FALSE),
        pytest.param("Acme", "N/A", "placeholder", id="word-for-null"),
        pytest.param("Acme", ["Acme"], "wrapped", id="single-item-list"),
        pytest.param("Acme", {"name": "Bolt"}, "wrong_structure", id="object"),
        pytest.param({"a": 1}, "{'a': 1}", "wrong_structure", id="object-as-text"),
        pytest.param(True, 1, "boolean_as_word", id="one-for-true"),
        pytest.param(1, True, "boolean_as_word", id="true-for-one"),
        pytest.param(True, False, "different", id="false-for-true"),
        pytest.param("Acme Corp", "Acm", "different", id="too-short-to-be-truncated"),
        pytest.param("Acme Corp", "Acme", "truncated", id="shortest-truncated"),
        pytest.param("Acme Corp.", "Acme C…", "truncated", id="ellipsis"),
        pytest.param("The Acm Corp", "Acm", "different", id="too-short-to-be-a-part"),
        pytest.param("Acm", "The Acm Corp", "different", id="too-short-for-extra-text"),
        pytest.param(12, 13, "one_digit", id="not-rounded"),
        pytest.param(12.34, 12.3, "rounded", id="rounded-down"),
        pytest.param(12.34, 12.4, "rounded", id="rounded-up"),
        pytest.param(12.34, 12.5, "different", id="more-than-rounded"),
        pytest.param(10, 0, "one_digit", id="zero-has-no-scale"),
        pytest.param(0, 10, "different", id="zero-and-ten"),
        pytest.param(15, 19, "one_digit", id="two-digits"),
        pytest.param(
            1240000, 1.24, "thousands_separator", id="two-separators-read-as-decimal-point"
        ),
        pytest.param(1.24, 1240000000, "scale", id="nine-decimals"),
        pytest.param(1, 10, "scale", id="one-decimal"),
        pytest.param(1, 10**12, "scale", id="twelve-decimals"),
        pytest.param("1.5", "1,5", "number_format", id="comma-for-decimal-point"),
        pytest.param("2024-03-02", "2024-04-02", "date_part", id="another-month"),
        pytest.param("2024-03-02", "2024-03-05", "date_part", id="another-day"),
        pytest.param("2015-09-01", "1.9.", "date_without_year", id="no-year-and-day-first"),
        pytest.param("2015-09-01", "09/02", "different", id="no-year-and-another-day"),
        pytest.param("2024-05-05", "05/05/2024", "date_format", id="equal-day-and-month"),
        pytest.param("2/3/24", "3/2/24", "date_swapped", id="short-years"),
        pytest.param("John Smith Jr", "Jr. Smith, John", "word_order", id="three-words"),
        pytest.param("ab", "ba", "different", id="order-of-letters"),
        pytest.param("abcdefgh", "abcdefxy", "misspelled", id="three-quarters-of-the-letters"),
        pytest.param("abcdefgh", "abcdexyz", "different", id="fewer-than-three-quarters"),
        pytest.param("l|l1", "1111", "similar_characters", id="forms-of-one"),
        pytest.param("abcd", "abce", "misspelled", id="shortest-misspelled"),
        pytest.param("abc", "abd", "different", id="too-short-to-be-misspelled"),
        pytest.param("007", "07", "leading_zeros", id="fewer-leading-zeros"),
        pytest.param("000", "0", "different", id="nothing-but-zeros"),
        pytest.param("5 kg", "6 kg", "different", id="same-unit"),
        pytest.param(5, "n/a", "placeholder", id="word-for-a-number"),
        pytest.param("N/A", "Acme", "different", id="placeholder-expected"),
        pytest.param(["Acme"], "Acme", "wrapped", id="item-for-a-list"),
        pytest.param("Acme", "Bolt", "different", id="unrelated"),
        pytest.param(5, 9, "different", id="unrelated-numbers"),
    ],
)  # fmt: skip
def test_pattern_of_a_wrong_value(expected, candidate, pattern):
    assert pattern_of(expected, candidate) == pattern


MDY, DMY = DateOrder.MDY, DateOrder.DMY


@pytest.mark.parametrize(
    ("expected", "candidate", "orders", "pattern"),
    [
        pytest.param("2024-03-02", "02/03/2024", (None, DMY), "date_order", id="day-first"),
        pytest.param("2024-03-02", "03/02/2024", (None, DMY), "date_swapped", id="swapped-day-first"),
        pytest.param("2024-03-02", "03/02/2024", (None, MDY), "date_format", id="month-first"),
        pytest.param("2024-03-02", "02/03/2024", (None, MDY), "date_swapped", id="swapped-month-first"),
        pytest.param("02/03/2024", "03/02/2024", (DMY, DMY), "date_swapped", id="both-day-first"),
        pytest.param("02/03/2024", "03/02/2024", (DMY, MDY), "date_format", id="different-orders"),
        pytest.param("25/03/2024", "03/25/2024", (DMY, MDY), "date_format", id="different-orders-and-no-month"),
        pytest.param("02/03/2024", "03/02/2024", (DMY, None), "date_swapped", id="one-order-is-known"),
    ],
)  # fmt: skip
def test_order_of_dates_decides_whether_day_and_month_are_swapped(
    expected, candidate, orders, pattern
):
    assert pattern_of(expected, candidate, orders) == pattern
    assert is_date_swapped(expected, candidate, orders) == (pattern == "date_swapped")


DATES = (
    "2024-03-02", "2024-02-03", "2024-03-03", "2024-13-02", "2023-02-03", "2024- 2- 3", " 2024-02-03",
    "20240203", "2024 Feb 3", "02/03/2024", "03/02/2024", "3.2.2024", "2 March 2024", "Mar 2, 2024",
    "Sat 03/02/2024", "2024-02-03T10:00", "INV-2024-02", "02138", "March", "",
)  # fmt: skip


@pytest.mark.parametrize("expected", DATES)
def test_swapped_dates_are_those_of_which_a_reading_is_swapped(expected):
    """What is decided without reading dates is the same as what their readings say."""
    for candidate in (*DATES, 20240203, None, ["2024-02-03"]):
        read = patterns._is_date_swapped(
            patterns._TextForms(expected), patterns._TextForms(candidate)
        )
        assert is_date_swapped(expected, candidate) == read


def test_every_hint_is_about_the_extraction_and_not_the_evaluation():
    for pattern in BY_NAME.values():
        assert pattern.hint.endswith(".")
        words = pattern.hint.casefold()
        assert not {"tolerance", "threshold", "comparator", "metric", "rules file", "ignore"} & set(
            words.replace(",", "").split()
        )
