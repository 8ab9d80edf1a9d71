"""Names that come twice are noticed, wherever they stand and however many there are."""

from __future__ import annotations

import pytest

from fieldmark.data import duplicate_ids as module
from fieldmark.data.duplicate_ids import DuplicateIds


@pytest.mark.parametrize(
    ("groups", "repeats"),
    [
        pytest.param([], False, id="nothing"),
        pytest.param(["ab", "cd", "ef"], False, id="ascending"),
        pytest.param(["ab", "bc"], True, id="again-in-the-next-group"),
        pytest.param(["dcba", "hgfe"], False, id="descending"),
        pytest.param(["ab", "zy", "x", "a"], True, id="the-first-again-at-the-end"),
        pytest.param(["aa"], True, id="twice-in-a-group"),
        pytest.param(["ba", "dc", "", "fe"], False, id="a-group-without-names"),
    ],
)
def test_names_that_come_twice(groups, repeats):
    names = DuplicateIds()
    for group in groups:
        names.add(list(group))
    assert names.may_repeat() is repeats


@pytest.mark.parametrize(
    ("groups", "repeats"),
    [
        pytest.param(["ab", "cd", "ef"], False, id="need-not-be-remembered"),
        pytest.param(["ab", "cd", "ba"], True, id="are-asked-for-again-if-others-do-not"),
        pytest.param(["ab", "dc"], False, id="are-remembered-if-others-do-not-soon-after"),
    ],
)
def test_many_names_that_ascend(groups, repeats, monkeypatch):
    monkeypatch.setattr(module, "_KEPT_ASCENDING", 2)
    names = DuplicateIds()
    for group in groups:
        names.add(list(group))
    assert names.may_repeat() is repeats
    assert len(names.hashes) <= 4
