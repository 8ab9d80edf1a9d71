from __future__ import annotations

import pytest

from fieldmark.compare.sets import SetMatch
from fieldmark.model.outcome import Reason


@pytest.mark.parametrize(
    ("normalize", "expected", "candidate", "similarity"),
    [
        pytest.param(False, ["a", "b"], ["b", "a"], None, id="different-order"),
        pytest.param(False, ["a", "b"], ["b", "a", "a"], None, id="repetitions"),
        pytest.param(False, [1], [1.0], None, id="numbers-by-value"),
        pytest.param(False, [], [], None, id="two-empty-lists"),
        pytest.param(True, ["Café "], ["CAFE\u0301"], None, id="normalized-strings"),
        pytest.param(False, ["A"], ["a"], 0.0, id="strings-as-they-are"),
        pytest.param(False, [1], [True], 0.0, id="boolean-is-not-a-number"),
        pytest.param(False, ["a", "b", "c"], ["b", "c", "d"], 0.5, id="half-in-common"),
        pytest.param(False, ["a"], [], 0.0, id="empty-candidate"),
    ],
)
def test_lists_with_the_same_members_match(normalize, expected, candidate, similarity):
    comparison = SetMatch(normalize=normalize).compare(expected, candidate)
    assert comparison.matched is (similarity is None)
    assert comparison.similarity == similarity
    assert comparison.score == float(comparison.matched)


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param(["a"], "a", id="scalar-for-list"),
        pytest.param("a", ["a"], id="list-for-scalar"),
        pytest.param("a", "b", id="two-scalars"),
        pytest.param(["a"], {"a": 1}, id="object-for-list"),
    ],
)
def test_only_lists_are_compared_as_sets(expected, candidate):
    comparison = SetMatch().compare(expected, candidate)
    assert comparison.wrong_kind
    assert comparison.reason is Reason.TYPE_MISMATCH
