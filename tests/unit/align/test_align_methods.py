"""Which items of two lists are paired, method by method."""

from __future__ import annotations

import pytest

from fieldmark.align import equal_items, similarity_alignment
from fieldmark.align.greedy import Greedy
from fieldmark.align.index import Index
from fieldmark.align.key import Key
from fieldmark.align.optimal import Optimal
from fieldmark.align.sets import SetAlign
from fieldmark.align.whole import Whole
from fieldmark.errors import OptionError


@pytest.fixture(params=["plain-loops", "arrays"])
def both_ways(request, monkeypatch):
    if request.param == "arrays":
        monkeypatch.setattr(similarity_alignment, "SMALL_PAIRS", 0)
        monkeypatch.setattr(equal_items, "SMALL_PAIRS", 0)


def places(alignment):
    return [pair[:2] for pair in alignment.pairs]


NAN = float("nan")


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    ("expected", "candidate", "pairs"),
    [
        pytest.param([1, 2], [2, 1], [(0, 1), (1, 0)], id="equal-items-anywhere"),
        pytest.param(
            [{"a": 1, "b": 2}], [{"b": 2, "a": 1}], [(0, 0)], id="the-order-of-keys-is-free"
        ),
        pytest.param([[1, 2]], [[2, 1]], [], id="the-order-of-nested-items-is-not"),
        pytest.param(
            ["a", "a", "b"],
            ["b", "a", "a"],
            [(0, 1), (1, 2), (2, 0)],
            id="duplicates-in-the-order-of-places",
        ),
        pytest.param(["a", "a"], ["a"], [(0, 0)], id="each-item-is-used-once"),
        pytest.param(
            [1, 1.0], [1.0, 1], [(0, 1), (1, 0)], id="the-same-text-before-the-same-value"
        ),
        pytest.param([{"a": 3}], [{"a": 3.0}], [(0, 0)], id="3-equals-3.0"),
        pytest.param([{"a": 0}], [{"a": -0.0}], [(0, 0)], id="zero-has-no-sign"),
        pytest.param([{"a": 10**16}], [{"a": 1e16}], [(0, 0)], id="numbers-with-an-exponent"),
        pytest.param(
            [{"a": 2**70}], [{"a": 2.0**70}], [(0, 0)], id="numbers-beyond-the-fast-writer"
        ),
        pytest.param([{"a": True}], [{"a": 1}], [], id="a-boolean-is-no-number"),
        pytest.param([{"a": None}], [{"a": NAN}], [], id="nan-is-not-null"),
        pytest.param([{"a": NAN}], [{"a": NAN}], [], id="nan-equals-nothing-not-even-itself"),
        pytest.param(
            [{"a": float("inf")}],
            [{"a": None}, {"a": float("inf")}],
            [(0, 1)],
            id="infinity-is-not-null",
        ),
        pytest.param(
            [{"a": NAN, "b": "\ud800"}],
            [{"a": NAN, "b": "\ud800"}],
            [],
            id="nan-beside-a-text-beyond-the-fast-writer",
        ),
        pytest.param([{"a": None}], [{}, {"a": None}], [(0, 1)], id="null-is-not-missing"),
        pytest.param([1, "a", None], [1, "a", None], [(0, 0), (1, 1), (2, 2)], id="the-same-list"),
        pytest.param(["\ud800"], ["\ud800"], [(0, 0)], id="a-lone-surrogate-equals-itself"),
        pytest.param(
            [{"a": "},{"}, {"b": 1}],
            [{"b": 1}, {"a": "},{"}],
            [(0, 1), (1, 0)],
            id="texts-that-look-like-a-cut",
        ),
        pytest.param(
            ['x",', "y"], ["y", 'x",'], [(0, 1), (1, 0)], id="quotes-that-look-like-a-cut"
        ),
        pytest.param(["x\\", ',"y'], ['x",', "y"], [], id="quotes-that-look-like-another-text"),
        pytest.param([{}, {}], [{}], [(0, 0)], id="empty-objects-are-equal"),
        pytest.param([], [], [], id="two-empty-lists"),
        pytest.param([], [1], [], id="an-empty-list"),
    ],
)
def test_set_pairs_deeply_equal_items_only(expected, candidate, pairs):
    found = SetAlign().align(expected, candidate)
    assert places(found) == pairs
    assert all(pair[2:] == (1, True) for pair in found.pairs)


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("method", [Greedy, Optimal])
@pytest.mark.parametrize(
    ("expected", "candidate", "options", "pairs"),
    [
        pytest.param(["abcde"], ["abcdx"], {"threshold": 0.8}, [(0, 0)], id="at-the-threshold"),
        pytest.param(
            ["abcdefghij"],
            ["abcdefgxyz"],
            {"threshold": 0.7},
            [(0, 0)],
            id="at-a-threshold-that-floats-miss",
        ),
        pytest.param(["abcde"], ["abcdx"], {"threshold": 0.81}, [], id="below-the-threshold"),
        pytest.param(
            ["abcde"], ["abxyz"], {}, [], id="0.4-is-below-the-default-without-match-fields"
        ),
        pytest.param(
            ["abcd"], ["abxy"], {}, [(0, 0)], id="0.5-is-the-default-without-match-fields"
        ),
        pytest.param(
            [{"d": "abcd"}],
            [{"d": "abcx"}],
            {"match_fields": ("d",)},
            [],
            id="0.75-is-below-the-default-with-match-fields",
        ),
        pytest.param(
            [{"d": "abcde"}],
            [{"d": "abcdx"}],
            {"match_fields": ("d",)},
            [(0, 0)],
            id="0.8-is-the-default-with-match-fields",
        ),
        pytest.param(
            ["a", 1], [{"b": 1}], {"threshold": 0}, [(0, 0)], id="at-threshold-0-everything-pairs"
        ),
        pytest.param(
            ["aaaa", "aaab"], ["aaab", "aabb"], {}, [(0, 1), (1, 0)], id="equal-items-first"
        ),
        pytest.param(
            # Canonical order alone would pair the first with the first.
            [{"a": 8, "d": "x", "n": 1}, {"a": 9, "d": "x", "n": 2}],
            [{"a": 1, "d": "x", "n": 2}, {"a": 2, "d": "x", "n": 1}],
            {"match_fields": ("d",)},
            [(0, 1), (1, 0)],
            id="ties-by-the-number-of-equal-leaves",
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
def test_methods_by_similarity(method, expected, candidate, options, pairs):
    assert places(method(**options).align(expected, candidate)) == pairs


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    ("method", "pairs"),
    [
        pytest.param(Greedy, [(1, 1)], id="greedy-takes-the-best-pair-and-loses-the-other"),
        pytest.param(Optimal, [(0, 1), (1, 0)], id="optimal-takes-the-best-total"),
    ],
)
def test_greedy_and_optimal_differ_where_the_best_pair_blocks_two(method, pairs):
    expected, candidate = ["abbaa", "abaab"], ["aaaba", "abaaa"]
    assert places(method(threshold=0.6).align(expected, candidate)) == pairs


def test_pairs_come_in_the_order_of_the_expected_list_and_the_rest_by_place():
    found = Greedy().align(["blue", "q", "red", "w"], ["red", "zzz", "bleu", "yyy"])
    assert found.pairs == [(0, 2, 0.5, False), (2, 0, 1.0, True)]
    assert (found.unmatched_expected, found.unmatched_candidate) == ([1, 3], [1, 3])


def test_index_pairs_by_place_and_leaves_the_longer_end_alone():
    found = Index().align([1, "a", 3], [1.0, "b"])
    assert found.pairs == [(0, 0, 1.0, True), (1, 1, 1.0, False)]
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
            id="an-empty-field-equals-an-empty-field",
        ),
        pytest.param([{"v": 1}], [{"v": 2}], [], id="an-item-without-a-key-stays-alone"),
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
        pytest.param([7, "a"], ["a", 8], [(1, 0)], id="a-scalar-is-its-own-key"),
    ],
)
def test_key_pairs_items_whose_key_fields_are_all_equal(expected, candidate, pairs):
    assert places(Key(key=("k", "l")).align(expected, candidate)) == pairs


