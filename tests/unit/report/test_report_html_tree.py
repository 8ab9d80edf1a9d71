"""Both documents of a case as one tree with outcomes and values."""

from __future__ import annotations

import pytest

from fieldmark.report.html.tree import case_tree
from fieldmark.report.html.value_encoding import HIDDEN, NOT_COMPARED
from unit.report.exported import stored_case

MATCH, WRONG, WRONG_TYPE, MISSING, EXTRA, EMPTY, IGNORED = range(7)

ABSENT = {"m": 1}


@pytest.fixture
def nodes_of(tmp_path):
    def build(expected, candidate, **options):
        case = stored_case(tmp_path, expected, candidate, **options)
        nodes = [node.to_row() for node in case_tree(case).nodes]
        return [node[:4] + node[5:] for node in nodes]

    return build


def marks(nodes):
    """Return all nodes as key, mark and members."""
    return [
        (node[0], node[1], marks(node[5] if len(node) > 5 else node[4]))
        if len(node) > 4 and isinstance(node[-1], list)
        else (node[0], node[1])
        for node in nodes
    ]


@pytest.mark.parametrize(
    ("expected", "candidate", "nodes"),
    [
        pytest.param({"a": 1}, {"a": 1}, [["a", MATCH, 1, {}]], id="equal-values"),
        pytest.param({"a": "x"}, {"a": "y"}, [["a", WRONG, "x", "y"]], id="wrong-value"),
        pytest.param({"a": 1}, {}, [["a", MISSING, 1, ABSENT]], id="missing-key"),
        pytest.param({"a": 1}, {"a": None}, [["a", MISSING, 1, None]], id="null-instead-of-a-value"),
        pytest.param({}, {"a": 1}, [["a", EXTRA, ABSENT, 1]], id="extra-key"),
        pytest.param({"a": None}, {"a": None}, [["a", EMPTY, None, {}]], id="both-empty"),
        pytest.param({"a": 1}, {"a": 1.0}, [["a", MATCH, 1, {"d": "1.0"}]], id="equal-numbers-written-differently"),
        pytest.param("x", "y", [["", WRONG, "x", "y"]], id="scalar-documents"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 2}}, [["a", None, {"o": 1}, {"o": 1}, [["b", WRONG, 1, 2, 0]]]], id="nested-key"),
        pytest.param({"a.b": {'"': 1}}, {"a.b": {'"': 1}}, [["a.b", None, {"o": 1}, {"o": 1}, [['"', MATCH, 1, {}, 0]]]], id="quoted-keys"),
        pytest.param({"a": {"b": 1}}, {"a": "x"}, [["a", EXTRA, {"o": 1}, "x", [["b", MISSING, 1, ABSENT, 0]]]], id="string-instead-of-an-object"),
        pytest.param([1], [1], [[[0, 0, None], MATCH, 1, {}]], id="list-documents"),
    ],
)  # fmt: skip
def test_every_field_has_a_node(nodes_of, expected, candidate, nodes):
    result = nodes_of(expected, candidate)
    assert [strip(node) for node in result] == [strip(node) for node in nodes]


def strip(node):
    """Return a node without comparisons and similarities."""
    key = node[0][:2] if isinstance(node[0], list) else node[0]
    members = node[4:] if len(node) > 4 and isinstance(node[-1], list) else []
    inner = [strip([*member[:4], *member[5:]]) for member in members[-1]] if members else []
    return [key, node[1], node[2], node[3], inner]


def test_items_are_shown_next_to_the_items_they_are_aligned_with(nodes_of):
    expected = {"items": [{"t": "a", "n": 1}, {"t": "b", "n": 2}, {"t": "missing", "n": 9}]}
    candidate = {"items": [{"t": "b", "n": 2}, {"t": "a", "n": 3}, {"t": "new", "n": 7}]}
    (items,) = nodes_of(expected, candidate, align="greedy")
    assert [item[0][:2] for item in items[-1]] == [[0, 1], [1, 0], [2, None], [None, 2]]
    fields = [[(entry[0], entry[1]) for entry in item[5]] for item in items[-1]]
    assert fields == [
        [("t", MATCH), ("n", WRONG)],
        [("t", MATCH), ("n", MATCH)],
        [("t", MISSING), ("n", MISSING)],
        [("t", EXTRA), ("n", EXTRA)],
    ]


def test_a_missing_and_an_extra_item_at_the_same_index_are_two_nodes(nodes_of):
    (items,) = nodes_of(
        {"items": [{"t": "a"}, {"t": "missing"}]},
        {"items": [{"t": "a"}, {"t": "new"}]},
        align="greedy",
    )
    assert [(item[0][:2], item[5][0][1:4]) for item in items[-1]] == [
        ([0, 0], [MATCH, "a", {}]),
        ([1, None], [MISSING, "missing", ABSENT]),
        ([None, 1], [EXTRA, ABSENT, "new"]),
    ]


