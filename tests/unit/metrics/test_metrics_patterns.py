"""The pattern of each pair of values, and the hints that go with patterns."""

from __future__ import annotations

import pytest

from fieldmark.metrics.patterns import BY_NAME, pattern_of


@pytest.mark.parametrize(
    ("expected", "candidate", "pattern"),
    [
        pytest.param("2024-03-02", "2024-02-03", "date_swapped", id="iso-dates"),
        pytest.param("03/02/2024", "02/03/2024", "date_swapped", id="dates-with-slashes"),
        pytest.param("2024-03-02", "03/02/2024", "date_format", id="the-same-day-otherwise"),
        pytest.param("2024-03-02", "02-MAR-2024", "date_format", id="a-month-in-letters"),
        pytest.param("2024-03-02", "2023-03-02", "date_part", id="another-year"),
        pytest.param("2015-09-01", "09/01", "date_without_year", id="no-year"),
        pytest.param("1,240.00", "1240.00", "thousands_separator", id="separators-left-out"),
        pytest.param(1240, 1.24, "thousands_separator", id="a-separator-read-as-a-point"),
        pytest.param("1.240,50", "1,240.50", "thousands_separator", id="two-ways-of-writing"),
        pytest.param(12.5, 1250, "scale", id="a-point-lost"),
        pytest.param(0.15, 15, "scale", id="a-share-for-a-percentage"),
        pytest.param("$5.00", "€5.00", "currency_sign", id="the-wrong-sign"),
        pytest.param("$5.00", "5.00", "currency_sign", id="no-sign"),
        pytest.param("5.00 USD", "5.00 EUR", "currency_sign", id="the-wrong-code"),
        pytest.param("12 kg", "12", "unit", id="no-unit"),
        pytest.param("12 kg", "12 lb", "unit", id="another-unit"),
        pytest.param(12, "12 pcs", "unit", id="a-unit-too-many"),
        pytest.param(-5, 5, "sign", id="minus-lost"),
        pytest.param("(120.00)", "120.00", "sign", id="brackets-for-minus"),
        pytest.param("00123", "123", "leading_zeros", id="zeros-in-front"),
        pytest.param("00123", 123, "leading_zeros", id="an-identifier-as-a-number"),
        pytest.param(12.345, 12.35, "rounded", id="rounded"),
        pytest.param(12.7, 12, "rounded", id="cut"),
        pytest.param(24684525, 24604525, "one_digit", id="a-digit-misread"),
        pytest.param("ACME Corp", "Acme corp", "case_or_blanks", id="case"),
        pytest.param("Acme Corp", "AcmeCorp", "case_or_blanks", id="blanks"),
        pytest.param("Acme, Inc.", "Acme Inc", "punctuation", id="punctuation"),
        pytest.param("Müller", "Muller", "accents", id="accents"),
        pytest.param("John Smith", "Smith, John", "word_order", id="order-of-words"),
        pytest.param("12 Long Street, Springfield", "12 Long Street", "truncated", id="cut-off"),
        pytest.param("The Acme Company", "Acme", "part_of_text", id="a-part"),
        pytest.param("Acme", "Vendor: Acme", "too_much_text", id="a-label-too-many"),
        pytest.param("B0B5", "BOBS", "look_alikes", id="look-alikes"),
        pytest.param("Springfield", "Springfeild", "misspelt", id="a-typing-error"),
        pytest.param(5, "5", "number_as_text", id="a-number-as-text"),
        pytest.param(True, "yes", "truth_as_word", id="a-word-for-true"),
        pytest.param("Acme", "N/A", "placeholder", id="a-word-for-nothing"),
        pytest.param("Acme", ["Acme"], "wrapped", id="a-list-of-one"),
        pytest.param("Acme", {"name": "Bolt"}, "other_structure", id="an-object"),
        pytest.param("Acme", "Bolt", "different", id="nothing-in-common"),
        pytest.param(5, 9, "different", id="numbers-with-nothing-in-common"),
    ],
)
def test_the_pattern_of_a_wrong_value(expected, candidate, pattern):
    assert pattern_of(expected, candidate) == pattern


def test_every_pattern_says_what_to_change_and_never_the_measuring():
    for pattern in BY_NAME.values():
        assert pattern.hint.endswith(".")
        words = pattern.hint.casefold()
        assert not {"tolerance", "threshold", "comparator", "metric", "rules file", "ignore"} & set(
            words.replace(",", "").split()
        )
