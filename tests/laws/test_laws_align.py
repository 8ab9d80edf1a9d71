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
from fieldmark.compare.date import DateMatch
from fieldmark.compare.exact import Exact, Ignore
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.model.rule import Rule, Rules
from fieldmark.plan import compile_plan
from fieldmark.values.equality import canonical_text, equal, typed_key
from pure_python import pure_python
from reference import align_oracle as oracle

words = st.sampled_from(
    ["", " ", "blue", "Blue ", "bleu", "black", "2024-01-05", "2024-01-06", "ab", "abc"]
)
numbers = st.sampled_from([0, 1, 1.0, 2, 2.5, -0.0, 1e16, 10**16, 10**30])
scalars = st.one_of(words, numbers, st.booleans(), st.none())
rows = st.fixed_dictionaries({}, optional={"x": scalars, "y": st.lists(scalars, max_size=2)})
values = st.one_of(
    scalars,
    st.lists(scalars, max_size=3),
    st.lists(rows | st.lists(scalars, max_size=2), max_size=3),
    st.fixed_dictionaries({}, optional={"x": scalars, "y": scalars | st.lists(rows, max_size=2)}),
)
objects = st.fixed_dictionaries({}, optional={"a": values, "b": values, "c": scalars})
flat = st.fixed_dictionaries({"a": words, "b": words, "n": numbers})
items = st.one_of(objects, flat, flat, scalars, st.lists(scalars, max_size=1))
lists = st.lists(items, max_size=5)
thresholds = st.sampled_from([0, 0.3, 0.5, 0.75, 0.8, 1])
fields = st.sampled_from([None, ("a",), ("a", "n"), ("b.x", "c"), ("a", "b", "c", "n")])
methods = st.sampled_from([Greedy, Optimal])


dates = st.sampled_from(["2024-01-05", "5 Jan 2024", "Jan 6, 2024", "2024-01-06", "soon", 7])
amounts = st.sampled_from([1, 1.0, 1.5, "1.5", 2, 2.25, 10**400, "many", True])
texts = st.sampled_from(["blue", "Blue", "bleu", "black", "a", 3, ["a"]])
ruled_fields = {"d": dates, "n": amounts, "t": texts, "x": texts, "e": texts, "p": texts | amounts}
ruled_lists = st.lists(st.fixed_dictionaries({}, optional=ruled_fields), max_size=5)
RULES = {
    ("d",): DateMatch(),
    ("n",): NumericTolerance(tolerance=0.5),
    ("t",): Fuzzy(threshold=0.9),
    ("x",): Ignore(),
    ("e",): Exact(),
}
with_and_without_rules = pytest.mark.parametrize("rules", [None, RULES], ids=["no-rules", "rules"])


def unequal_pairs(method, expected, candidate, rules=None):
    """Return the indexes and the similarity of the aligned items that are not equal."""
    if rules is None:
        pairs = method.align(expected, candidate).pairs
    else:
        fields = (Rule(path=f"l[*].{path}", comparator=rule) for (path,), rule in rules.items())
        plan = compile_plan(Rules(fields=(Rule(path="l", aligner=method), *fields)))
        with pure_python():  # the kernel agrees with it by another law
            items = plan.compare({"l": expected}, {"l": candidate}).items
        pairs = [mark[2:] for mark in items if mark[1] == "l[]" and None not in mark[2:4]]
    return [pair for pair in pairs if not equal(expected[pair[0]], candidate[pair[1]])]


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


def described_pairs(pairs, expected, candidate):
    return Counter((typed_key(expected[p]), typed_key(candidate[o])) for p, o in pairs.items())


@pytest.mark.usefixtures("both_ways")
@with_and_without_rules
@settings(max_examples=100)
@given(data=st.data(), threshold=thresholds, equality=st.booleans())
def test_greedy_agrees_with_its_definition(rules, data, threshold, equality):
    expected, candidate = (data.draw(ruled_lists if rules else lists) for _ in range(2))
    match = None if rules else data.draw(fields)
    similarity = "equality" if equality else "text"
    method = Greedy(match_fields=match, threshold=threshold, similarity=similarity)
    found = unequal_pairs(method, expected, candidate, rules)
    options = {"equality": equality, "rules": rules}
    wanted = oracle.greedy(expected, candidate, threshold, match, **options)
    options["threshold"] = threshold
    chosen = {ours: theirs for ours, theirs, _ in found}
    assert described_pairs(chosen, expected, candidate) == described_pairs(
        wanted, expected, candidate
    )
    shared = oracle.shared_paths(expected, candidate, match)
    for ours, theirs, similar in found:
        known = oracle.similarity(
            expected[ours], candidate[theirs], match, shared=shared, **options
        )
        assert similar == pytest.approx(known, abs=2e-12)


@pytest.mark.usefixtures("both_ways")
@with_and_without_rules
@settings(max_examples=60)
@given(data=st.data(), threshold=thresholds)
def test_optimal_maximizes_similarity_then_equal_leaves(rules, data, threshold):
    expected, candidate = (data.draw(ruled_lists if rules else lists) for _ in range(2))
    match = None if rules else data.draw(fields)
    method = Optimal(match_fields=match, threshold=threshold)
    found = unequal_pairs(method, expected, candidate, rules)
    best, most = oracle.optimal_total(expected, candidate, threshold, match, rules=rules)
    assert sum(similarity for _, _, similarity in found) == pytest.approx(best, abs=1e-9)
    agreed = sum(oracle.agreement(expected[ours], candidate[theirs]) for ours, theirs, _ in found)
    assert rules or agreed == most
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
    one_sided = None if match is None else threshold
    few = item_similarity.edges_of_few(left, right, min_weight, 64, one_sided=one_sided)
    many = item_similarity.edges_of_many(left, right, min_weight, one_sided)
    assert sorted(few, key=itemgetter(1, 2)) == list(
        zip(*(column.tolist() for column in many), strict=True)
    )


@given(lists)
def test_list_aligned_with_itself_is_all_equal(expected):
    for aligner in (Greedy(), Optimal(), SetAlign(), Index()):
        assert not unequal_pairs(aligner, expected, expected)
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
