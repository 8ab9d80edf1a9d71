"""Limits on the size of an alignment, and its running time."""

from __future__ import annotations

import random
import sys
from time import thread_time

import pytest

from fieldmark.align import alignment_options as limits
from fieldmark.align import item_similarity, leaves, similarity_alignment
from fieldmark.align.exact_methods import SetAlign
from fieldmark.align.greedy import Greedy
from fieldmark.align.optimal import Optimal
from fieldmark.model.outcome import Reason
from proving import PROVING


def timed(aligner, lists):
    """Return the number of pairs, and the CPU time of this thread, which ignores other programs.

    It depends on the machine, so tests compare it with the time of other lists of the same size.
    """
    start = thread_time()
    found = aligner.align(*lists)
    return len(found.pairs), thread_time() - start


def unequal_lists(count, other):
    """Return two lists without equal items."""
    return [f"a{n}" for n in range(count)], [f"b{n}" for n in range(other)]


@pytest.mark.parametrize(
    ("expected", "candidate", "allowed"),
    [
        pytest.param(2_000, 2_000, True, id="at-limit"),
        pytest.param(2_001, 2_000, False, id="extra-expected-item"),
        pytest.param(2_000, 2_001, False, id="extra-candidate-item"),
        pytest.param(400_000, 10, True, id="long-list-against-short-one"),
        pytest.param(4_000_000, 1, True, id="all-pairs-with-one-item"),
        pytest.param(4_000_001, 1, False, id="one-pair-too-many"),
        pytest.param(400_001, 10, False, id="short-list-does-not-make-up-for-any-length"),
        pytest.param(100_000, 0, True, id="nothing-to-compare-with"),
        pytest.param(0, 100_000, True, id="nothing-to-compare"),
    ],
)
def test_pair_limit(expected, candidate, allowed):
    assert limits.within(expected, candidate) is allowed


@pytest.mark.parametrize("aligner", [Greedy(), Optimal(), Optimal(on_limit="greedy")])
def test_too_many_unequal_items_fail_immediately(aligner):
    expected, candidate = unequal_lists(100_000, 100_000)
    found = aligner.align(expected, candidate)
    assert found.failed is Reason.TOO_MANY_ITEMS
    assert "100,000 x 100,000" in found.note
    assert not found.pairs
    assert (len(found.unmatched_expected), len(found.unmatched_candidate)) == (100_000, 100_000)


def test_limit_counts_only_unequal_items():
    expected = [{"n": n} for n in range(5_000)]
    found = Greedy().align(expected, [*expected[1:], {"n": -1}])
    assert (found.failed, len(found.pairs)) == (None, 4_999)


@pytest.mark.parametrize("method", [Greedy, Optimal])
def test_long_truth_is_aligned_with_a_truncated_prediction(method):
    expected = [{"name": f"item {n}", "n": n, "price": n / 4} for n in range(20_000)]
    candidate = [{**item, "price": -1} for item in expected[:7]]
    found = method().align(expected, candidate)
    assert [pair[:2] for pair in found.pairs] == [(n, n) for n in range(7)]
    assert (found.failed, len(found.unmatched_expected)) == (None, 19_993)


def test_optimal_falls_back_to_greedy_above_the_limit(monkeypatch):
    monkeypatch.setattr(limits, "MAX_PAIRS", 14)
    expected, candidate = unequal_lists(5, 3)
    refused = Optimal().align(expected, candidate)
    found = Optimal(on_limit="greedy").align(expected, candidate)
    assert (refused.failed, refused.fallback) == (Reason.TOO_MANY_ITEMS, False)
    assert (found.failed, found.fallback) == (None, True)
    assert "5 x 3" in found.note
    assert len(found.pairs) == 3


def test_no_fallback_within_the_limit():
    assert not Optimal(on_limit="greedy").align(["abc"], ["abd"]).fallback


@pytest.mark.parametrize(
    ("module", "limit", "aligner"),
    [
        pytest.param(
            item_similarity, "MAX_CHARACTER_PAIRS", Greedy(), id="characters-under-greedy"
        ),
        pytest.param(
            item_similarity, "MAX_CHARACTER_PAIRS", Optimal(), id="characters-under-optimal"
        ),
        pytest.param(item_similarity, "MAX_PAIRS", Greedy(threshold=0), id="pairs-above-threshold"),
        pytest.param(item_similarity, "MAX_AGREEMENTS", Greedy(threshold=0), id="ties"),
    ],
)
def test_too_large_items_fail(monkeypatch, module, limit, aligner):
    monkeypatch.setattr(similarity_alignment, "SMALL_CHARACTER_PAIRS", 0)
    expected, candidate = ["aa", "ab"], ["ac", "ad"]
    assert aligner.align(expected, candidate).failed is None
    monkeypatch.setattr(module, limit, 1)
    assert aligner.align(expected, candidate).failed is Reason.TOO_MANY_ITEMS


