"""The alignments of each method."""

from __future__ import annotations

import pytest

from fieldmark.align import similarity_alignment
from fieldmark.align.exact_methods import Index, Key, SetAlign, Whole
from fieldmark.align.greedy import Greedy
from fieldmark.align.optimal import Optimal
from fieldmark.values.equality import equal


@pytest.fixture(params=["plain-loops", "arrays"])
def both_ways(request, monkeypatch):
    if request.param == "arrays":
        monkeypatch.setattr(similarity_alignment, "SMALL_PAIRS", 0)


def places(alignment):
    return [pair[:2] for pair in alignment.pairs]


NAN = float("nan")


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    ("expected", "candidate", "pairs"),
    [
        pytest.param([1, 2], [2, 1], [(0, 1), (1, 0)], id="equal-items-anywhere"),
        pytest.param([{"a": 1, "b": 2}], [{"b": 2, "a": 1}], [(0, 0)], id="order-of-keys-is-free"),
        pytest.param(
            ["a", "a", "b"],
            ["b", "a", "a"],
            [(0, 1), (1, 2), (2, 0)],
            id="duplicates-in-order-of-positions",
        ),
        pytest.param(["a", "a"], ["a"], [(0, 0)], id="each-item-is-used-once"),
        pytest.param([1, 1.0], [1.0, 1], [(0, 1), (1, 0)], id="same-text-before-same-value"),
        pytest.param([{"a": None}], [{"a": NAN}], [], id="nan-is-not-null"),
        pytest.param([{"a": NAN}], [{"a": NAN}], [], id="nan-equals-nothing-not-even-itself"),
        pytest.param(
            [{"a": NAN, "b": "\ud800"}],
            [{"a": NAN, "b": "\ud800"}],
            [],
            id="nan-with-large-number",
        ),
        pytest.param([1, "a", None], [1, "a", None], [(0, 0), (1, 1), (2, 2)], id="same-list"),
        pytest.param([{}, {}], [{}], [(0, 0)], id="empty-objects-are-equal"),
        pytest.param([], [], [], id="two-empty-lists"),
        pytest.param([], [1], [], id="empty-list"),
    ],
)
def test_set_aligns_only_deeply_equal_items(expected, candidate, pairs):
    found = SetAlign().align(expected, candidate)
    assert places(found) == pairs
    assert all(pair[2:] == (1,) for pair in found.pairs)


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("method", [Greedy, Optimal])
@pytest.mark.parametrize(
    ("expected", "candidate", "options", "pairs"),
    [
        pytest.param(["abcde"], ["abcdx"], {"threshold": 0.8}, [(0, 0)], id="at-threshold"),
        pytest.param(
            ["abcdefghij"],
            ["abcdefgxyz"],
            {"threshold": 0.7},
            [(0, 0)],
            id="at-threshold-with-float-error",
        ),
        pytest.param(["abcde"], ["abcdx"], {"threshold": 0.81}, [], id="below-threshold"),
        pytest.param(["abcde"], ["abxyz"], {}, [], id="0.4-is-below-default-without-match-fields"),
        pytest.param(["abcd"], ["abxy"], {}, [(0, 0)], id="0.5-is-default-without-match-fields"),
        pytest.param(
            [{"d": "abcd"}],
            [{"d": "abcx"}],
            {"match_fields": ("d",)},
            [],
            id="0.75-is-below-default-with-match-fields",
        ),
        pytest.param(
            [{"d": "abcde"}],
            [{"d": "abcdx"}],
            {"match_fields": ("d",)},
            [(0, 0)],
            id="0.8-is-default-with-match-fields",
        ),
        pytest.param(
            ["a", 1], [{"b": 1}], {"threshold": 0}, [(0, 0)], id="at-threshold-0-everything-pairs"
        ),
        pytest.param(
            [{"d": "x", "n": 2**53 + 1}],
            [{"d": "x", "n": 2**53}],
            {"threshold": 0.6},
            [],
            id="long-integers-are-exact",
        ),
        pytest.param(
            ["aaaa", "aaab"], ["aaab", "aabb"], {}, [(0, 1), (1, 0)], id="equal-items-first"
        ),
        pytest.param(
            # By canonical order alone, the first items would be aligned.
            [{"a": 8, "d": "x", "n": 1}, {"a": 9, "d": "x", "n": 2}],
            [{"a": 1, "d": "x", "n": 2}, {"a": 2, "d": "x", "n": 1}],
            {"match_fields": ("d",)},
            [(0, 1), (1, 0)],
            id="ties-by-number-of-equal-leaves",
        ),
        pytest.param(
            [{"a": 1, "d": "x", "n": 1}],
            [{"a": 2, "d": "x", "n": 2}, {"a": 3, "d": "x", "n": 1}],
            {"match_fields": ("d",)},
            [(0, 1)],
            id="ties-of-one-expected-item-by-number-of-equal-leaves",
        ),
        pytest.param(
            [{"a": 2, "d": "x", "n": 2}, {"a": 3, "d": "x", "n": 1}],
            [{"a": 1, "d": "x", "n": 1}],
            {"match_fields": ("d",)},
            [(1, 0)],
            id="ties-of-one-candidate-by-number-of-equal-leaves",
        ),
        pytest.param(
            [{"d": "x", "l": [1, 2, 3]}, {"d": "x", "l": [7, 8, 9]}],
            [{"d": "x", "l": [6, 8, 9]}, {"d": "x", "l": [1, 2, 4]}],
            {"match_fields": ("d",)},
            [(0, 1), (1, 0)],
            id="ties-by-number-of-equal-leaves-of-nested-lists",
        ),
        pytest.param(
            [{"l": [1, 2, 3, 4, 5, 6], "n": 1}, {"l": [1, 8, 9], "n": 2}],
            [{"l": [7, 8, 9, 10, 11, 12]}, {"l": [3, 2, 1, 13, 14, 15]}],
            {},
            [(0, 1)],
            id="nested-lists-with-half-of-their-leaves-in-common",
        ),
        pytest.param(
            [{"d": "steel bolt M8 x 40 mm, galvanized", "h": "7318"}],
            [
                {"d": "steel bolt M8 x 40 mm, galvanized"},
                {"d": "steel bolt M8 x 40 mm; galvanised", "h": "7318"},
            ],
            {"match_fields": ("d", "h")},
            [(0, 1)],
            id="nearly-equal-item-with-all-match-fields-comes-first",
        ),
        pytest.param(
            [{"d": "steel bolt M8", "h": "7318"}],
            [{"d": "steel bolt M8"}, {"d": "steel bolt M8", "h": "9403"}],
            {"match_fields": ("d", "h")},
            [(0, 0)],
            id="match-field-with-another-value-is-worse-than-none",
        ),
        pytest.param(
            [{"d": "steel bolt M8", "h": "7318"}],
            [{"d": "steel bolt M8", "n": 1}, {"d": "steel bolt M8", "h": "7318", "n": 2}],
            {"match_fields": ("d", "h"), "threshold": 1},
            [(0, 1)],
            id="all-match-fields-come-first-at-the-highest-threshold",
        ),
        pytest.param(
            [{"d": "bolt", "h": "7318", "k": 1}, {"d": "nut", "h": "7319", "k": 2}],
            [{"d": "nut"}, {"h": "7318"}, {"d": "nut", "k": 2}],
            {"match_fields": ("d", "h", "k")},
            [(1, 2)],
            id="half-of-the-match-fields-are-required",
        ),
        pytest.param(
            [{"d": "X", "n": 1}, {"d": "x", "n": 2}],
            [{"d": "x", "n": 8}, {"d": "X", "n": 9}],
            {"match_fields": ("d",)},
            [(0, 1), (1, 0)],
            id="agreement-is-strict-where-similarity-folds",
        ),
        pytest.param(
            [{"d": "x", "n": 2}, {"d": "x", "n": 1}],
            [{"d": "x", "n": 4}, {"d": "x", "n": 3}],
            {"match_fields": ("d",)},
            [(0, 0), (1, 1)],
            id="remaining-ties-in-canonical-order",
        ),
    ],
)
def test_similarity_methods(method, expected, candidate, options, pairs):
    assert places(method(**options).align(expected, candidate)) == pairs


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    ("method", "pairs"),
    [
        pytest.param(Greedy, [(1, 1)], id="greedy-takes-best-pair-first"),
        pytest.param(Optimal, [(0, 1), (1, 0)], id="optimal-takes-best-total"),
    ],
)
def test_greedy_and_optimal_differ_if_the_best_pair_blocks_two(method, pairs):
    expected, candidate = ["abbaa", "abaab"], ["aaaba", "abaaa"]
    assert places(method(threshold=0.6).align(expected, candidate)) == pairs