def test_whole_pairs_nothing():
    found = Whole().align([1], [1, 2])
    assert (len(found.pairs), len(found.unmatched_expected), len(found.unmatched_candidate)) == (
        0,
        1,
        2,
    )


@pytest.mark.parametrize(
    ("make", "option"),
    [
        pytest.param(lambda: Greedy(match_fields=()), "match_fields", id="no-match-field"),
        pytest.param(
            lambda: Optimal(match_fields=()), "match_fields", id="no-match-field-for-optimal"
        ),
        pytest.param(lambda: Greedy(match_fields=("a", "")), "match_fields", id="an-empty-path"),
        pytest.param(lambda: Greedy(match_fields=("a", "a")), "match_fields", id="a-field-twice"),
        pytest.param(lambda: Key(key=()), "key", id="no-key-field"),
        pytest.param(lambda: Greedy(threshold=1.01), "threshold", id="a-threshold-above-1"),
        pytest.param(lambda: Optimal(threshold=-0.01), "threshold", id="a-threshold-below-0"),
        pytest.param(
            lambda: Greedy(threshold=NAN), "threshold", id="a-threshold-that-is-no-number"
        ),
        pytest.param(lambda: Optimal(on_limit="wait"), "on_limit", id="an-unknown-way-out"),
    ],
)
def test_bad_options_are_refused_by_name(make, option):
    with pytest.raises(OptionError) as error:
        make()
    assert error.value.option == option


@pytest.mark.parametrize(
    ("aligner", "name"),
    [
        (Index(), "index"),
        (Greedy(), "greedy"),
        (Optimal(), "optimal"),
        (Key(key=("k",)), "key"),
        (SetAlign(), "set"),
        (Whole(), "whole"),
    ],
)
def test_names_are_those_that_files_use(aligner, name):
    assert aligner.name == name
