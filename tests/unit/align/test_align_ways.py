"""Two flat objects of one shape: what is certain is written, and the rest is left open."""

from __future__ import annotations

import gc
import math
import sys

import pytest

from fieldmark.align import _items
from fieldmark.model.json import MISSING

TEXT, NUMBER, AGREED, SURE = 1, 2, 4, 8
ALL = TEXT | NUMBER | SURE
MATCH, LOST, NULLED = 100, 200, 300


def ways(keys="ab", known=ALL, agreed=()):
    number = len(keys)
    cells = [tuple(first + place for place in range(number)) for first in (MATCH, LOST, NULLED)]
    return _items.Ways(
        tuple(keys), bytes([known] * number), (set(agreed),) * number, *cells, MISSING
    )


def written(expected, candidate, **options):
    """The cells of two objects, and what is open; nothing if they are refused."""
    cells = [1]
    left_open = ways(**options).write(expected, candidate, cells)
    if left_open is None:
        assert cells == [1]
        return None
    return cells[1:], list(left_open)


@pytest.mark.parametrize(
    ("expected", "candidate", "cell"),
    [
        pytest.param("x", "x", MATCH, id="the-same-text"),
        pytest.param("é日😀", "é日😀", MATCH, id="the-same-wide-text"),
        pytest.param(5, 5, MATCH, id="the-same-integer"),
        pytest.param(2**70, 2**70, MATCH, id="the-same-large-integer"),
        pytest.param(1.5, 1.5, MATCH, id="the-same-float"),
        pytest.param(0.0, -0.0, MATCH, id="two-zeros"),
        pytest.param("x", None, NULLED, id="text-that-is-null-there"),
        pytest.param(5, None, NULLED, id="a-number-that-is-null-there"),
        pytest.param("x", MISSING, LOST, id="text-that-is-not-there"),
        pytest.param(1.5, MISSING, LOST, id="a-number-that-is-not-there"),
    ],
)
def test_what_is_certain_is_written(expected, candidate, cell):
    found = {"b": "y"} if candidate is MISSING else {"a": candidate, "b": "y"}
    assert written({"a": expected, "b": "y"}, found) == ([cell, MATCH + 1], [])


@pytest.mark.parametrize(
    ("expected", "candidate", "sure"),
    [
        pytest.param("x", "y", True, id="two-texts"),
        pytest.param("x", 5, True, id="text-and-a-number"),
        pytest.param(1, 1.0, True, id="an-integer-and-a-float"),
        pytest.param(1, 2, True, id="two-numbers"),
        pytest.param("1", 1, True, id="a-number-as-text"),
        pytest.param(True, True, False, id="the-same-boolean"),
        pytest.param(1, True, False, id="a-number-and-a-boolean"),
        pytest.param(None, None, False, id="null-twice"),
        pytest.param(None, "x", False, id="null-and-text"),
        pytest.param(None, MISSING, False, id="null-that-is-not-there"),
        pytest.param("", "", False, id="no-text-twice"),
        pytest.param(" \t\u2003", " \t\u2003", False, id="the-same-blanks"),
        pytest.param(" ", None, False, id="blanks-that-are-null-there"),
        pytest.param(" ", MISSING, False, id="blanks-that-are-not-there"),
        pytest.param("x", " ", False, id="text-and-blanks"),
        pytest.param(False, MISSING, False, id="a-boolean-that-is-not-there"),
        pytest.param(math.inf, math.inf, False, id="the-same-infinite-number"),
        pytest.param(math.nan, math.nan, False, id="no-number-twice"),
        pytest.param(math.inf, MISSING, False, id="an-infinite-number-that-is-not-there"),
        pytest.param(2**70, 2**71, False, id="two-large-integers"),
    ],
)
def test_what_is_not_certain_is_left_open(expected, candidate, sure):
    found = {"b": "y"} if candidate is MISSING else {"a": candidate, "b": "y"}
    cells, left_open = written({"a": expected, "b": "y"}, found)
    assert cells == [None, MATCH + 1]
    ((position, number, ours, theirs, told),) = left_open
    assert (position, number, told) == (1, 0, sure)
    assert ours is expected
    assert theirs is candidate


@pytest.mark.parametrize(
    ("known", "value", "other", "cell"),
    [
        pytest.param(0, "x", "x", None, id="nothing-is-known"),
        pytest.param(0, "x", None, None, id="nothing-is-known-of-a-loss"),
        pytest.param(NUMBER | SURE, "x", "x", None, id="only-numbers-settle"),
        pytest.param(TEXT | SURE, 1, 1, None, id="only-texts-settle"),
        pytest.param(TEXT | NUMBER, "x", None, None, id="it-is-not-sure-what-is-a-value"),
        pytest.param(AGREED, "agreed", "agreed", MATCH, id="a-text-that-agreed-before"),
        pytest.param(AGREED, "x", "x", None, id="one-that-did-not"),
        pytest.param(AGREED, "agreed", "x", None, id="one-that-is-another-now"),
    ],
)
def test_what_settles_a_field_is_told_for_each(known, value, other, cell):
    cells, left_open = written({"a": value}, {"a": other}, keys="a", known=known, agreed=["agreed"])
    assert cells == [cell]
    assert len(left_open) == (cell is None)
    assert not any(sure for *_, sure in left_open if not known & SURE)