def test_pairs_are_in_the_order_of_the_expected_list():
    found = Greedy().align(["blue", "q", "red", "w"], ["red", "zzz", "bleu", "yyy"])
    assert found.pairs == [(0, 2, 0.5), (2, 0, 1.0)]
    assert (found.unmatched_expected, found.unmatched_candidate) == ([1, 3], [1, 3])


def test_index_aligns_by_position():
    found = Index().align([1, "a", 3], [1.0, "b"])
    assert found.pairs == [(0, 0, 1.0), (1, 1, 1.0)]
    assert (list(found.unmatched_expected), list(found.unmatched_candidate)) == ([2], [])


@pytest.mark.parametrize(
    ("expected", "candidate", "pairs"),
    [
        pytest.param([{"k": 1, "v": 1}], [{"k": 1.0, "v": 2}], [(0, 0)], id="equal-keys"),
        pytest.param([{"k": 1}], [{"k": True}], [], id="keys-are-typed"),
        pytest.param([{"k": "a", "v": 1}], [{"k": "A", "v": 1}], [], id="keys-are-not-folded"),
        pytest.param(
            [{"k": 1, "l": 1, "v": 1}], [{"k": 1, "l": 2, "v": 2}], [], id="all-key-fields-count"
        ),
        pytest.param(
            [{"k": 1, "l": None, "v": 1}],
            [{"k": 1, "l": " ", "v": 2}],
            [(0, 0)],
            id="empty-field-equals-empty-field",
        ),
        pytest.param([{"v": 1}], [{"v": 2}], [], id="item-without-key-stays-alone"),
        pytest.param([{"v": 1}], [{"v": 1}], [(0, 0)], id="equal-items-need-no-key"),
        pytest.param(
            [{"k": 1, "v": 2}, {"k": 1, "v": 1}],
            [{"k": 1, "v": 4}, {"k": 1, "v": 3}],
            [(0, 0), (1, 1)],
            id="one-key-twice-in-canonical-order",
        ),
        pytest.param(
            [{"k": 1, "v": 1}, {"k": 1, "v": 2}],
            [{"k": 1, "v": 2}, {"k": 1, "v": 3}],
            [(0, 1), (1, 0)],
            id="equal-items-first",
        ),
        pytest.param([7, "a"], ["a", 8], [(1, 0)], id="scalar-is-its-own-key"),
    ],
)
def test_key_aligns_items_with_equal_key_fields(expected, candidate, pairs):
    assert places(Key(key=("k", "l")).align(expected, candidate)) == pairs


