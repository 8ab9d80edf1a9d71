from __future__ import annotations

import csv
from pathlib import Path

import pytest

from fieldmark.compare.fuzzy import Fuzzy, levenshtein_similarity
from fieldmark.model.outcome import Reason

REFERENCE = Path(__file__).parents[2] / "data" / "string-metric-reference"


def reference(name):
    with (REFERENCE / name).open(encoding="utf-8", newline="") as file:
        return [(one, other, float(value)) for one, other, value in csv.reader(file)]


@pytest.mark.parametrize(("one", "other", "distance"), reference("levenshtein.csv"))
def test_levenshtein_agrees_with_published_values(one, other, distance):
    longer = max(len(one), len(other)) or 1
    assert levenshtein_similarity(one, other) == 1 - distance / longer


@pytest.mark.parametrize(("one", "other", "similarity"), reference("jaro_winkler.csv"))
def test_jaro_winkler_agrees_with_published_values(one, other, similarity):
    comparison = Fuzzy(algorithm="jaro_winkler", threshold=0).compare(one, other)
    assert round(comparison.score, 3) == similarity


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "matched", "similarity"),
    [
        pytest.param({"threshold": 0.8}, "ACME CORP", "Acme Corp", True, 1.0, id="case-is-folded"),
        pytest.param({"threshold": 0.8, "case_sensitive": True}, "ACME CORP", "Acme Corp", False, 3 / 9, id="unless-it-matters"),
        pytest.param({}, "acme", "  acme ", True, 1.0, id="surrounding-whitespace-is-trimmed"),
        pytest.param({"case_sensitive": True}, "acme", "acme ", False, 4 / 5, id="case-sensitive"),
        pytest.param({"threshold": 0.8}, "Acme Corp", "XYZ Inc", False, 1 / 9, id="dissimilar-strings"),
        pytest.param({"algorithm": "jaro_winkler"}, "Microsoft Corporation", "Microsoft Corp", True, 0.9333333333333333, id="common-beginning"),
        pytest.param({"threshold": 0.8}, "abcde", "abcdx", True, 0.8, id="threshold-is-inside"),
        pytest.param({"threshold": 0.9}, "a" * 10, "a" * 9 + "b", True, 0.9, id="threshold-with-float-error"),
        pytest.param({"threshold": 0.7}, "a" * 10, "a" * 7 + "bbb", True, 0.7, id="different-one"),
        pytest.param({"threshold": 0.95}, "a" * 20, "a" * 19 + "b", True, 0.95, id="second-different-value"),
        pytest.param({}, "a" * 20, "a" * 17 + "bbb", True, 0.85, id="default-threshold"),
        pytest.param({}, "a" * 20, "a" * 16 + "bbbb", False, 0.8, id="below-default-threshold"),
        pytest.param({"algorithm": "token_sort"}, "corp acme", "acme corp", True, 1.0, id="words-in-any-order"),
        pytest.param({"algorithm": "token_set"}, "acme", "acme corp", True, 1.0, id="words-of-other"),
    ],
)  # fmt: skip
def test_similar_strings_match(options, expected, candidate, matched, similarity):
    comparison = Fuzzy(**options).compare(expected, candidate)
    assert comparison.matched is matched
    assert comparison.similarity == pytest.approx(similarity, abs=1e-12)
    assert comparison.score == pytest.approx(similarity if matched else 0.0, abs=1e-12)
    assert comparison.reason is (None if matched else Reason.BELOW_THRESHOLD)


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "similarity"),
    [
        pytest.param({}, "acme  corp", "acme\tcorp", 1.0, id="runs-of-blanks-are-one"),
        pytest.param({}, "o\ufb03ce", "office", 1.0, id="compatible-characters"),
        pytest.param({}, "\uff21cme", "acme", 1.0, id="full-width-letters"),
        pytest.param({"case_sensitive": True}, "o\ufb03ce", "office", 0.5, id="case-sensitive-compares-characters"),
        pytest.param({"ignore": ["punctuation"]}, "Acme, Inc.", "acme inc", 1.0, id="punctuation"),
        pytest.param({"ignore": ["accents"]}, "Caf\u00e9", "cafe", 1.0, id="accents"),
        pytest.param({"ignore": ["white_space"]}, "a c m e", "acme", 1.0, id="white-space"),
        pytest.param({"ignore": ["punctuation"], "case_sensitive": True}, "Acme.", "acme", 0.75, id="case-still-matters"),
        pytest.param({"ignore": ["punctuation"]}, "--", "..", 0.0, id="nothing-but-punctuation-is-compared"),
    ],
)  # fmt: skip
def test_what_makes_no_difference(options, expected, candidate, similarity):
    comparison = Fuzzy(threshold=0, **options).compare(expected, candidate)
    assert comparison.similarity == similarity


