from __future__ import annotations

import pytest

from fieldmark.compare.date import DateMatch
from fieldmark.compare.exact import Exact
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.compare.regex import Regex
from fieldmark.compare.wrappers import AnyOf
from fieldmark.model.outcome import Reason

NONE = Reason.NONE_ACCEPTABLE


@pytest.mark.parametrize(
    ("inner", "expected", "candidate", "matched", "score"),
    [
        pytest.param(Exact(), ["USD", "$"], "$", True, 1.0, id="one-of-them"),
        pytest.param(Exact(), ["USD", "$"], "EUR", False, 0.0, id="none-of-them"),
        pytest.param(Exact(), "USD", "USD", True, 1.0, id="single-value"),
        pytest.param(Exact(), ["a"], ["a"], False, 0.0, id="list-is-not-its-own-member"),
        pytest.param(Exact(), [["a"]], ["a"], True, 1.0, id="list-can-be-member"),
        pytest.param(Exact(), [], "a", False, 0.0, id="no-acceptable-values"),
        pytest.param(Exact(), [None, ""], "a", False, 0.0, id="empty-acceptable-values"),
        pytest.param(NumericTolerance(tolerance=1), [10, 20], 20.5, True, 1.0, id="near-one-of-them"),
        pytest.param(Fuzzy(), ["a" * 10, "a" * 9 + "b"], "a" * 9 + "c", True, 0.9, id="similar-to-one"),
        pytest.param(Fuzzy(), ["aaaaaaaaab", "aaaaaaaaaa"], "aaaaaaaaaa", True, 1.0, id="best-one-counts"),
        pytest.param(Regex(), ["(", "a+"], "aa", True, 1.0, id="match-outweighs-failure"),
    ],
)  # fmt: skip
def test_one_acceptable_value_matches(inner, expected, candidate, matched, score):
    comparison = AnyOf(inner=inner).compare(expected, candidate)
    assert comparison.matched is matched
    assert comparison.score == pytest.approx(score)
    assert comparison.reason is (None if matched else NONE)


def test_failed_comparison_with_one_value_is_an_error():
    assert AnyOf(inner=Regex()).compare(["(", "b"], "a").failed


@pytest.mark.parametrize(
    ("expected", "candidate", "wrong_kind"),
    [
        pytest.param([1, 2], "x", True, id="wrong-type-for-each"),
        pytest.param([1, "y"], "x", False, id="right-type-for-one"),
        pytest.param([], "x", False, id="nothing-to-compare-with"),
    ],
)
def test_type_is_wrong_if_it_is_wrong_for_all_values(expected, candidate, wrong_kind):
    assert AnyOf(inner=Exact()).compare(expected, candidate).wrong_kind is wrong_kind


def test_flags_of_inner_comparisons_are_combined():
    comparison = AnyOf(inner=DateMatch()).compare(["2024-01-01"], "03/04/2024")
    assert comparison.ambiguous
    assert AnyOf(inner=Fuzzy()).compare(["aa", "ab"], "ax").similarity == 0.5
