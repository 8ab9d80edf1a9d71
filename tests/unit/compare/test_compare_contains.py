from __future__ import annotations

import pytest

from fieldmark.compare.contains import Contains
from fieldmark.model.outcome import Reason


@pytest.mark.parametrize(
    ("expected", "candidate", "in_candidate", "in_expected", "in_either"),
    [
        pytest.param("Acme", "ACME  Corp", True, False, True, id="candidate-adds-part"),
        pytest.param("acme corp", "Acme", False, True, True, id="candidate-omits-part"),
        pytest.param("acme", " ACME ", True, True, True, id="same"),
        pytest.param("acme", "apex", False, False, False, id="neither"),
    ],
)
def test_substring_matches(expected, candidate, in_candidate, in_expected, in_either):
    assert Contains().compare(expected, candidate).matched is in_candidate
    assert Contains(direction="expected").compare(expected, candidate).matched is in_expected
    assert Contains(direction="either").compare(expected, candidate).matched is in_either


def test_mismatch_of_contains_has_a_reason():
    comparison = Contains().compare("a", "b")
    assert (comparison.reason, comparison.wrong_kind) == (Reason.NOT_CONTAINED, False)


def test_only_strings_contain_strings():
    assert Contains().compare("5", 15).wrong_kind
    assert Contains().compare(5, 15).wrong_kind
    assert Contains().compare(5, 5).matched


def test_ignored_parts_make_no_difference():
    assert Contains(ignore=["punctuation"]).compare("Acme Inc", "The Acme, Inc. Group").matched
    assert not Contains(ignore=["punctuation"]).compare("...", "a, b").matched