@pytest.mark.parametrize(
    ("options", "expected", "candidate", "note"),
    [
        pytest.param({}, "12 Main Street", "21 Main Street", "numbers differ: 12 vs. 21", id="different-numbers"),
        pytest.param({}, "12 Main Street", "12 Main Streat", "", id="same-numbers"),
        pytest.param({}, "Main Street", "Main Street 5", "numbers differ: none vs. 5", id="one-side-has-a-number"),
        pytest.param({}, "Delivery of units 1, 2 and 3", "Delivery of units 4, 5 and 6", "numbers differ: 1, 2, 3 vs. 4, 5, 6", id="three-numbers-are-listed"),
        pytest.param({}, "Delivery of units 1, 2, 3 and 4", "Delivery of units 5, 6, 7 and 8", "numbers differ: 1, 2, 3, … vs. 5, 6, 7, …", id="further-numbers-are-not"),
        pytest.param({}, "1,240 units of it", "1240 units of it", "", id="grouped-digits"),
        pytest.param({}, "Unit 05 of it", "Unit 5 of it", "", id="leading-zeros"),
        pytest.param({"algorithm": "token_sort"}, "5 of 12 units", "units of 12, 5", "", id="any-order"),
        pytest.param({"ignore": ["punctuation"]}, "1.5 kg of flour", "15 kg of flour", "numbers differ: 1, 5 vs. 15", id="punctuation-in-numbers-counts"),
    ],
)  # fmt: skip
def test_exact_numbers_inside_similar_text(options, expected, candidate, note):
    comparison = Fuzzy(threshold=0.7, numbers="exact", **options).compare(expected, candidate)
    assert (comparison.matched, comparison.note) == (not note, note)
    assert comparison.reason is (Reason.GUARD_FAILED if note else None)
    assert comparison.similarity >= 0.7
    assert Fuzzy(threshold=0.7, **options).compare(expected, candidate).matched


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param("100", 100, id="number-for-string"),
        pytest.param(100, "100", id="string-for-number"),
        pytest.param(100, 101, id="two-numbers"),
        pytest.param(["a"], ["b"], id="two-lists"),
        pytest.param("true", True, id="boolean-for-string"),
    ],
)
def test_only_strings_are_compared_fuzzily(expected, candidate):
    comparison = Fuzzy(threshold=0).compare(expected, candidate)
    assert comparison.wrong_kind
    assert comparison.reason is Reason.TYPE_MISMATCH


LONG = "a" * 1_000_000


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        pytest.param("a" * 1_000_000, None, id="equal"),
        pytest.param("A" * 1_000_000, None, id="equal-but-for-case"),
        pytest.param("b" + LONG, Reason.TOO_LONG, id="one-edit"),
        pytest.param("b" * 1_000_000, Reason.TOO_LONG, id="disjoint"),
        pytest.param("short", Reason.TOO_LONG, id="against-short-one"),
    ],
)
def test_too_long_strings_are_errors(candidate, reason):
    comparison = Fuzzy().compare(LONG, candidate)
    assert comparison.reason is reason
    assert comparison.failed is (reason is not None)
    assert comparison.matched is (reason is None)


def test_strings_up_to_the_limit_are_compared():
    text = "a" * 9_999
    assert Fuzzy().compare(text + "b", text + "c").matched
    assert Fuzzy().compare(text + "bb", text + "c").failed
