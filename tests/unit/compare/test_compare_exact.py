from __future__ import annotations

import pytest

from fieldmark.compare.exact import Exact, ExactText, Ignore, NormalizedText
from fieldmark.model.comparison import MATCHED
from fieldmark.model.outcome import Reason

MATCH, DIFFERENT, TYPE = None, Reason.DIFFERENT, Reason.TYPE_MISMATCH


def matches(comparator, expected, candidate):
    comparison = comparator.compare(expected, candidate)
    assert comparison.matched is (comparison.reason is None)
    assert comparison.score == float(comparison.matched)
    assert comparison.wrong_kind is (comparison.reason is TYPE)
    return comparison.reason


@pytest.mark.parametrize(
    ("expected", "candidate", "exact", "exact_text", "normalized_text"),
    [
        pytest.param("INV-001", "INV-001", MATCH, MATCH, MATCH, id="same-text"),
        pytest.param("INV-002", "INV-001", DIFFERENT, DIFFERENT, DIFFERENT, id="different-string"),
        pytest.param("Acme", "ACME", DIFFERENT, MATCH, MATCH, id="different-case"),
        pytest.param("Acme Corp", " Acme  Corp", DIFFERENT, DIFFERENT, MATCH, id="other-whitespace"),
        pytest.param("café", "cafe\u0301", DIFFERENT, DIFFERENT, MATCH, id="accents-encoded-otherwise"),
        pytest.param("0 - 20", "0 \u2013 20", DIFFERENT, DIFFERENT, MATCH, id="other-dash"),
        pytest.param("12", "\uff11\uff12", DIFFERENT, DIFFERENT, MATCH, id="full-width-digits"),
        pytest.param("m\u00b2", "m2", DIFFERENT, DIFFERENT, DIFFERENT, id="superscript"),
        pytest.param("\u33a1", "m2", DIFFERENT, DIFFERENT, DIFFERENT, id="unit"),
        pytest.param("\u00bd", "1/2", DIFFERENT, DIFFERENT, DIFFERENT, id="fraction"),
        pytest.param("1\u00bd", "11\u20442", DIFFERENT, DIFFERENT, DIFFERENT, id="fraction-after-a-number"),
        pytest.param(100, "100", TYPE, MATCH, TYPE, id="string-for-number"),
        pytest.param("100", 100, TYPE, MATCH, TYPE, id="number-for-string"),
        pytest.param(100, "200", TYPE, TYPE, TYPE, id="different-number-as-text"),
        pytest.param(1, 1.0, MATCH, DIFFERENT, MATCH, id="one-and-one-point-zero"),
        pytest.param(1, True, TYPE, TYPE, TYPE, id="boolean-for-number"),
        pytest.param(True, "TRUE", TYPE, MATCH, TYPE, id="word-for-boolean"),
        pytest.param(True, False, DIFFERENT, DIFFERENT, DIFFERENT, id="other-boolean"),
        pytest.param([1], [True], DIFFERENT, DIFFERENT, DIFFERENT, id="boolean-inside-list"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, MATCH, MATCH, MATCH, id="keys-in-different-order"),
        pytest.param([1, 2], [2, 1], DIFFERENT, DIFFERENT, DIFFERENT, id="items-in-different-order"),
        pytest.param({"a": "X"}, {"a": "x"}, DIFFERENT, MATCH, DIFFERENT, id="different-case-inside"),
        pytest.param([], {}, TYPE, TYPE, TYPE, id="object-for-list"),
        pytest.param({"a": 1}, '{"a":1}', TYPE, MATCH, TYPE, id="compact-json-text"),
        pytest.param({"a": 1}, ' {\n  "A" : 1\n} ', TYPE, MATCH, TYPE, id="json-text-in-any-spacing"),
        pytest.param('{"b": [2], "a": "x y"}', {"a": "X y", "b": [2]}, TYPE, MATCH, TYPE, id="object-for-its-json-text"),
        pytest.param([1, 2], "[1, 2]", TYPE, MATCH, TYPE, id="list-as-json-text"),
        pytest.param({"a": 1}, '{"a": 2}', TYPE, TYPE, TYPE, id="another-object-as-json-text"),
        pytest.param({"a": 1}, '{"a": 1, "a": 1}', TYPE, TYPE, TYPE, id="json-text-with-a-duplicate-key"),
        pytest.param([1], "[" * 100_000, TYPE, TYPE, TYPE, id="json-text-nested-too-deeply"),
        pytest.param([1], "[" + "9" * 5000 + "]", TYPE, TYPE, TYPE, id="json-text-with-a-huge-number"),
        pytest.param('{"a":1}', '{"a": 1}', DIFFERENT, DIFFERENT, DIFFERENT, id="two-strings-are-not-parsed"),
        pytest.param(5, float("nan"), DIFFERENT, DIFFERENT, DIFFERENT, id="invalid-number"),
    ],
)  # fmt: skip
def test_exact_literal_and_normalized_equality(
    expected, candidate, exact, exact_text, normalized_text
):
    assert matches(Exact(), expected, candidate) is exact
    assert matches(ExactText(), expected, candidate) is exact_text
    assert matches(NormalizedText(), expected, candidate) is normalized_text


def test_match_across_types_is_marked_as_coerced():
    assert ExactText().compare(100, "100").coerced
    assert not ExactText().compare("a", "A").coerced


@pytest.mark.parametrize(
    ("ignore", "expected", "candidate", "exact_text", "normalized_text"),
    [
        pytest.param(["punctuation"], "Acme, Inc.", "ACME Inc", True, True, id="punctuation"),
        pytest.param(["accents"], "Café", "cafe", True, True, id="accents"),
        pytest.param(["white_space"], "AB 12", "ab12", True, True, id="white-space"),
        pytest.param(["punctuation"], "Café!", "cafe", False, False, id="only-what-is-listed"),
        pytest.param(["punctuation"], "$5", "€5", False, False, id="symbols-are-no-punctuation"),
        pytest.param(["punctuation"], "1.5", "15", False, False, id="decimal-point"),
        pytest.param(["punctuation"], "-5.00", "5.00", False, False, id="sign"),
        pytest.param(["punctuation"], "12:30", "1230", False, False, id="separator-between-digits"),
        pytest.param(["punctuation"], "10 – 20", "10-20", True, True, id="dashes-between-digits"),
        pytest.param(["punctuation"], "-", "?", False, False, id="nothing-else-is-left"),
        pytest.param(["punctuation"], "m²", "m2", False, False, id="superscripts-differ"),
    ],
)
def test_ignored_parts_make_no_difference(ignore, expected, candidate, exact_text, normalized_text):
    assert ExactText(ignore=ignore).compare(expected, candidate).matched is exact_text
    assert NormalizedText(ignore=ignore).compare(expected, candidate).matched is normalized_text


def test_ignored_parts_of_strings_inside_containers_count():
    assert not ExactText(ignore=["punctuation"]).compare(["a."], ["a"]).matched


def test_ignored_field_always_matches():
    assert Ignore().compare("a", "b") is MATCHED
