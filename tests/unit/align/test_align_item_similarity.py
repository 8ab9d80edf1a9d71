"""The similarity of two items, used by greedy and optimal alignment."""

from __future__ import annotations

import pytest

from fieldmark.align import item_similarity, leaves
from fieldmark.align.alignment_options import MAX_TEXT

LONG = "x" * MAX_TEXT


def similarity(expected, candidate, match_fields=None, threshold=0.8):
    left, right = [leaves.leaves_of(item, match_fields) for item in (expected, candidate)]
    one_sided = None if match_fields is None else threshold
    few = item_similarity.edges_of_few([left], [right], -1, 4, one_sided=one_sided)
    many = item_similarity.edges_of_many([left], [right], -1, one_sided)
    assert [weight for weight, _, _ in few] == many.weights.tolist()
    return few[0][0] / item_similarity.WEIGHT_UNIT


@pytest.mark.parametrize(
    ("expected", "candidate", "similar"),
    [
        pytest.param(
            "kitten", "mitten", 0.833333333333, id="strings-by-edit-distance-over-longer-length"
        ),
        pytest.param(" Blue ", "BLUE", 1, id="strings-are-trimmed-and-folded"),
        pytest.param("abcde", "abcdx", 0.8, id="exact-at-threshold"),
        pytest.param("2024-01-05", "2024-01-06", 0, id="two-dates-are-equal-or-not"),
        pytest.param(
            "2024-01-05T10:00", "2024-01-05T10:01", 0, id="two-dates-with-times-are-equal-or-not"
        ),
        pytest.param("2024-01-05", "2024-01-0S", 0.9, id="date-and-string-compared-as-strings"),
        pytest.param("2024-1", "2024-2", 0.833333333333, id="partial-date-is-a-string"),
        pytest.param(12, 13, 0, id="near-numbers-differ"),
        pytest.param(12, 12.0, 1, id="whole-float-is-its-integer"),
        pytest.param(1, True, 0, id="boolean-is-not-a-number"),
        pytest.param(12, "12", 0, id="string-is-not-a-number"),
        pytest.param(10**30, 10**30 + 1, 0, id="long-integers-are-exact"),
        pytest.param(10**16, 1e16, 1, id="large-floats-are-exact"),
        pytest.param(float("nan"), float("nan"), 0, id="nan-equals-nothing"),
        pytest.param([1, "a"], [1.0, "a"], 1, id="lists-are-equal"),
        pytest.param([1, "a"], [1, "b"], 0.5, id="lists-share-leaves"),
        pytest.param({"a": 1}, 1, 0, id="object-and-scalar"),
        pytest.param({}, {}, 0, id="nothing-to-compare"),
        pytest.param(None, None, 0, id="two-nulls"),
        pytest.param(LONG + "a", LONG + "b", 0, id="above-length-limit-compared-by-equality"),
        pytest.param(LONG + "a", LONG + "A ", 1, id="above-length-limit-equal-after-folding"),
        pytest.param(LONG, LONG[1:] + "y", 0.9999, id="at-length-limit-distance-still-counts"),
        pytest.param(LONG + "a", LONG, 0, id="one-string-above-limit"),
    ],
)
def test_similarity_of_scalar_items(expected, candidate, similar):
    assert similarity(expected, candidate) == similar
    assert similarity(expected, candidate, ("name",)) == similar


