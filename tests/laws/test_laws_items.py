"""The C functions of alignment agree with the Python functions for all JSON values."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldmark.align import compiled, equal_items, item_similarity, leaves
from fieldmark.align.greedy import Greedy
from fieldmark.align.index import Index
from fieldmark.align.key import Key
from fieldmark.align.optimal import Optimal
from fieldmark.align.sets import SetAlign
from fieldmark.model.rule import Rule, Rules
from fieldmark.plan import compile_plan
from fieldmark.values.text import folded
from item_lists import flat_items, item_lists, python_way, usual
from json_strategies import any_json, document_pairs

items = compiled.items
THOROUGH = settings(max_examples=max(100, settings().max_examples))


def exact(value):
    """Return a representation that distinguishes equal values of different types."""
    if isinstance(value, dict):
        return {key: exact(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [exact(inner) for inner in value]
    return type(value), repr(value)


# --- equal items ----------------------------------------------------------------------------------


@THOROUGH
@given(item_lists())
def test_items_with_the_same_text_are_paired(lists):
    expected, candidate = lists
    found = items.pair(expected, candidate)
    if found is None:
        assert not all(map(usual, [*expected, *candidate]))
        return
    assert all(map(usual, [*expected, *candidate]))
    wanted = equal_items._pair_equal_texts(expected, candidate)
    assert [list(part) for part in found[:3]] == [list(part) for part in wanted[:3]]


@THOROUGH
@given(item_lists())
def test_items_reported_as_different_have_no_equal_value(lists):
    found = items.pair(*lists)
    if found is None or found[3]:
        return
    expected, candidate = lists
    left, right = [expected[place] for place in found[1]], [candidate[place] for place in found[2]]
    assert not any(partner is not None for partner in equal_items._match_values(left, right))


@THOROUGH
@given(item_lists())
def test_equal_items_are_the_same_without_c(lists):
    found = equal_items.pair_equal(*lists)
    with python_way():
        wanted = equal_items.pair_equal(*lists)
    assert [list(part) for part in found[:3]] == [list(part) for part in wanted[:3]]
    assert [exact(part) for part in found[3:]] == [exact(part) for part in wanted[3:]]


# --- cells ----------------------------------------------------------------------------------------

fields = st.sampled_from([None, None, ("a",), ("a", "b"), ("é", "a.b"), ("a", "a")])


@THOROUGH
@given(st.lists(flat_items | any_json, max_size=6), fields, st.sampled_from([0, 3, 10_000]))
def test_cells_of_items_equal_cells_of_each_item(given_items, match, longest):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaves, "MAX_TEXT", longest)
        wanted = [leaves.leaves_of(item, match) for item in given_items]
        found = items.cells(given_items, match, longest, folded, leaves.leaves_of)
    assert list(map(list, found)) == list(map(list, wanted))  # with their paths in the same order
    for cells, others in zip(found, wanted, strict=True):
        assert exact(cells) == exact(others) or "object object" in repr(cells)


@given(st.lists(st.dictionaries(st.sampled_from("abé"), st.text() | st.integers(-(2**53), 2**53) | st.none()), max_size=6))  # fmt: skip
def test_plain_objects_do_not_call_back_into_python(given_items):
    assert items.cells(given_items, None, 10_000, folded, None) == [
        leaves.leaves_of(item, None) for item in given_items
    ]


cells_of_some = st.lists(
    st.dictionaries(
        st.sampled_from(["a", "b", "c", ("d", "e"), ()]),
        st.sampled_from(["x", "y", "X", 0, 0.0, -0.0, 1, 1.0, 2.5, (b"1",), (b"true",), ("long",)]),
        max_size=5,
    ),
    max_size=6,
)


@THOROUGH
@given(
    cells_of_some,
    cells_of_some.filter(bool),
    st.sampled_from([-1.0, 0.0, 0.2, 0.5, 0.75, 1.0]),
    st.sampled_from([0, 1, 3, 8, 100]),
    st.sampled_from([0, 4, 16]),
)
def test_near_pairs_are_the_same_in_the_same_order(expected, candidate, share, most, tiny):
    found = items.near(expected, candidate, share, item_similarity._UNEQUAL, most, tiny)
    assert found == item_similarity._near(
        expected, candidate, share, item_similarity._UNEQUAL, most, tiny
    )


@given(cells_of_some)
def test_size_of_the_largest_item(some):
    with python_way():
        wanted = leaves.largest(some)
    assert leaves.largest(some) == wanted


# --- whole lists ----------------------------------------------------------------------------------

ALIGNERS = [
    Greedy(),
    Greedy(threshold=0),
    Greedy(match_fields=("a", "é")),
    Optimal(),
    Optimal(match_fields=("a", "b.c"), threshold=0.3),
    SetAlign(),
    Key(key=("a",)),
    Index(),
]


def laid_out(alignment):
    return [list(part) for part in alignment[:3]], alignment[3:]


@THOROUGH
@given(item_lists(), st.sampled_from(ALIGNERS))
def test_alignment_is_the_same_without_c(lists, aligner):
    found = aligner.align(*lists)
    with python_way():
        wanted = aligner.align(*lists)
    assert laid_out(found) == laid_out(wanted)
    assert exact(list(found.pairs)) == exact(list(wanted.pairs))


def compare(plan, pair):
    block = plan.compare(*pair)
    return block.cells, block.items, list(block.records(plan.table))


@pytest.mark.parametrize(
    "aligner", [Greedy(), Optimal(), Index()], ids=lambda aligner: aligner.name
)
@settings(max_examples=max(20, settings().max_examples // 2))
@given(pair=document_pairs(), lists=item_lists(flat_items))
def test_comparison_is_the_same_without_c(aligner, pair, lists):
    documents = [
        pair,
        tuple({"items": side} for side in lists),
        tuple({"items": lists[0]} for _ in "ab"),
    ]
    rules = Rules(fields=(Rule(path="**.items", aligner=aligner),))
    sides = []
    for way in (pytest.MonkeyPatch.context, python_way):
        plan = compile_plan(rules)
        with way():
            sides.append([compare(plan, each) for _ in range(2) for each in documents])
    assert repr(sides[0]) == repr(sides[1])
