from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.compare.lexical.similarity import lexical_similarity
from fieldmark.compare.lexical.vocabulary import (
    ABBREVIATIONS,
    CARDINALS,
    CODES,
    COMPANY_FORMS,
    CURRENCY_WORDS,
    FRACTIONS,
    FUNCTION_WORDS,
    MONTHS,
    NEGATED,
    ORDINALS,
    SCALES,
    UNITS,
)
from fieldmark.compare.semantic import Guards

MATCHING = [
    pytest.param("Acme Corp.", "ACME Corporation", id="company-form"),
    pytest.param("Smith & Sons Ltd", "Smith and Sons Limited", id="ampersand"),
    pytest.param("Acme Inc.", "Acme", id="missing-company-form"),
    pytest.param("HM Revenue & Customs", "HMRC", id="acronym-with-an-acronym"),
    pytest.param("HM Customs", "HMC", id="acronym-of-two-words"),
    pytest.param("cash on delivery", "COD", id="acronym-with-a-function-word"),
    pytest.param("St. Mary, Oak St.", "Saint Mary, Oak Street", id="abbreviation-with-two-meanings"),
    pytest.param("Los Angeles, CA", "Los Angeles, California", id="state"),
    pytest.param("Calif.", "California", id="shortened-word"),
    pytest.param("Hauptstr. 5, München", "Hauptstraße 5, Munich", id="german-street"),
    pytest.param("Jan Müller", "Jan Mueller", id="umlaut"),
    pytest.param("Smith, J.", "John Smith", id="initial"),
    pytest.param("organisation of the centre", "organization of the center", id="british-spelling"),
    pytest.param("Amoxicillin", "Amoxicilin", id="doubled-letter"),
    pytest.param("seperate", "separate", id="misspelled"),
    pytest.param("kilogrms", "kilograms", id="misspelled-unit"),
    pytest.param("Fragi1e", "Fragile", id="letter-recognized-as-digit"),
    pytest.param("paper clip", "paperclip", id="compound"),
    pytest.param("installation of windows", "windows installed", id="derived-word"),
    pytest.param("SKU: AB-12", "AB12", id="label"),
    pytest.param("None", "No known allergies", id="none"),
    pytest.param("Tue, 5 March 2024", "5 March 2024", id="weekday-of-a-date"),
    pytest.param("every two weeks", "biweekly", id="frequency"),
    pytest.param("Q8H", "every 8 hours", id="interval"),
    pytest.param("2:30 pm", "14:30", id="time-in-the-afternoon"),
    pytest.param("12:30 am", "0:30", id="time-after-midnight"),
    pytest.param("12:30 pm", "12:30", id="time-after-noon"),
    pytest.param("2nd quarter 2024", "Q2 2024", id="quarter"),
    pytest.param("half a kg", "500 g", id="half"),
    pytest.param("1 lb", "454 g", id="converted-unit"),
    pytest.param("a dozen eggs", "12 eggs", id="dozen"),
    pytest.param("five b", "5 b", id="number-word-before-a-letter"),
    pytest.param("2024", "January to December 2024", id="year-as-a-period"),
    pytest.param("M.t.n.", "Mountain", id="letters-with-dots"),
    pytest.param("\u5317\u4eac\u5e02", "\u5317\u4eac \u5e02", id="script-without-spaces"),
]  # fmt: skip

DIFFERENT = [
    pytest.param("Ceramic mug", "Ceramic jug", id="one-letter-in-a-short-word"),
    pytest.param("Laptop", "Laptop bag", id="extra-word"),
    pytest.param("Acme LLC", "Acme GmbH", id="other-company-form"),
    pytest.param("CFO", "Chief Operating Officer", id="other-acronym"),
    pytest.param("Width: 5 cm", "Height: 5 cm", id="other-label"),
    pytest.param("the employee may not solicit customers", "the employee may not solicit employees", id="replaced-word"),
    pytest.param("Mr. and Mrs. Lee", "Mr. Lee", id="couple"),
    pytest.param("Portland, OR", "Portland, ME", id="other-state"),
    pytest.param("None", "No limit of 5 claims", id="none-beside-a-number"),
    pytest.param("None", "!", id="none-beside-a-text-without-words"),
    pytest.param("twelve three", "15", id="two-number-words"),
    pytest.param("two m", "2,000,000", id="letter-after-a-number-word-is-no-scale"),
    pytest.param("blossoms", "b10550ms", id="too-many-digits-in-a-word"),
    pytest.param("Amoxicilin Amoxicilin", "Amoxicillin", id="one-counterpart-for-two-words"),
    pytest.param("milliliters", "millimeters", id="units-that-differ-in-one-letter"),
    pytest.param("boarding", "boasting", id="words-with-the-same-beginning-and-ending"),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "candidate"), MATCHING)
def test_same_meaning_is_similar(expected, candidate):
    assert lexical_similarity(expected, candidate) >= 0.8
    assert lexical_similarity(candidate, expected) >= 0.8


@pytest.mark.parametrize(("expected", "candidate"), DIFFERENT)
def test_different_meaning_is_not_similar(expected, candidate):
    assert lexical_similarity(expected, candidate) < 0.8
    assert lexical_similarity(candidate, expected) < 0.8


def test_abbreviation_counts_as_much_as_its_long_form():
    similarity = lexical_similarity("Street blue", "Street red")
    assert lexical_similarity("St. blue", "Street red") == pytest.approx(similarity)


def test_compound_is_equal_to_its_parts():
    assert lexical_similarity("blue paper clip", "paperclip, blue") == 1.0
    assert lexical_similarity("paperclip, blue", "blue paper clip") == 1.0


def test_factor_before_a_measure_may_be_a_number_of_pieces():
    assert lexical_similarity("2 x 3 m", "2 x 3") > 0.0


def test_generic_word_counts_as_any_other_if_a_text_has_no_others():
    assert lexical_similarity("total", "total mug") == lexical_similarity("jar", "jar mug")


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_can_be_compared(expected, candidate):
    assert 0.0 <= lexical_similarity(expected, candidate) <= 1.0
    assert isinstance(Guards().objection(expected, candidate), str)


WORDS = [
    *(word for table in (ABBREVIATIONS, CARDINALS, CODES, COMPANY_FORMS, CURRENCY_WORDS, FRACTIONS) for word in table),
    *(word for table in (FUNCTION_WORDS, MONTHS, NEGATED, ORDINALS, SCALES, UNITS) for word in table),
    *("none", "nil", "nothing", "no", "n/a", "7", "1,500.00", "2024-03-05", "5.3.24", "12:30", "AB-12"),
    *"!():;,.-/&'\u00bd\u20ac",
]  # fmt: skip
PHRASES = st.lists(st.sampled_from(sorted(WORDS)), max_size=5).map(" ".join)


@given(PHRASES, PHRASES)
def test_any_two_phrases_of_the_vocabulary_can_be_compared(expected, candidate):
    assert 0.0 <= lexical_similarity(expected, candidate) <= 1.0
    assert isinstance(Guards().objection(expected, candidate), str)
    assert Guards().objection(expected, expected) == ""


@given(st.text(alphabet="0123456789 .,-/:()$%xXkKmMQHv'\"maygrdtohn\u20ac\u00bd&+<>=", max_size=40))
def test_text_of_numbers_and_units_can_be_compared(text):
    assert 0.0 <= lexical_similarity(text, text[::-1]) <= 1.0
    assert Guards().objection(text, text) == ""
