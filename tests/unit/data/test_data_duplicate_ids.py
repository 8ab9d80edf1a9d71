"""Detection of duplicate ids, at any position and for any number of ids."""

from __future__ import annotations

from array import array

import pytest

from fieldmark.data import row_layout as module
from fieldmark.data.row_layout import DuplicateIds, first_duplicate


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
        pytest.param([["b", None, None, "a"]], False, id="rows-without-an-id"),
        pytest.param([["b", None], [None, None], ["a"]], False, id="groups-of-rows-without-an-id"),
        pytest.param([["b", None, "a", "b"]], True, id="twice-around-a-row-without-an-id"),
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


@pytest.mark.parametrize("by_sorting", [False, True], ids=["with-a-table", "by-sorting"])
@pytest.mark.parametrize(
    ("hashes", "rows"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param([3, 1, 2], None, id="all-different"),
        pytest.param([5, 7, 5], (0, 2), id="one"),
        pytest.param([1, 3, 3, 1], (1, 2), id="earliest-duplicate-is-of-a-greater-number"),
        pytest.param([3, 1, 1, 3], (1, 2), id="earliest-duplicate-is-of-a-smaller-number"),
        pytest.param([1, 3, 1, 3], (0, 2), id="first-occurrence-and-duplicate-are-earlier"),
        pytest.param([-4, 9, 9, 9, -4], (1, 2), id="three-times"),
        pytest.param([8] * 1000, (0, 1), id="always-the-same"),
        pytest.param([*range(500), *range(499, -1, -1)], (499, 500), id="many-duplicates"),
    ],
)
def test_first_duplicate_is_that_of_the_earliest_line(hashes, rows, by_sorting, monkeypatch):
    monkeypatch.setattr(module, "_BY_SORTING", 0 if by_sorting else len(hashes) + 1)
    assert first_duplicate(array("q", hashes)) == rows
