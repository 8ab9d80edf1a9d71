"""Comparison with Python functions of the user."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fieldmark.compare.exact import Exact, Ignore
from fieldmark.compare.function import FunctionMatch, normalized_by
from fieldmark.compare.semantic import Semantic
from fieldmark.errors import OptionError
from fieldmark.model.outcome import Reason


@pytest.mark.parametrize(
    ("returned", "matched", "score", "similarity"),
    [
        pytest.param(True, True, 1.0, None, id="true"),
        pytest.param(False, False, 0.0, None, id="false"),
        pytest.param(np.True_, True, 1.0, None, id="numpy-true"),
        pytest.param(np.False_, False, 0.0, None, id="numpy-false"),
        pytest.param(1, True, 1.0, 1.0, id="one"),
        pytest.param(0, False, 0.0, 0.0, id="zero"),
        pytest.param(0.8, True, 0.8, 0.8, id="at-the-threshold"),
        pytest.param(0.79, False, 0.0, 0.79, id="below-the-threshold"),
        pytest.param(np.float32(0.5), False, 0.0, 0.5, id="numpy-number"),
        pytest.param(Fraction(9, 10), True, 0.9, 0.9, id="fraction"),
    ],
)
def test_what_a_function_may_return(returned, matched, score, similarity):
    found = FunctionMatch(function=lambda *_: returned).compare(1, 2)
    assert (found.matched, found.score, found.similarity) == (matched, score, similarity)
    assert not found.failed


@pytest.mark.parametrize(
    ("returned", "shown"),
    [
        pytest.param(None, "NoneType", id="none"),
        pytest.param("yes", "str", id="text"),
        pytest.param(1.5, "1.5", id="more-than-one"),
        pytest.param(-0.1, "-0.1", id="negative"),
        pytest.param(float("nan"), "nan", id="nan"),
        pytest.param([True], "list", id="list"),
        pytest.param(np.array([True, False]), "list", id="array"),
    ],
)
def test_any_other_value_is_an_error_and_never_a_score(returned, shown):
    def odd(expected, candidate):
        return returned

    found = FunctionMatch(function=odd).compare(1, 1)
    assert (found.failed, found.matched, found.reason) == (True, False, Reason.CRASHED)
    assert f"returned {shown}, expected true, false or a number from 0 to 1" in found.note


def test_values_are_passed_in_order():
    seen = []
    FunctionMatch(function=lambda *pair: seen.append(pair) or True).compare("expected", ["found"])
    assert seen == [("expected", ["found"])]


def test_a_function_cannot_change_documents():
    def destructive(expected, candidate):
        expected.clear()
        candidate["lines"].clear()
        return True

    expected, candidate = [3, 1], {"lines": [1]}
    assert FunctionMatch(function=destructive).compare(expected, candidate).matched
    assert (expected, candidate) == ([3, 1], {"lines": [1]})
    sorting = normalized_by(lambda value: value.sort() or value, Exact())
    assert sorting.compare([2, 1], [1, 2]).matched
    assert expected == [3, 1]


def test_invalid_options_are_rejected():
    with pytest.raises(OptionError, match="function: must be a function"):
        FunctionMatch(function=3)
    with pytest.raises(OptionError, match="threshold"):
        FunctionMatch(function=max, threshold=2)


def test_equal_values_are_passed_to_the_function_too():
    assert not FunctionMatch(function=max).reflexive
    assert not normalized_by(str, Exact()).reflexive


@pytest.mark.parametrize(
    ("normalize", "expected", "candidate", "matched"),
    [
        pytest.param(str.upper, "ab", "AB", True, id="both-sides"),
        pytest.param(lambda value: value[:1], "ab", "ac", True, id="part"),
        pytest.param(lambda value: value, "ab", "ac", False, id="unchanged"),
        pytest.param(lambda value: (value, 1), "a", "a", True, id="tuple-is-a-list"),
        pytest.param(lambda _: None, "a", "b", True, id="null"),
    ],
)
def test_values_are_compared_after_normalization(normalize, expected, candidate, matched):
    assert normalized_by(normalize, Exact()).compare(expected, candidate).matched is matched


def test_a_normalized_value_must_be_json():
    found = normalized_by(str.encode, Exact()).compare("a", "a")
    assert (found.failed, found.reason) == (True, Reason.CRASHED)
    assert "returned bytes, expected a JSON value" in found.note


def test_ignored_values_are_not_normalized():
    assert normalized_by(str, Ignore()) == Ignore()


def test_normalized_strings_are_sent_to_a_provider_in_batches():
    comparator = normalized_by(str.upper, Semantic())
    pair = comparator.settle("blue car", "red cars")
    assert pair == ("BLUE CAR", "RED CARS")
    assert comparator.ask([pair]) == Semantic().ask([pair])
    assert comparator.compare("blue car", "red cars") == Semantic().compare(*pair)
    wrong = normalized_by(lambda _: object(), Semantic())
    assert wrong.settle("a", "b").failed
    assert not hasattr(normalized_by(str, Exact()), "settle")


def test_the_name_is_that_of_the_function_or_the_comparator():
    assert FunctionMatch(function=max).name == str(max)
    assert normalized_by(str, Exact()).name == "exact"
