"""FUZZY and SEMANTIC are never stricter than EXACT, and name themselves as users write them."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.compare.auto import Auto, detect
from fieldmark.compare.exact import ExactText
from fieldmark.compare.providers import Recorded
from fieldmark.rules.rules_file import read_rules
from fieldmark.values.equality import equal
from json_strategies import any_json

WORDS = ("FUZZY", "SEMANTIC")


class Refusing:
    """A provider of similarities that no test may ask."""

    name = "refusing"
    approximate = False
    guarded = False

    def similarities(self, pairs):
        raise AssertionError(pairs)


def comparator(word, provider=None):
    return read_rules({"a": word}, provider=provider).rules.fields[0].comparator


@pytest.mark.parametrize("provider", [None, Refusing()], ids=["built-in", "model"])
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param(100, "100", id="number-and-its-text"),
        pytest.param("100", 100, id="text-and-its-number"),
        pytest.param(True, "TRUE", id="boolean-and-its-text"),
        pytest.param("Net 30", "NET 30", id="case"),
        pytest.param([1, "a"], '[1, "A"]', id="list-and-its-text"),
        pytest.param({"a": 1}, {"a": 1.0}, id="equal-numbers-with-different-texts"),
        pytest.param("x" * 20_000, "X" * 20_000, id="long-texts"),
    ],
)
def test_what_exact_matches_is_a_match_and_no_provider_is_asked(
    word, provider, expected, candidate
):
    assert comparator(word, provider).compare(expected, candidate).matched


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    ("expected", "candidate", "outcome"),
    [
        pytest.param(1000000, 1000001, "match", id="numbers-by-their-text"),
        pytest.param(100, "999", "format_error", id="other-kind"),
        pytest.param(100, 999, "wrong_value", id="same-kind"),
    ],
)
def test_values_that_are_not_text_are_compared_by_their_text(word, expected, candidate, outcome):
    scores = [
        {"expected": str(expected), "candidate": str(candidate), "similarity": similarity}
        for similarity in [0.9 if outcome == "match" else 0.1]
    ]
    rules = {"provider": {"type": "recorded", "scores": scores}, "fields": {"a": word}}
    (field,) = fm.compare({"a": expected}, {"a": candidate}, rules=rules).fields
    assert (field.outcome, field.comparator) == (outcome, word)
    assert field.similarity == scores[0]["similarity"]


@given(any_json, any_json)
@example(100, "100")
@example("ẞ", "SS")
@example("ΑΣ", "ας")
@example("İ", "i̇")
def test_no_word_is_stricter_than_exact(expected, candidate):
    exact = ExactText().compare(expected, candidate).matched or equal(expected, candidate)
    for word in WORDS:
        found = comparator(word).compare(expected, candidate)
        assert found.matched or not exact
        assert found.matched == comparator(word).compare(candidate, expected).matched
    assert (
        Auto().compare(expected, candidate).matched
        or not ExactText().compare(expected, candidate).matched
    )


@given(any_json, any_json)
@example("100", 100)
def test_auto_gives_the_same_result_with_sides_exchanged_for_values_of_one_form(first, second):
    same_form = detect(first) is detect(second)
    exact = ExactText().compare(first, second).matched
    assume(same_form or exact)
    auto = Auto()
    assert auto.compare(first, second).matched == auto.compare(second, first).matched


@pytest.mark.parametrize("name", ["fuzzy", "semantic"])
def test_the_plain_comparators_require_strings(name):
    (field,) = fm.compare({"a": 100}, {"a": "100"}, rules={"a": {"match": name}}).fields
    assert (field.outcome, field.comparator) == ("format_error", name)


@pytest.mark.parametrize("word", ["EXACT", "FUZZY", "SEMANTIC"])
@pytest.mark.parametrize("provider", [None, Recorded(scores=())], ids=["built-in", "model"])
def test_a_field_names_the_word_of_its_rule(word, provider):
    rules = read_rules({"a": word}, provider=provider).rules
    (field,) = fm.compare({"a": "x"}, {"a": "X"}, rules=rules).fields
    assert field.comparator == word


@given(st.lists(st.sampled_from(["100", 100, 100.0, "Acme", "ACME", True, "true"]), max_size=4))
def test_lists_under_a_word_are_compared_the_same_with_and_without_the_kernel(values):
    rules = {"fields": [{"path": "l[*].a", "match": "FUZZY"}]}
    expected = {"l": [{"a": value} for value in values]}
    candidate = {"l": [{"a": str(value).upper()} for value in reversed(values)]}
    result = fm.compare(expected, candidate, rules=rules)
    assert result.counts.fn == 0
