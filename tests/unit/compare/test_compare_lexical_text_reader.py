from __future__ import annotations

import pytest

from fieldmark.compare.lexical import tokens
from fieldmark.compare.lexical.text_reader import read_text
from fieldmark.compare.lexical.tokens import TextTokenKind, same_value

SAME = [
    pytest.param("1,200", "1200.00", id="thousands"),
    pytest.param("1.234,56 €", "EUR 1234.56", id="european-format"),
    pytest.param("₹ 2,50,000", "250,000 INR", id="indian-format"),
    pytest.param("CHF 1'500.-", "CHF 1500", id="swiss-format"),
    pytest.param("($340.00)", "-$340.00", id="accounting-negative"),
    pytest.param("minus 5 euros", "-5 EUR", id="minus-as-word"),
    pytest.param("1.5k USD", "$1,500", id="thousand-by-letter"),
    pytest.param("2 million", "2,000,000", id="million"),
    pytest.param("twenty-five", "25", id="hyphenated-number-word"),
    pytest.param("one thousand two hundred and five", "1205", id="long-number-word"),
    pytest.param("two and a half percent", "2.5%", id="half"),
    pytest.param("dreizehn", "13", id="german-number-word"),
    pytest.param("cinco", "5", id="spanish-number-word"),
    pytest.param("three quarters", "75 %", id="fraction-as-percent"),
    pytest.param("1/2", "0.5", id="fraction"),
    pytest.param("2½", "2.5", id="mixed-number"),
    pytest.param("3rd", "third", id="ordinal"),
    pytest.param("thirty (30) days", "30 days", id="number-in-words-and-digits"),
    pytest.param("18 months", "1.5 years", id="months-and-years"),
    pytest.param("2 weeks", "14 days", id="weeks-and-days"),
    pytest.param("5 ft 10 in", "5'10\"", id="feet-and-inches"),
    pytest.param("2 hrs 30 min", "2.5 hours", id="hours-and-minutes"),
    pytest.param("1,250 kg", "1.25 metric tons", id="tons"),
    pytest.param("10 lb", "4.54 kg", id="rounded-pounds"),
    pytest.param("98.6 °F", "37 °C", id="temperatures"),
    pytest.param("25 basis points", "0.25%", id="basis-points"),
    pytest.param("3 Mar 2024", "March 3rd, 2024", id="day"),
    pytest.param("10 de abril de 2024", "10/abr/2024", id="portuguese-month"),
    pytest.param("19.04.2024", "2024-04-19", id="day-of-numbers"),
    pytest.param("20240419", "19 April 2024", id="compact-day"),
    pytest.param("February 2024", "01 Feb 2024 - 29 Feb 2024", id="month-as-period"),
    pytest.param("H2 2022", "July-December 2022", id="half-year"),
    pytest.param("second quarter of 2023", "Q2 2023", id="quarter"),
    pytest.param("calendar year 2023", "1 Jan 2023 to 31 Dec 2023", id="year-as-period"),
    pytest.param("noon", "12:00", id="noon"),
    pytest.param("6 p.m.", "18:00", id="hour"),
    pytest.param("INV-2041", "inv2041", id="code"),
    pytest.param("978-3-16-148410-0", "9783161484100", id="digits-in-groups"),
    pytest.param("+1 (212) 555-0187", "212-555-0187", id="telephone-number"),
    pytest.param("XXL", "2X-Large", id="size"),
    pytest.param("purchaser", "buyer", id="synonym"),
    pytest.param("km", "kilometers", id="unit-without-a-number"),
]  # fmt: skip

DIFFERENT = [
    pytest.param("1.5 L", "15 L", id="decimal-point"),
    pytest.param("EUR 1.500", "EUR 1,5", id="thousands-and-decimals"),
    pytest.param("$5", "€5", id="currency"),
    pytest.param("30 days", "1 month", id="month-has-no-fixed-length"),
    pytest.param("5 days", "5 business days", id="business-days"),
    pytest.param("1 inch", "3 cm", id="too-much-rounding"),
    pytest.param("1.000 kg", "1.004 kg", id="no-rounding-without-conversion"),
    pytest.param("3 May 2024", "3 May 2025", id="year"),
    pytest.param("March 2024", "3 March 2024", id="month-is-not-a-day"),
    pytest.param("7:20 PM", "07:20", id="half-of-the-day"),
    pytest.param("2.10.0", "2.1.0", id="version"),
    pytest.param("XL", "L", id="size"),
]  # fmt: skip


def only_value(text):
    values = [token for token in read_text(text) if token.weight >= 1]
    assert len(values) == 1, values
    return values[0]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_equal_values_are_read_as_equal(one, other):
    assert same_value(only_value(one), only_value(other))
    assert same_value(only_value(other), only_value(one))


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_values_are_read_as_different(one, other):
    assert not same_value(only_value(one), only_value(other))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("Acme Corp.", ["acme", "corporation"], id="company-form"),
        pytest.param("sold without batteries", ["sold", "not", "battery"], id="negation"),
        pytest.param("exclude", ["not", "includ"], id="negation-in-a-word"),
        pytest.param("uninsured", ["not", "insur"], id="negation-by-prefix"),
        pytest.param("United Nations", ["united", "nation"], id="prefix-without-negation"),
        pytest.param("it shall not exceed", ["it", "maximum"], id="bound"),
        pytest.param("World Health Organization (WHO)", ["world", "health", "organization"], id="acronym-beside-its-words"),
        pytest.param("sugar-free", ["not", "sugar"], id="free-of"),
    ],
)  # fmt: skip
def test_words_are_replaced_with_what_they_stand_for(text, words):
    assert [token.word for token in read_text(text) if token.word != "shall"] == words


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        pytest.param(
            "5 in boxes",
            [TextTokenKind.NUMBER, TextTokenKind.WORD, TextTokenKind.WORD],
            id="preposition-is-no-unit",
        ),
        pytest.param("may apply", [TextTokenKind.WORD, TextTokenKind.WORD], id="verb-is-no-month"),
        pytest.param("10 - 12", [TextTokenKind.NUMBER, TextTokenKind.NUMBER], id="range"),
        pytest.param(
            "2016-2019", [TextTokenKind.NUMBER, TextTokenKind.NUMBER], id="range-of-years"
        ),
        pytest.param("Room 12B", [TextTokenKind.WORD, TextTokenKind.CODE], id="code-with-a-letter"),
        pytest.param("", [], id="nothing"),
        pytest.param("!?", [], id="marks"),
    ],
)
def test_kinds_of_tokens(text, kinds):
    assert [token.kind for token in read_text(text)] == kinds


@pytest.mark.parametrize("text", ["x" * 9_000, "*" * 9_000, "1 " * 4_500, "1-" * 4_500, "a," * 4_500,
                                  "AB " * 3_000, "1" + " " * 9_000 + "x", "(" * 9_000, "\u6f22" * 9_000])  # fmt: skip
def test_hostile_text_is_read_in_reasonable_time(text):
    assert read_text(text) == read_text(text)


def test_amounts_of_many_currencies_are_compared_by_their_keys_only():
    """Otherwise, two texts with a hundred amounts would have a million pairs of quantities."""
    (amount,) = read_text("$1,240.00")
    assert len(amount.keys) > 10
    assert tokens._irregular(amount.keys) == ()


def test_short_word_in_capitals_may_be_a_code_with_another_meaning():
    assert [token.word for token in read_text("Denver CO")] == ["denver", "co"]
    assert "co" not in [token.word for token in read_text("Acme co")]
