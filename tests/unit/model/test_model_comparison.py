from __future__ import annotations

import pytest

from fieldmark.model.comparison import DIFFERENT, WRONG_TYPE, Comparison, mismatch
from fieldmark.model.outcome import Reason

OUTSIDE = Comparison.differs(Reason.OUTSIDE_TOLERANCE)


@pytest.mark.parametrize(
    ("expected", "candidate", "same_kind"),
    [
        pytest.param("a", "b", True, id="two-texts"),
        pytest.param(5, 6.5, True, id="two-numbers"),
        pytest.param([1], [2], True, id="two-lists"),
        pytest.param(5, "6", False, id="string-for-number"),
        pytest.param(1, True, False, id="boolean-for-number"),
        pytest.param(["a"], {"a": 1}, False, id="object-for-list"),
    ],
)
def test_values_of_one_type_differ_and_others_have_the_wrong_type(expected, candidate, same_kind):
    assert mismatch(expected, candidate) == (DIFFERENT if same_kind else WRONG_TYPE)
    assert mismatch(expected, candidate, OUTSIDE) == (OUTSIDE if same_kind else WRONG_TYPE)