@pytest.mark.parametrize(
    ("expected", "candidate", "similar"),
    [
        pytest.param({"a": "x", "n": 1}, {"a": "x", "n": 2}, 0.5, id="mean-over-leaves"),
        pytest.param({"a": "x", "b": 1}, {"a": "x"}, 0.5, id="missing-on-one-side-counts-0"),
        pytest.param(
            {"a": "x", "b": 1}, {"a": "x", "b": None}, 0.5, id="null-on-one-side-counts-0"
        ),
        pytest.param(
            {"a": "x", "b": 1}, {"a": "x", "b": " "}, 0.5, id="blank-on-one-side-counts-0"
        ),
        pytest.param(
            {"a": "x", "b": None}, {"a": "x", "b": ""}, 1, id="empty-on-both-sides-is-left-out"
        ),
        pytest.param({"a": "x"}, {"b": "x"}, 0, id="leaves-compared-by-path"),
        pytest.param(
            {"a": {"b": "x", "c": 1}},
            {"a": {"b": "x", "c": 2}},
            0.5,
            id="nested-objects-are-walked",
        ),
        pytest.param({"a": {"b": 1}}, {"a.b": 1}, 0, id="nested-key-is-not-dotted-key"),
        pytest.param({"a": {"b": 1}}, {"a": 1}, 0, id="object-against-scalar-is-two-leaves"),
        pytest.param({"a": [1], "b": 1}, {"a": [2], "b": 1}, 0.5, id="nested-list-is-one-leaf"),
        pytest.param({"a": [1, 2]}, {"a": [2, 1]}, 1, id="order-of-a-nested-list-does-not-matter"),
        pytest.param({"a": [1, 1, 2]}, {"a": [1, 2, 2]}, 2 / 3, id="repeated-leaf-is-used-once"),
        pytest.param({"a": [1]}, {"a": [1, 2, 3, 4]}, 0.25, id="share-of-the-longer-list"),
        pytest.param({"a": [1, 2]}, {"a": [" X ", 2]}, 0.5, id="leaf-of-another-type-differs"),
        pytest.param({"a": ["Blue "]}, {"a": ["blue"]}, 1, id="leaves-of-lists-are-folded"),
        pytest.param(
            {"a": ["kitten"]}, {"a": ["mitten"]}, 0, id="leaves-of-lists-are-equal-or-not"
        ),
        pytest.param(
            {"a": [{"x": 1}, {"y": 2}]},
            {"a": [{"x": 2}, {"y": 1}]},
            0,
            id="leaves-of-lists-have-paths",
        ),
        pytest.param({"a": [[1], [2]]}, {"a": [1, 2]}, 0, id="depth-of-a-leaf-matters"),
        pytest.param({"a": [[1, 2], [3, 4]]}, {"a": [[1, 2], [3, 5]]}, 0.75, id="list-of-lists"),
        pytest.param(
            {"a": [{"b": [{"c": [1, 2]}, {"c": [3, 4]}]}]},
            {"a": [{"b": [{"c": [1, 2]}, {"c": [3]}]}]},
            0.75,
            id="lists-three-levels-deep",
        ),
        pytest.param({"a": [None, 1]}, {"a": [1]}, 0.5, id="empty-item-of-a-list-is-a-leaf"),
        pytest.param({"a": [], "b": 1}, {"a": [1], "b": 1}, 0.5, id="empty-list-has-no-leaf"),
        pytest.param(
            {"a": [{"x": None}]}, {"a": [{"x": " "}]}, 0, id="list-without-leaves-is-equal-or-not"
        ),
        pytest.param({"a": [1], "b": 1}, {"a": 1, "b": 1}, 0.5, id="list-and-scalar"),
        pytest.param(
            {"page": 1, "lines": list(range(40))},
            {"page": 2, "lines": [*range(39), -1]},
            5 * 39 / 40 / 6,
            id="page-number-does-not-outweigh-a-long-list",
        ),
        pytest.param(
            {"id": "a", "values": list(range(40))},
            {"id": "a", "values": [*range(10), *range(100, 130)]},
            (1 + 10 / 40) / 2,
            id="long-list-does-not-outweigh-an-identifier",
        ),
        pytest.param(
            {"a": 1, "x": [1, 2], "y": [3] * 8},
            {"a": 2, "x": [1, 2], "y": [3] * 7},
            (1 + 3 * 7 / 8) / 5,
            id="two-lists-count-by-their-lengths",
        ),
        pytest.param(
            {"a": 1, "b": 2, "x": [1] * 16}, {"a": 1, "b": 3}, 1 / 3, id="lost-list-is-one-leaf"
        ),
        pytest.param({"a": {}, "b": 1}, {"a": {}, "b": 2}, 0.5, id="empty-object-is-leaf"),
        pytest.param({"a": False}, {"a": 0}, 0, id="false-is-not-zero"),
        pytest.param({"a": "1"}, {"a": 1}, 0, id="one-leaf-of-two-types"),
    ],
)
def test_similarity_over_all_leaves(expected, candidate, similar):
    assert similarity(expected, candidate) == pytest.approx(similar, abs=1e-12)
    assert similarity(candidate, expected) == similarity(expected, candidate)


