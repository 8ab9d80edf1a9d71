"""Both documents of a case as one tree: every outcome at its place, every value on its side."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.report.html.tree import case_tree
from fieldmark.report.html.value_encoding import HIDDEN, NOT_COMPARED
from fieldmark.store.run_reader import open_run

MATCH, WRONG, FORMAT, OMITTED, INVENTED, EMPTY, IGNORED = range(7)

ABSENT = {"m": 1}


@pytest.fixture
def nodes_of(tmp_path):
    def made(expected, candidate, **options):
        fm.score([(expected, candidate)], out=tmp_path / "run", **options)
        (case,) = open_run(tmp_path / "run").cases()
        return [node[:4] + node[5:] for node in map(list, case_tree(case).nodes)]

    return made


def marks(nodes):
    """Every node as key, mark and members, however deep."""
    return [
        (node[0], node[1], marks(node[5] if len(node) > 5 else node[4]))
        if len(node) > 4 and isinstance(node[-1], list)
        else (node[0], node[1])
        for node in nodes
    ]


@pytest.mark.parametrize(
    ("expected", "candidate", "nodes"),
    [
        pytest.param({"a": 1}, {"a": 1}, [["a", MATCH, 1, {}]], id="a-value-that-is-the-same"),
        pytest.param({"a": "x"}, {"a": "y"}, [["a", WRONG, "x", "y"]], id="a-wrong-value"),
        pytest.param({"a": 1}, {}, [["a", OMITTED, 1, ABSENT]], id="a-key-that-is-not-there"),
        pytest.param({"a": 1}, {"a": None}, [["a", OMITTED, 1, None]], id="null-is-not-absent"),
        pytest.param({}, {"a": 1}, [["a", INVENTED, ABSENT, 1]], id="a-key-that-was-invented"),
        pytest.param({"a": None}, {"a": None}, [["a", EMPTY, None, {}]], id="both-empty"),
        pytest.param({"a": 1}, {"a": 1.0}, [["a", MATCH, 1, {"d": "1.0"}]], id="written-differently"),
        pytest.param("x", "y", [["", WRONG, "x", "y"]], id="documents-that-are-no-objects"),
        pytest.param(
            {"a": {"b": 1}},
            {"a": {"b": 2}},
            [["a", None, {"o": 1}, {"o": 1}, [["b", WRONG, 1, 2, 0]]]],
            id="a-key-below-a-key",
        ),
        pytest.param(
            {"a.b": {'"': 1}},
            {"a.b": {'"': 1}},
            [["a.b", None, {"o": 1}, {"o": 1}, [['"', MATCH, 1, {}, 0]]]],
            id="keys-that-paths-must-quote",
        ),
        pytest.param(
            {"a": {"b": 1}},
            {"a": "x"},
            [["a", INVENTED, {"o": 1}, "x", [["b", OMITTED, 1, ABSENT, 0]]]],
            id="an-object-against-a-text",
        ),
        pytest.param(
            [1], [1], [[[0, 0, None], MATCH, 1, {}]], id="documents-that-are-lists"
        ),
    ],
)  # fmt: skip
def test_every_field_stands_in_its_place(nodes_of, expected, candidate, nodes):
    found = nodes_of(expected, candidate)
    assert [strip(node) for node in found] == [strip(node) for node in nodes]


def strip(node):
    """A node without what comparators said and without similarities."""
    key = node[0][:2] if isinstance(node[0], list) else node[0]
    members = node[4:] if len(node) > 4 and isinstance(node[-1], list) else []
    inner = [strip([*each[:4], *each[5:]]) for each in members[-1]] if members else []
    return [key, node[1], node[2], node[3], inner]


def test_items_stand_beside_their_partners(nodes_of):
    expected = {"items": [{"t": "a", "n": 1}, {"t": "b", "n": 2}, {"t": "lost", "n": 9}]}
    candidate = {"items": [{"t": "b", "n": 2}, {"t": "a", "n": 3}, {"t": "new", "n": 7}]}
    (items,) = nodes_of(expected, candidate, align="greedy")
    assert [item[0][:2] for item in items[-1]] == [[0, 1], [1, 0], [2, None], [None, 2]]
    fields = [[(each[0], each[1]) for each in item[5]] for item in items[-1]]
    assert fields == [
        [("t", MATCH), ("n", WRONG)],
        [("t", MATCH), ("n", MATCH)],
        [("t", OMITTED), ("n", OMITTED)],
        [("t", INVENTED), ("n", INVENTED)],
    ]


def test_a_lost_and_an_invented_item_at_the_same_place_stay_apart(nodes_of):
    (items,) = nodes_of(
        {"items": [{"t": "a"}, {"t": "lost"}]},
        {"items": [{"t": "a"}, {"t": "new"}]},
        align="greedy",
    )
    assert [(item[0][:2], item[5][0][1:4]) for item in items[-1]] == [
        ([0, 0], [MATCH, "a", {}]),
        ([1, None], [OMITTED, "lost", ABSENT]),
        ([None, 1], [INVENTED, ABSENT, "new"]),
    ]


def test_lists_inside_items_are_paired_within_their_items(nodes_of):
    expected = {"pages": [{"n": 1, "lines": ["a", "b"]}, {"n": 2, "lines": ["c"]}]}
    candidate = {"pages": [{"n": 2, "lines": ["c", "d"]}, {"n": 1, "lines": ["b"]}]}
    (pages,) = nodes_of(expected, candidate, align="optimal")
    lines = {tuple(page[0][:2]): page[5][1][5] for page in pages[-1]}
    assert [(each[0][:2], each[1], each[2]) for each in lines[0, 1]] == [
        ([0, None], OMITTED, "a"),
        ([1, 0], MATCH, "b"),
    ]
    assert [(each[0][:2], each[1]) for each in lines[1, 0]] == [
        ([0, 0], MATCH),
        ([None, 1], INVENTED),
    ]


def test_what_no_rule_asked_about_is_shown_as_such(nodes_of):
    nodes = nodes_of(
        {"a": 1, "b": {"c": [1, 2]}},
        {"a": 1, "d": 3},
        rules={"scope": "configured", "fields": [{"path": "a"}]},
    )
    assert [node[:4] for node in nodes] == [
        ["a", MATCH, 1, {}],
        ["b", NOT_COMPARED, {"j": '{"c": [1, 2]}'}, ABSENT],
        ["d", NOT_COMPARED, ABSENT, 3],
    ]


def test_a_list_that_is_compared_whole_is_one_field(nodes_of):
    (node,) = nodes_of({"a": [1, 2]}, {"a": [1, 3]}, align="whole")
    assert node[:4] == ["a", WRONG, {"j": "[1, 2]"}, {"j": "[1, 3]"}]


def test_without_values_there_are_paths(tmp_path):
    fm.score([({"a": [{"b": "secret"}]}, {"a": []})], values=False, out=tmp_path / "run")
    (case,) = open_run(tmp_path / "run").cases()
    assert case_tree(case).nodes == [["a[0].b", OMITTED, HIDDEN, HIDDEN, 0]]