def test_whole_aligns_nothing():
    found = Whole().align([1], [1, 2])
    assert (len(found.pairs), len(found.unmatched_expected), len(found.unmatched_candidate)) == (
        0,
        1,
        2,
    )


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("method", [Greedy, Optimal])
@pytest.mark.parametrize(
    ("expected", "candidate", "options", "similarities"),
    [
        pytest.param(
            [{"a": "x", "id": 1}, {"a": "y"}],
            [{"a": "x"}, {"a": "z"}],
            {},
            [1.0],
            id="key-only-in-the-expected-list",
        ),
        pytest.param(
            [{"a": "x"}],
            [{"a": "x", "note": "n", "page": 2}],
            {},
            [1.0],
            id="keys-only-in-candidates",
        ),
        pytest.param(
            [{"a": "x", "b": 1}, {"a": "y", "c": 5}],
            [{"a": "z", "c": 5}, {"a": "q", "b": 1}],
            {"threshold": 0.3},
            [0.5, 0.5],
            id="key-in-any-item-of-both-lists-counts",
        ),
        pytest.param(
            [{"a": "x", "b": 1}, {"a": "y"}],
            [{"a": "x"}, {"a": "y"}],
            {},
            [1.0],
            id="equal-pair-without-the-key-does-not-share-it",
        ),
        pytest.param(
            [{"a": "x", "b": 1}, {"a": "y", "b": 2}],
            [{"a": "x"}, {"a": "y", "b": 2}],
            {},
            [0.5],
            id="key-of-an-equal-pair-is-shared",
        ),
        pytest.param([{"a": 1}], [{"b": 1}], {"threshold": 0.1}, [], id="no-shared-key-is-0"),
        pytest.param(
            [{"a": "x", "b": None}], [{"a": "x", "b": 3}], {}, [1.0], id="key-that-is-always-empty"
        ),
        pytest.param(
            [{"sku": "A", "name": "bolt"}],
            [{"name": "bolt", "n": 1}],
            {"match_fields": ("sku", "name")},
            [1.0],
            id="match-field-that-one-list-never-has",
        ),
    ],
)
def test_keys_that_only_one_list_has_are_left_out(
    method, expected, candidate, options, similarities
):
    found = method(**options).align(expected, candidate).pairs
    unequal = [pair[2] for pair in found if not equal(expected[pair[0]], candidate[pair[1]])]
    assert unequal == pytest.approx(similarities)


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("method", [Greedy, Optimal])
@pytest.mark.parametrize(
    ("expected", "candidate", "similarity"),
    [
        pytest.param({"a": "blue", "b": 1}, {"a": "bleu", "b": 1}, 0.5, id="similar-strings-do-not-count"),
        pytest.param({"a": "Blue ", "b": 1}, {"a": "blue", "b": 2}, 0.5, id="strings-trimmed-and-folded"),
        pytest.param({"a": "x", "b": 1}, {"a": "x", "b": 1.0, "c": 9}, 1.0, id="all-equal"),
    ],
)  # fmt: skip
def test_similarity_equality_counts_equal_leaves(method, expected, candidate, similarity):
    for option in ("equality", {"type": "equality"}):
        found = method(similarity=option, threshold=0).align([expected], [candidate])
        assert found.pairs[0][2] == similarity
