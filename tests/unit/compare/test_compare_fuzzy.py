from __future__ import annotations

import csv
from pathlib import Path

import pytest

from fieldmark.compare.fuzzy import MAX_TEXT_LENGTH, Fuzzy, levenshtein_similarity
from fieldmark.errors import OptionError
from fieldmark.model.comparison import MATCHED
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
        pytest.param({}, "acme", "  acme ", True, 1.0, id="blanks-at-the-ends-are-trimmed"),
        pytest.param({"case_sensitive": True}, "acme", "acme ", False, 4 / 5, id="raw-texts-when-case-matters"),
        pytest.param({"threshold": 0.8}, "Acme Corp", "XYZ Inc", False, 1 / 9, id="unlike-texts"),
        pytest.param({"algorithm": "jaro_winkler"}, "Microsoft Corporation", "Microsoft Corp", True, 0.9333333333333333, id="a-common-beginning"),
        pytest.param({"threshold": 0.8}, "abcde", "abcdx", True, 0.8, id="the-threshold-is-inside"),
        pytest.param({"threshold": 0.9}, "a" * 10, "a" * 9 + "b", True, 0.9, id="a-threshold-that-floats-miss"),
        pytest.param({"threshold": 0.7}, "a" * 10, "a" * 7 + "bbb", True, 0.7, id="another-one"),
        pytest.param({"threshold": 0.95}, "a" * 20, "a" * 19 + "b", True, 0.95, id="and-another"),
        pytest.param({}, "a" * 20, "a" * 17 + "bbb", True, 0.85, id="the-default-threshold"),
        pytest.param({}, "a" * 20, "a" * 16 + "bbbb", False, 0.8, id="below-the-default-threshold"),
        pytest.param({"algorithm": "token_sort"}, "corp acme", "acme corp", True, 1.0, id="words-in-any-order"),
        pytest.param({"algorithm": "token_set"}, "acme", "acme corp", True, 1.0, id="words-of-the-other"),
    ],
)  # fmt: skip
def test_alike_texts_match(options, expected, candidate, matched, similarity):
    comparison = Fuzzy(**options).compare(expected, candidate)
    assert comparison.matched is matched
    assert comparison.similarity == pytest.approx(similarity, abs=1e-12)
    assert comparison.score == pytest.approx(similarity if matched else 0.0, abs=1e-12)
    assert comparison.reason is (None if matched else Reason.BELOW_THRESHOLD)


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param("100", 100, id="a-number-for-text"),
        pytest.param(100, "100", id="text-for-a-number"),
        pytest.param(100, 101, id="two-numbers"),
        pytest.param(["a"], ["b"], id="two-lists"),
        pytest.param("true", True, id="a-boolean-for-text"),
    ],
)
def test_only_texts_are_compared_fuzzily(expected, candidate):
    comparison = Fuzzy(threshold=0).compare(expected, candidate)
    assert comparison.wrong_kind
    assert comparison.reason is Reason.TYPE_MISMATCH


def test_equal_values_match_whatever_they_are():
    assert Fuzzy().compare(100, 100.0) is MATCHED
    assert Fuzzy().compare(["a"], ["a"]) is MATCHED


LONG = "a" * 1_000_000


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        pytest.param("a" * 1_000_000, None, id="equal"),
        pytest.param("A" * 1_000_000, None, id="equal-but-for-case"),
        pytest.param("b" + LONG, Reason.TOO_LONG, id="one-edit"),
        pytest.param("b" * 1_000_000, Reason.TOO_LONG, id="disjoint"),
        pytest.param("short", Reason.TOO_LONG, id="against-a-short-one"),
    ],
)
def test_long_texts_are_refused_rather_than_scored(candidate, reason):
    comparison = Fuzzy().compare(LONG, candidate)
    assert comparison.reason is reason
    assert comparison.failed is (reason is not None)
    assert comparison.matched is (reason is None)


def test_texts_up_to_the_limit_are_compared():
    text = "a" * (MAX_TEXT_LENGTH - 1)
    assert Fuzzy().compare(text + "b", text + "c").matched
    assert Fuzzy().compare(text + "bb", text + "c").failed


@pytest.mark.parametrize(
    ("options", "option"),
    [
        pytest.param({"algorithm": "levenstein"}, "algorithm", id="an-unknown-algorithm"),
        pytest.param({"algorithm": None}, "algorithm", id="no-algorithm"),
        pytest.param({"threshold": 1.1}, "threshold", id="a-threshold-above-one"),
        pytest.param({"threshold": -0.1}, "threshold", id="a-negative-threshold"),
        pytest.param({"threshold": float("nan")}, "threshold", id="nan"),
        pytest.param({"threshold": "0.8"}, "threshold", id="text"),
        pytest.param({"threshold": True}, "threshold", id="a-boolean"),
        pytest.param({"case_sensitive": 1}, "case_sensitive", id="a-number-for-a-flag"),
    ],
)
def test_options_that_are_refused(options, option):
    with pytest.raises(OptionError) as caught:
        Fuzzy(**options)
    assert caught.value.option == option
