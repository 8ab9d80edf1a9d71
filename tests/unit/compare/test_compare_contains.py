from __future__ import annotations

import pytest

from fieldmark.compare.contains import Contains
from fieldmark.errors import OptionError
from fieldmark.model.outcome import Reason


@pytest.mark.parametrize(
    ("expected", "candidate", "in_candidate", "in_expected", "in_either"),
    [
        pytest.param("Acme", "ACME  Corp", True, False, True, id="the-candidate-says-more"),
        pytest.param("acme corp", "Acme", False, True, True, id="the-candidate-says-less"),
        pytest.param("acme", " ACME ", True, True, True, id="the-same"),
        pytest.param("acme", "apex", False, False, False, id="neither"),
    ],
)
def test_one_text_inside_the_other(expected, candidate, in_candidate, in_expected, in_either):
    assert Contains().compare(expected, candidate).matched is in_candidate
    assert Contains(direction="expected").compare(expected, candidate).matched is in_expected
    assert Contains(direction="either").compare(expected, candidate).matched is in_either


def test_what_is_said_of_texts_that_are_not_contained():
    comparison = Contains().compare("a", "b")
    assert (comparison.reason, comparison.wrong_kind) == (Reason.NOT_CONTAINED, False)


def test_only_texts_contain_texts():
    assert Contains().compare("5", 15).wrong_kind
    assert Contains().compare(5, 15).wrong_kind
    assert Contains().compare(5, 5).matched


def test_an_unknown_direction_is_refused():
    with pytest.raises(OptionError, match="Did you mean either"):
        Contains(direction="eiter")