@pytest.mark.parametrize(
    ("expected", "candidate"),
    [
        pytest.param({"a": 1}, {"a": 1, "b": 2}, id="a-truth-with-fewer-keys"),
        pytest.param({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2}, id="a-truth-with-more-keys"),
        pytest.param({"b": 1, "a": 2}, {"a": 1, "b": 2}, id="a-truth-in-another-order"),
        pytest.param({"a": 1, "c": 2}, {"a": 1, "c": 2}, id="a-truth-with-another-key"),
        pytest.param({"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}, id="a-key-too-many"),
        pytest.param({"a": 1, "b": 2}, {"a": 1, "c": 2}, id="another-key-in-the-candidate"),
        pytest.param({"a": 1, "b": {}}, {"a": 1, "b": 2}, id="an-object-inside"),
        pytest.param({"a": 1, "b": 2}, {"a": 1, "b": [2]}, id="a-list-inside"),
        pytest.param({"a": 1, "b": (2,)}, {"a": 1, "b": 2}, id="what-is-no-json"),
        pytest.param({1: 1, "b": 2}, {"a": 1, "b": 2}, id="a-key-that-is-no-text"),
        pytest.param([1, 2], {"a": 1, "b": 2}, id="a-list-instead"),
        pytest.param({"a": 1, "b": 2}, None, id="nothing-instead"),
    ],
)
def test_other_objects_are_refused_and_nothing_is_written(expected, candidate):
    assert written(expected, candidate) is None


def test_a_candidate_may_have_its_keys_in_any_order():
    assert written({"a": "x", "b": 1}, {"b": 1, "a": "x"}) == ([MATCH, MATCH + 1], [])


def test_keys_may_be_other_objects_of_the_same_text():
    keys = [str(b"long key", "ascii"), "b"]
    assert written(
        {str(b"long key", "ascii"): "x", "b": 1}, {"long key": "x", "b": 1}, keys=keys
    ) == (
        [MATCH, MATCH + 1],
        [],
    )


@pytest.mark.parametrize(
    ("given", "error"),
    [
        pytest.param((("a",), b"", (set(),), (1,), (1,), (1,), None), ValueError, id="no-flags"),
        pytest.param((("a",), b"1", (), (1,), (1,), (1,), None), ValueError, id="no-sets"),
        pytest.param((("a",), b"1", (set(),), (), (1,), (1,), None), ValueError, id="no-cells"),
        pytest.param((("a",), b"1", (set(),), (1,), (), (1,), None), ValueError, id="none-lost"),
        pytest.param((("a",), b"1", (set(),), (1,), (1,), (), None), ValueError, id="none-null"),
        pytest.param((("a",), b"1", ([],), (1,), (1,), (1,), None), TypeError, id="a-list"),
        pytest.param(((1,), b"1", (set(),), (1,), (1,), (1,), None), TypeError, id="a-number"),
        pytest.param(
            (("a",) * 65, b"1" * 65, (set(),) * 65, *[(1,) * 65] * 3, None),
            ValueError,
            id="too-many",
        ),
        pytest.param((), TypeError, id="nothing"),
    ],
)
def test_ways_are_as_many_as_keys(given, error):
    with pytest.raises(error):
        _items.Ways(*given)


def test_cells_are_a_list():
    with pytest.raises(TypeError):
        ways().write({}, {}, ())


def test_every_reference_is_given_back():
    texts = [str(b"a text", "ascii"), str(b"another text", "ascii")]
    # Every counted object belongs to this test: counts of a shared singleton such as MISSING change
    # whenever garbage of other tests is collected.
    cell, absent = object(), object()
    known = tuple("ab"), bytes([ALL, 0]), (set(), set()), (cell, cell), (cell, cell), (cell, cell)
    held = [*texts, cell, absent, *known]

    def used():
        made = _items.Ways(*known, absent)
        for found in (
            dict.fromkeys("ab", texts[0]),
            {"b": texts[1]},
            {"a": None, "b": texts[1]},
            dict.fromkeys("abc", texts[0]),
            {"a": [texts[0]]},
        ):
            made.write(dict.fromkeys("ab", texts[0]), found, [])

    used()
    gc.collect()
    before = [sys.getrefcount(each) for each in held]
    for _ in range(100):
        used()
    gc.collect()
    assert [sys.getrefcount(each) for each in held] == before
