"""Properties of alignment for any two lists."""

from __future__ import annotations

import random
from collections import Counter
from operator import itemgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldmark.align import item_similarity, leaves, similarity_alignment
from fieldmark.align.equal_items import pair_equal
from fieldmark.align.exact_methods import Index, Key, SetAlign
from fieldmark.align.greedy import Greedy
from fieldmark.align.optimal import Optimal
from fieldmark.values.equality import canonical_text, equal, typed_key
from reference import align_oracle as oracle

words = st.sampled_from(
    ["", " ", "blue", "Blue ", "bleu", "black", "2024-01-05", "2024-01-06", "ab", "abc"]
)
numbers = st.sampled_from([0, 1, 1.0, 2, 2.5, -0.0, 1e16, 10**16, 10**30])
scalars = st.one_of(words, numbers, st.booleans(), st.none())
values = st.one_of(
    scalars,
    st.lists(scalars, max_size=2),
    st.fixed_dictionaries({}, optional={"x": scalars, "y": scalars}),
)
objects = st.fixed_dictionaries({}, optional={"a": values, "b": values, "c": scalars})
flat = st.fixed_dictionaries({"a": words, "b": words, "n": numbers})
items = st.one_of(objects, flat, flat, scalars, st.lists(scalars, max_size=1))
lists = st.lists(items, max_size=5)
thresholds = st.sampled_from([0, 0.3, 0.5, 0.75, 0.8, 1])
fields = st.sampled_from([None, ("a",), ("a", "n"), ("b.x", "c")])
methods = st.sampled_from([Greedy, Optimal])


def unequal_pairs(alignment, expected, candidate):
    return [pair for pair in alignment.pairs if not equal(expected[pair[0]], candidate[pair[1]])]


@pytest.fixture(params=["plain-loops", "arrays"])
def both_ways(request, monkeypatch):
    if request.param == "arrays":
        monkeypatch.setattr(similarity_alignment, "SMALL_PAIRS", 0)


def described(alignment, expected, candidate):
    """Return the aligned values, without their indexes."""
    return (
        Counter(
            (typed_key(expected[ours]), typed_key(candidate[theirs]), *rest)
            for ours, theirs, *rest in alignment.pairs
        ),
        Counter(typed_key(expected[place]) for place in alignment.unmatched_expected),
        Counter(typed_key(candidate[place]) for place in alignment.unmatched_candidate),
    )


@pytest.mark.usefixtures("both_ways")
@settings(max_examples=100)
@given(lists, lists, thresholds, fields)
def test_greedy_agrees_with_its_definition(expected, candidate, threshold, match):
    found = Greedy(match_fields=match, threshold=threshold).align(expected, candidate)
    wanted = oracle.greedy(expected, candidate, threshold, match)
    unequal = unequal_pairs(found, expected, candidate)
    chosen = {ours: theirs for ours, theirs, _ in unequal}
    assert described_pairs(chosen, expected, candidate) == described_pairs(
        wanted, expected, candidate
    )
    for ours, theirs, similarity in unequal:
        shared = oracle.shared_paths(expected, candidate, match)
        wanted_similarity = oracle.similarity(
            expected[ours], candidate[theirs], match, shared=shared
        )
        assert similarity == pytest.approx(wanted_similarity, abs=2e-12)


def described_pairs(pairs, expected, candidate):
    return Counter((typed_key(expected[p]), typed_key(candidate[o])) for p, o in pairs.items())


@pytest.mark.usefixtures("both_ways")
@settings(max_examples=60)
@given(lists, lists, thresholds, fields)
def test_optimal_maximizes_similarity_then_equal_leaves(expected, candidate, threshold, match):
    aligned = Optimal(match_fields=match, threshold=threshold).align(expected, candidate)
    found = unequal_pairs(aligned, expected, candidate)
    total = sum(similarity for _, _, similarity in found)
    agreed = sum(oracle.agreement(expected[ours], candidate[theirs]) for ours, theirs, _ in found)
    best, most = oracle.optimal_total(expected, candidate, threshold, match)
    assert total == pytest.approx(best, abs=1e-9)
    assert agreed == most
    assert all(similarity >= threshold - 1e-9 for _, _, similarity in found)


