"""Alignment that keeps the order of both lists, against every alignment without crossing pairs."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldmark as fm
from fieldmark.align.alignment_options import MAX_PAIRS
from fieldmark.align.sequence import Sequence, is_series, method_for
from fieldmark.model.outcome import Reason


def aligned(expected, candidate, rules=None):
    return [pair[:2] for pair in Sequence().align(expected, candidate, rules).pairs]


def test_equal_items_have_a_similarity_of_1():
    alignment = Sequence().align([1, [5, 5], 3], [1, [5, 6], 3])
    assert alignment.pairs == [(0, 0, 1.0), (1, 1, 0.5), (2, 2, 1.0)]


@pytest.mark.parametrize(
    ("expected", "candidate", "pairs"),
    [
        pytest.param([1, 2, 3], [1, 2, 3], [(0, 0), (1, 1), (2, 2)], id="equal-lists"),
        pytest.param([1, 2, 3], [1, 3], [(0, 0), (2, 1)], id="lost-value-costs-one-field"),
        pytest.param([1, 3], [1, 2, 3], [(0, 0), (1, 2)], id="added-value-costs-one-field"),
        pytest.param([1, 2, 3], [1, 9, 3], [(0, 0), (1, 1), (2, 2)], id="changed-value-keeps-its-place"),
        pytest.param([1, 2], [2, 1], [(1, 0)], id="exchanged-pair-is-a-mistake"),
        pytest.param([1.0, None], [1, None], [(0, 0), (1, 1)], id="equal-by-value"),
        pytest.param([[0, 0], [5, 5]], [[5, 5]], [(1, 0)], id="nested-list-that-is-equal"),
        pytest.param([[0, 0], [5, 5]], [[0, 1]], [(0, 0)], id="nested-list-that-is-half-equal"),
        pytest.param([[1, 2], [1, 2]], [[1, 2], [9, 9]], [(0, 0), (1, 1)], id="repeated-items"),
        pytest.param([1, 2], [], [], id="nothing-to-pair"),
    ],
)  # fmt: skip
def test_order_is_kept(expected, candidate, pairs):
    assert aligned(expected, candidate) == pairs


@pytest.mark.parametrize(
    ("items", "series"),
    [
        pytest.param([1, 2.5, None], True, id="numbers"),
        pytest.param(["2024-01-01", "2024-12-31T10:00"], True, id="iso-dates"),
        pytest.param([[1, 2], []], True, id="lists"),
        pytest.param([1, "2024-01-01"], False, id="mixed"),
        pytest.param(["2024-01-01", "May"], False, id="a-text-that-is-no-date"),
        pytest.param(["2024-01-01x"], False, id="text-that-starts-as-a-date"),
        pytest.param([True, False], False, id="booleans"),
        pytest.param([{"a": 1}], False, id="objects"),
        pytest.param([None], False, id="only-null"),
        pytest.param([], False, id="empty"),
    ],
)
def test_series_are_numbers_dates_or_lists(items, series):
    assert is_series(items) is series
    assert method_for(items).name == ("sequence" if series else "greedy")
    # The kernel decides in the same way: in reverse, only a series has mistakes.
    pair = {"l": [*items, 1, 2]}, {"l": [2, 1, *items]}
    assert (fm.compare(*pair).score == 1.0) is not is_series(pair[0]["l"])


@pytest.mark.parametrize(
    ("expected", "candidate", "score"),
    [
        pytest.param({"bbox": [10, 20, 30, 40]}, {"bbox": [40, 30, 20, 10]}, 0.25, id="box"),
        pytest.param(
            {"d": ["2024-01-01", "2024-12-31"]},
            {"d": ["2024-12-31", "2024-01-01"]},
            0.5,
            id="period",
        ),
        pytest.param({"g": [[1, 2], [3, 4]]}, {"g": [[3, 4], [1, 2]]}, 0.5, id="grid"),
        pytest.param({"b": [10, 20, 30]}, {"b": [10, 20, 30]}, 1.0, id="equal"),
        pytest.param({"t": ["b", "a"]}, {"t": ["a", "b"]}, 1.0, id="other-items-have-no-order"),
    ],
)
def test_documents_are_compared_in_order(expected, candidate, score):
    assert fm.compare(expected, candidate).score == score
    assert fm.compare(expected, candidate, rules={"**": {"align": "greedy"}}).score == 1.0


def test_rules_of_items_decide_what_is_equal():
    rules = {"x[*]": {"match": "numeric_tolerance", "tolerance": 1}}
    fields = fm.compare({"x": [10, 20, 30]}, {"x": [20.5, 30]}, rules=rules).fields
    assert [(field.path, field.outcome) for field in fields] == [
        ("x[1]", "match"),
        ("x[2]", "match"),
        ("x[0]", "omission"),
    ]


def test_too_many_pairs_are_refused():
    size = int(MAX_PAIRS**0.5) + 1
    alignment = Sequence().align([1] * size, [2] * size)
    assert alignment.failed is Reason.TOO_MANY_ITEMS
    assert Sequence().align([1] * size, [1] * size).failed is None


ITEMS = st.lists(st.sampled_from([1, 2, 3, [1, 2], [1, 3], [2]]), max_size=5)


def similarity(expected, candidate):
    if expected == candidate:
        return 1.0
    if isinstance(expected, list) and isinstance(candidate, list):
        same = sum(left == right for left, right in zip(expected, candidate, strict=False))
        return same / max(len(expected), len(candidate))
    return 0.0


@given(ITEMS, ITEMS)
def test_no_other_alignment_in_order_costs_less_or_has_more_equal_pairs(expected, candidate):
    def worth(pairs):
        shares = [similarity(expected[index], candidate[other]) for index, other in pairs]
        return round(len(shares) + sum(shares), 9), shares.count(1.0)

    every = (
        worth(list(zip(left, right, strict=True)))
        for size in range(min(len(expected), len(candidate)) + 1)
        for left in combinations(range(len(expected)), size)
        for right in combinations(range(len(candidate)), size)
    )
    pairs = aligned(expected, candidate)
    assert pairs == sorted(pairs)
    assert worth(pairs) == max(every)


@given(ITEMS, ITEMS)
def test_exchanging_the_lists_exchanges_the_pairs(expected, candidate):
    assert [pair[::-1] for pair in aligned(candidate, expected)] == aligned(expected, candidate)