@pytest.mark.parametrize(
    ("expected", "candidate", "fields", "similar"),
    [
        pytest.param(
            {"d": "abcd", "n": 1}, {"d": "abcd", "n": 9}, ("d",), 1, id="other-fields-do-not-matter"
        ),
        pytest.param(
            {"d": "abcd", "n": 1},
            {"d": "abcx", "n": 1},
            ("d", "n"),
            0.875,
            id="mean-over-match-fields",
        ),
        pytest.param(
            {"d": "abcd"},
            {"d": "abcd", "n": 1},
            ("d", "n"),
            0.9,
            id="missing-on-one-side-counts-as-the-threshold",
        ),
        pytest.param(
            {"d": "abcx", "n": None},
            {"d": "abcd", "n": 1},
            ("d", "n"),
            (0.75 + 0.8) / 2,
            id="below-the-threshold-if-the-rest-is",
        ),
        pytest.param(
            {"d": "abcd", "n": 1, "m": 2},
            {"d": "abcd", "n": 1},
            ("d", "n", "m"),
            2.8 / 3,
            id="one-of-three-is-missing",
        ),
        pytest.param(
            {"d": "abcd", "n": 1, "m": 2},
            {"d": "abcd"},
            ("d", "n", "m"),
            0,
            id="less-than-half-on-both-sides-is-0",
        ),
        pytest.param(
            {"d": "abcd", "n": 1},
            {"d": "abcd", "m": 2},
            ("d", "n", "m"),
            0,
            id="each-item-lacks-another-field",
        ),
        pytest.param(
            {"d": "abcd", "n": 1},
            {"d": "abcd", "m": 2, "n": 1},
            ("d", "n", "m", "k"),
            2.8 / 3,
            id="half-of-the-fields-that-either-item-has",
        ),
        pytest.param(
            {"d": "abcd"},
            {"d": "abcd", "n": ""},
            ("d", "n"),
            1,
            id="missing-on-both-sides-is-left-out",
        ),
        pytest.param({"n": 1}, {"n": 1}, ("d",), 0, id="no-match-field-left-is-0"),
        pytest.param({"v": {"d": "x"}}, {"v": {"d": "x"}}, ("v.d",), 1, id="match-field-is-path"),
        pytest.param(
            {"v.d": "x"},
            {"v": {"d": "x"}},
            ("v.d",),
            1,
            id="literal-key-wins-over-its-dotted-reading",
        ),
        pytest.param(
            {"v": {"d": "x", "e": 1}},
            {"v": {"d": "x", "e": 2}},
            ("v",),
            0.5,
            id="object-counts-by-its-equal-leaves",
        ),
        pytest.param(
            {"d": "x", "l": [1, 2, 3, 4]},
            {"d": "x", "l": [1, 2, 3, 5]},
            ("d", "l"),
            0.875,
            id="list-is-one-of-the-match-fields",
        ),
        pytest.param({"d": "x"}, "x", ("d",), 0, id="object-and-scalar"),
    ],
)
def test_similarity_over_match_fields(expected, candidate, fields, similar):
    assert similarity(expected, candidate, fields) == pytest.approx(similar, abs=1e-12)


def test_key_order_does_not_change_weights():
    texts = {
        "a": ("abc", "abd"),
        "b": ("abcdefg", "abcdefx"),
        "c": ("hello world", "hallo wurld"),
        "d": ("q", "qr"),
    }
    forwards = [{key: pair[side] for key, pair in texts.items()} for side in (0, 1)]
    backwards = [dict(reversed(item.items())) for item in forwards]
    assert similarity(*forwards) == similarity(*backwards) == similarity(forwards[0], backwards[1])


def test_block_size_does_not_change_the_result(monkeypatch):
    cells = [leaves.leaves_of({"a": f"item {n}", "n": n % 3}, None) for n in range(30)]
    others = [leaves.leaves_of({"a": f"itm {n}", "n": n % 4}, None) for n in range(20)]
    min_weight = item_similarity.min_weight_of(0.5)
    whole = item_similarity.edges_of_many(cells, others, min_weight)
    monkeypatch.setattr(item_similarity, "_BLOCK", 100)
    for one, other in zip(
        whole, item_similarity.edges_of_many(cells, others, min_weight), strict=True
    ):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize(
    ("most", "found"),
    [
        pytest.param(25, True, id="as-many-pairs-as-share-leaf"),
        pytest.param(24, False, id="one-pair-more-than-allowed"),
    ],
)
def test_loops_are_abandoned_if_too_many_pairs_share_a_leaf(most, found):
    cells = [{"n": n % 2, "m": n, "l": 0.5} for n in range(7)]
    others = [{"n": n % 2, "m": -n - 1, "l": 0.25} for n in range(7)]
    assert (
        item_similarity.edges_of_few(cells, others, item_similarity.min_weight_of(0.5), most)
        is not None
    ) is found
