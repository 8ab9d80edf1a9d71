"""Detection of duplicate ids, at any position and for any number of ids."""

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
        pytest.param(["ab", "zy", "x", "a"], True, id="first-again-at-the-end"),
        pytest.param(["aa"], True, id="twice-in-a-group"),
        pytest.param(["ba", "dc", "", "fe"], False, id="group-without-names"),
    ],
)
def test_duplicate_ids(groups, repeats):
    names = DuplicateIds()
    for group in groups:
        names.add(list(group))
    assert names.may_repeat() is repeats


@pytest.mark.parametrize(
    ("groups", "repeats"),
    [
        pytest.param(["ab", "cd", "ef"], False, id="not-stored"),
        pytest.param(["ab", "cd", "ba"], True, id="followed-by-descending-ids"),
        pytest.param(["ab", "dc"], False, id="soon-followed-by-descending-ids"),
    ],
)
def test_ascending_ids(groups, repeats, monkeypatch):
    monkeypatch.setattr(module, "_MAX_ASCENDING", 2)
    names = DuplicateIds()
    for group in groups:
        names.add(list(group))
    assert names.may_repeat() is repeats
    assert len(names.hashes) <= 4
