"""The keys of the id and the documents in rows."""

from __future__ import annotations

from array import array

import pytest

from fieldmark.data import row_layout as module
from fieldmark.data.inputs import Inputs
from fieldmark.data.json_parser import Role
from fieldmark.data.row_layout import (
    DuplicateIds,
    Layout,
    apply_layout,
    detect_layout,
    detect_paired_layout,
    first_duplicate,
    paired_keys,
)
from fieldmark.data.rows import RowBlock


def block(*rows):
    return RowBlock(list(rows), range(1, len(rows) + 1))


@pytest.mark.parametrize(
    ("role", "options", "row", "layout"),
    [
        pytest.param(
            Role.TRUTH,
            Inputs(expected_key="label"),
            {"id": "1", "expected": {"a": 0}, "label": {"a": 1}},
            Layout(id_key="id", value_key="label"),
            id="named-key-before-a-usual-one-of-higher-rank",
        ),
        pytest.param(
            Role.CANDIDATE,
            Inputs(expected_key="label", candidate_key="answer"),
            {"candidate": {"a": 0}, "label": {"a": 2}, "answer": {"a": 1}},
            Layout(value_key="answer"),
            id="key-named-for-this-side",
        ),
        pytest.param(
            Role.CANDIDATE,
            Inputs(expected_key="label"),
            {"output": {"a": 0}, "label": {"a": 1}},
            Layout(value_key="output"),
            id="key-named-for-the-other-side-only",
        ),
        pytest.param(
            Role.CANDIDATE,
            Inputs(),
            {"id": "1", "expected": {"a": 0}, "output": {"a": 1}},
            Layout(id_key="id", value_key="output"),
            id="usual-key-of-the-side",
        ),
        pytest.param(
            Role.CANDIDATE,
            Inputs(),
            {"id": "1", "expected": {"a": 0}},
            Layout(id_key="id", value_key="expected"),
            id="usual-key-of-the-other-side",
        ),
        pytest.param(
            Role.TRUTH,
            Inputs(),
            {"id": "1", "expected": {"a": 0}, "total": 3},
            Layout(id_key="id"),
            id="document-that-has-a-usual-key",
        ),
    ],
)
def test_keys_of_one_side(role, options, row, layout):
    assert detect_layout(block(row), role, options, name="x")[0] == layout


def test_documents_are_read_from_the_named_key():
    rows = block({"id": "1", "expected": {"a": 0}, "answer": {"a": 1}})
    layout, notes = detect_layout(rows, Role.TRUTH, Inputs(expected_key="answer"), name="t.jsonl")
    assert apply_layout(rows, layout).values == [{"a": 1}]
    assert notes == ["t.jsonl: ground truth in 'answer'"]


def test_first_row_with_the_named_key_determines_the_layout():
    rows = block({"id": "1", "note": "none"}, "text", {"case_id": "2", "answer": {"a": 1}})
    layout, _ = detect_layout(rows, Role.TRUTH, Inputs(expected_key="answer"), name="x")
    assert layout == Layout(id_key="case_id", value_key="answer")


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        pytest.param(Inputs(), ("expected", "output"), id="usual-keys"),
        pytest.param(Inputs(expected_key="label"), ("label", "output"), id="named-truth"),
        pytest.param(Inputs(candidate_key="actual"), ("expected", "actual"), id="named-candidate"),
        pytest.param(
            Inputs(expected_key="actual", candidate_key="label"),
            ("actual", "label"),
            id="both-named",
        ),
        pytest.param(Inputs(expected_key="answer"), None, id="named-key-that-does-not-exist"),
    ],
)
def test_keys_of_both_sides(options, keys):
    row = {"id": "1", "expected": 1, "label": 2, "output": 3, "actual": 4}
    assert paired_keys(row, options) == keys
    if keys is not None:
        layout, _ = detect_paired_layout(block(row), options, name="x")
        assert layout == Layout(id_key="id", value_key=keys[0], partner_key=keys[1])


# --- duplicate ids --------------------------------------------------------------------------------


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
