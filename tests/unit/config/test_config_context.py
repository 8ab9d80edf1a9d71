"""Problems are collected, put in order, and come with the word that was probably meant."""

from __future__ import annotations

import pytest

from fieldmark.config.context import Problems
from fieldmark.errors import ConfigError, Location
from fieldmark.values.text import did_you_mean

WORDS = ["id", "exact", "exact_text", "numeric_tolerance", "fuzzy", "date", "set"]


@pytest.mark.parametrize(
    ("word", "question"),
    [
        pytest.param("fuzy", "Did you mean fuzzy?", id="a-letter-missing"),
        pytest.param("fuzzzy", "Did you mean fuzzy?", id="a-letter-too-many"),
        pytest.param("FUZYZ", "Did you mean fuzzy?", id="letters-swapped-in-capitals"),
        pytest.param("exact-txt", "Did you mean exact_text?", id="kebab-case"),
        pytest.param("numeric", "Did you mean numeric_tolerance?", id="only-the-beginning"),
        pytest.param("zebra", "", id="nothing-like-it"),
        pytest.param("iq", "Did you mean id?", id="one-slip-in-a-word-of-two-letters"),
        pytest.param("qq", "", id="two-slips-in-a-word-of-two-letters"),
        pytest.param("i", "", id="a-single-letter-is-no-slip"),
        pytest.param("nu", "", id="too-short-a-beginning"),
        pytest.param("", "", id="empty"),
    ],
)
def test_the_nearest_valid_word(word, question):
    assert did_you_mean(word, WORDS) == question


def test_without_valid_words_there_is_no_question():
    assert did_you_mean("fuzzy", []) == ""


def test_problems_are_raised_together_in_the_order_of_the_file():
    problems = Problems()
    problems.add("third", Location("f", 9, 1))
    problems.add("second", Location("f", 2, 5), "Do this.")
    problems.add("first", Location("f", 2, 1))
    problems.warn("odd", Location("f", 1, 1))
    with pytest.raises(ConfigError) as caught:
        problems.raise_any()
    assert str(caught.value) == "f:2:1: first\nf:2:5: second Do this.\nf:9:1: third"
    assert len(problems) == 3


def test_warnings_alone_raise_nothing():
    problems = Problems()
    problems.warn("odd", Location("f", 1, 1))
    problems.raise_any()
    assert [warning.message for warning in problems.warnings] == ["odd"]