@pytest.mark.usefixtures("both_ways")
@given(lists, lists, thresholds, fields)
def test_optimal_total_is_at_least_the_greedy_total(expected, candidate, threshold, match):
    totals = [
        sum(
            similarity
            for _, _, similarity in method(match_fields=match, threshold=threshold)
            .align(expected, candidate)
            .pairs
        )
        for method in (Optimal, Greedy)
    ]
    assert totals[0] >= totals[1] - 1e-9


@pytest.mark.usefixtures("both_ways")
@given(lists, lists)
def test_equal_items_are_aligned_first(expected, candidate):
    rest, wanted = pair_equal(expected, candidate), oracle.rest_of(expected, candidate)
    assert sum(partner is not None for partner in rest.partners) == wanted.equal_pairs
    assert sorted(canonical_text(expected[p]) for p in rest.expected_indexes) == sorted(
        canonical_text(expected[p]) for p in wanted.expected
    )
    assert sorted(canonical_text(candidate[p]) for p in rest.candidate_indexes) == sorted(
        canonical_text(candidate[p]) for p in wanted.candidate
    )


@pytest.mark.usefixtures("both_ways")
@given(lists, lists, methods, fields, st.randoms(use_true_random=False))
def test_list_order_only_changes_indexes(expected, candidate, method, match, chance):
    aligner = method(match_fields=match)
    wanted = described(aligner.align(expected, candidate), expected, candidate)
    for _ in range(5):
        chance.shuffle(expected)
        chance.shuffle(candidate)
        assert described(aligner.align(expected, candidate), expected, candidate) == wanted


@given(
    lists,
    lists,
    st.sampled_from(
        [Index(), Greedy(), Optimal(), SetAlign(), Key(key=("a",)), Greedy(threshold=0)]
    ),
)
def test_every_item_is_aligned_or_unaligned_once(expected, candidate, aligner):
    found = aligner.align(expected, candidate)
    ours = [pair[0] for pair in found.pairs]
    theirs = [pair[1] for pair in found.pairs]
    assert ours == sorted(ours)
    assert sorted([*ours, *found.unmatched_expected]) == list(range(len(expected)))
    assert sorted([*theirs, *found.unmatched_candidate]) == list(range(len(candidate)))
    assert list(found.unmatched_expected) == sorted(found.unmatched_expected)
    assert list(found.unmatched_candidate) == sorted(found.unmatched_candidate)


@given(
    st.lists(items, min_size=1, max_size=8),
    st.lists(items, min_size=1, max_size=8),
    thresholds,
    fields,
)
def test_arrays_and_loops_give_identical_weights(expected, candidate, threshold, match):
    left = [leaves.leaves_of(item, match) for item in expected]
    right = [leaves.leaves_of(item, match) for item in candidate]
    min_weight = item_similarity.min_weight_of(threshold)
    few = item_similarity.edges_of_few(left, right, min_weight, 64)
    many = item_similarity.edges_of_many(left, right, min_weight)
    assert sorted(few, key=itemgetter(1, 2)) == list(
        zip(*(column.tolist() for column in many), strict=True)
    )


@given(lists)
def test_list_aligned_with_itself_is_all_equal(expected):
    for aligner in (Greedy(), Optimal(), SetAlign(), Index()):
        assert not unequal_pairs(aligner.align(expected, expected), expected, expected)
        assert not aligner.align(expected, list(expected)).unmatched_expected


def test_order_of_long_lists_does_not_matter():
    chance = random.Random(5)
    expected = [
        {"name": f"item {chance.randrange(40)}", "n": chance.randrange(5)} for _ in range(60)
    ]
    candidate = [
        {"name": f"itm {chance.randrange(40)}", "n": chance.randrange(5)} for _ in range(70)
    ]
    for aligner in (
        Greedy(match_fields=("name",)),
        Optimal(match_fields=("name",)),
        Greedy(),
        Optimal(),
    ):
        wanted = described(aligner.align(expected, candidate), expected, candidate)
        for _ in range(10):
            chance.shuffle(expected)
            chance.shuffle(candidate)
            assert described(aligner.align(expected, candidate), expected, candidate) == wanted