def test_nested_lists_are_aligned_within_their_items(nodes_of):
    expected = {"pages": [{"n": 1, "lines": ["a", "b"]}, {"n": 2, "lines": ["c"]}]}
    candidate = {"pages": [{"n": 2, "lines": ["c", "d"]}, {"n": 1, "lines": ["b"]}]}
    (pages,) = nodes_of(expected, candidate, align="optimal")
    lines = {tuple(page[0][:2]): page[5][1][5] for page in pages[-1]}
    assert [(line[0][:2], line[1], line[2]) for line in lines[0, 1]] == [
        ([0, None], MISSING, "a"),
        ([1, 0], MATCH, "b"),
    ]
    assert [(line[0][:2], line[1]) for line in lines[1, 0]] == [([0, 0], MATCH), ([None, 1], EXTRA)]


def test_fields_that_no_rule_selects_are_marked_as_not_compared(nodes_of):
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


INDEXED = [{"path": "l[0].a"}, {"path": "l[1].a"}]
BOTH = {"l": [{"a": 1, "b": 5}, {"a": 2, "b": 6}]}


@pytest.mark.parametrize(
    ("candidate", "rules", "expected"),
    [
        pytest.param(
            {"l": [{"a": 1, "b": 5}, {"a": 3, "b": 6}]},
            {"fields": INDEXED},
            [("l", None, [([0, 0], None, [("a", MATCH), ("b", MATCH)]), ([1, 1], None, [("a", WRONG), ("b", MATCH)])])],
            id="items-aligned-by-the-same-index",
        ),
        pytest.param(
            {"l": [{"a": 2, "b": 6}, {"a": 1, "b": 5}]},
            {"fields": INDEXED},
            [
                ("l", None, [([0, 1], None, [("a", NOT_COMPARED), ("b", MATCH)]), ([1, 0], None, [("a", NOT_COMPARED), ("b", MATCH)])]),
                ("l[0].a", WRONG),
                ("l[1].a", WRONG),
            ],
            id="items-aligned-by-other-indexes",
        ),
        pytest.param(
            {"l": [{"a": 2, "b": 6}, {"a": 2, "b": 5}]},
            {"scope": "configured", "fields": INDEXED},
            [("l", None, [([0, 0], None, [("a", WRONG), ("b", NOT_COMPARED)]), ([1, 1], None, [("a", MATCH), ("b", NOT_COMPARED)])])],
            id="items-that-were-not-aligned",
        ),
        pytest.param(
            {"l": [{"a": 1, "b": 5}]},
            {"scope": "configured", "fields": INDEXED},
            [("l", None, [([0, 0], None, [("a", MATCH), ("b", NOT_COMPARED)]), ([1, None], None, [("a", MISSING), ("b", NOT_COMPARED)])])],
            id="item-that-the-prediction-lacks",
        ),
    ],
)  # fmt: skip
def test_a_field_with_an_index_is_shown_with_the_values_at_that_index(
    nodes_of, candidate, rules, expected
):
    nodes = nodes_of(BOTH, candidate, rules=rules)
    assert marks(without_similarity(nodes)) == expected
    values = {node[0]: node[2:4] for node in nodes}
    if "l[0].a" in values:
        assert (values["l[0].a"], values["l[1].a"]) == ([1, 2], [2, 1])


def test_a_number_can_be_a_key(nodes_of):
    (node,) = nodes_of({"a": {"0": {"x": 1}}}, {"a": {"0": {"x": 2}}})
    assert marks([node]) == [("a", None, [("0", None, [("x", WRONG)])])]


def without_similarity(nodes):
    """Return all nodes without the similarity of aligned items."""
    return [
        [
            node[0][:2] if isinstance(node[0], list) else node[0],
            *(without_similarity(item) if isinstance(item, list) else item for item in node[1:]),
        ]
        for node in nodes
    ]


def test_a_list_compared_as_a_whole_is_one_field(nodes_of):
    (node,) = nodes_of({"a": [1, 2]}, {"a": [1, 3]}, align="whole")
    assert node[:4] == ["a", WRONG, {"j": "[1, 2]"}, {"j": "[1, 3]"}]


def test_without_values_nodes_have_paths(tmp_path):
    case = stored_case(tmp_path, {"a": [{"b": "secret"}]}, {"a": []}, values=False)
    [node] = case_tree(case).nodes
    assert node.to_row() == ["a[0].b", MISSING, HIDDEN, HIDDEN, {"a": "a[].b"}]