def test_limit_of_ties_counts_only_leaves_of_both_lists(monkeypatch):
    monkeypatch.setattr(similarity_alignment, "SMALL_CHARACTER_PAIRS", 0)
    monkeypatch.setattr(item_similarity, "MAX_AGREEMENTS", 4)
    expected = [{"name": "aa", "page": 1}, {"name": "ab", "row": 2}]
    candidate = [{"name": "ac", "note": 3}, {"name": "ad", "source": 4}]
    found = Greedy(match_fields=("name",), threshold=0).align(expected, candidate)
    assert (found.failed, len(found.pairs)) == (None, 2)


@pytest.mark.parametrize("match", [None, ("page",)], ids=["similarity", "ties"])
def test_limit_of_equal_leaves_of_nested_lists(monkeypatch, match):
    monkeypatch.setattr(similarity_alignment, "SMALL_CHARACTER_PAIRS", 0)
    expected = [{"page": 1, "rows": [1, 1, 2]}, {"page": 1, "rows": [1, 3]}]
    candidate = [{"page": 1, "rows": [1, 1, 4]}, {"page": 1, "rows": [1, 3, 5]}]
    aligner = Greedy(match_fields=match, threshold=0)
    monkeypatch.setattr(item_similarity, "MAX_SHARED_LEAVES", 2 + 1 + 1 + 2)
    assert len(aligner.align(expected, candidate).pairs) == 2
    monkeypatch.setattr(item_similarity, "MAX_SHARED_LEAVES", 2 + 1 + 1 + 2 - 1)
    assert aligner.align(expected, candidate).failed is Reason.TOO_MANY_ITEMS


@pytest.mark.parametrize("method", [Greedy, Optimal])
@pytest.mark.parametrize("count", [10, 100, 1_000])
def test_work_of_nested_lists_grows_with_their_leaves(monkeypatch, method, count):
    """Each list is read once, and equal leaves are counted once, whatever the number of pairs."""
    read: list[int] = []
    monkeypatch.setattr(
        leaves, "_leaf_set", lambda value, *_: read.append(1) or frozenset(enumerate(value))
    )
    # Every item shares one row with its counterpart, and one with all others.
    expected = [{"page": n, "rows": [0, n, -1, -2]} for n in range(1, count + 1)]
    candidate = [{"page": n, "rows": [0, n, -3, -4]} for n in range(1, count + 1)]
    monkeypatch.setattr(item_similarity, "MAX_SHARED_LEAVES", count * count + count)
    found = method().align(expected, candidate)
    assert [pair[:2] for pair in found.pairs] == [(n, n) for n in range(count)]
    assert len(read) == 2 * count


def test_fallback_above_its_own_limit_fails(monkeypatch):
    monkeypatch.setattr(limits, "MAX_PAIRS", 13)
    monkeypatch.setattr(similarity_alignment, "FALLBACK_PAIRS", 14)
    found = Optimal(on_limit="greedy").align(*unequal_lists(5, 3))
    assert (found.failed, found.fallback) == (Reason.TOO_MANY_ITEMS, False)


def test_too_long_strings_fail_immediately():
    chance = random.Random(3)
    expected, candidate = (
        ["".join(chance.choices("abc", k=9_000)) for _ in range(60)] for _ in range(2)
    )
    assert Greedy().align(expected, candidate).failed is Reason.TOO_MANY_ITEMS


@pytest.mark.parametrize("method", [Greedy, Optimal])
def test_lists_of_similar_items_are_aligned_quickly(method):
    aligner, chance = method(threshold=0), random.Random(4)
    similar = ["a" * n for n in range(1, 300)], ["b" + "a" * n for n in range(1, 300)]
    others = [
        ["".join(chance.choices("abcdefgh", k=len(text))) for text in side] for side in similar
    ]
    _, usual = timed(aligner, others)
    pairs, seconds = timed(aligner, similar)
    assert pairs == 299
    assert seconds < 20 * usual


@pytest.mark.slow
@pytest.mark.parametrize("method", [Greedy, Optimal])
def test_worst_case_within_the_limits_is_bounded(method):
    aligner = method(threshold=0)
    number = 2_000 if PROVING else 800
    worst = (
        [{"n": n, "t": "a" * (n % 97)} for n in range(number)],
        [{"n": -n - 1, "t": "b" + "a" * (n % 89)} for n in range(number)],
    )
    others = (
        [{"n": n, "t": f"{n:040}"} for n in range(number)],
        [{"n": -n - 1, "t": f"x {7 * n:040}"} for n in range(number)],
    )
    _, usual = timed(aligner, others)
    pairs, seconds = timed(aligner, worst)
    assert pairs == number
    assert seconds < 20 * usual


def test_integers_chosen_to_collide_do_not_slow_a_set_down():
    colliding, others = (
        [n * step for n in range(1, 50_000)] for step in (sys.hash_info.modulus, 2**61 + 1)
    )
    assert len({*map(hash, colliding)}) == 1
    _, usual = timed(SetAlign(), (others, others[::-1]))
    for candidate, equal in (
        (colliding[::-1], len(colliding)),
        ([float(n) + 0.5 for n in range(50_000)], 0),
    ):
        pairs, seconds = timed(SetAlign(), (colliding, candidate))
        assert pairs == equal
        assert seconds < 5 * usual
