"""The C functions of alignment: results, fallbacks to Python and invalid calls."""

from __future__ import annotations

import gc
import json
import math
import subprocess
import sys
import tracemalloc
from collections import OrderedDict
from enum import IntEnum
from itertools import pairwise, permutations

import pytest

from fieldmark.align import compiled, equal_items, item_similarity, leaves
from fieldmark.values.text import folded

items = compiled.items


class Text(str):
    __slots__ = ()


class Number(IntEnum):
    ONE = 1


def nested(levels, value=1):
    """Return a value nested in this many lists and objects."""
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


def test_c_module_is_available():
    assert compiled.COMPILED
    assert items.__file__.endswith((".so", ".pyd"))


def test_summary_is_the_same_without_c(tmp_path):
    lines = [
        {"id": f"{n}", "l": [{"a": f"item {k % 7}", "n": k / 4} for k in range(n)]}
        for n in range(30)
    ]
    (tmp_path / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for line in lines:
        line["l"] = [{"a": f"itm {k % 5}", "n": k / 4} for k in range(3, 20)]
    (tmp_path / "found.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "rules.yaml").write_text("fields: [{path: l, align: greedy}]")
    program = (
        "import sys, json; sys.modules.update({'fieldmark.align._items': None} if OFF else {});"
        "import fieldmark as fm; from fieldmark.align.compiled import COMPILED;"
        "print(COMPILED, json.dumps(fm.score('truth.jsonl', 'found.jsonl', rules='rules.yaml').to_dict()))"
    )
    with_it, without = (
        subprocess.run(
            [sys.executable, "-c", program.replace("OFF", off)],
            cwd=tmp_path, check=True, capture_output=True, text=True,
        ).stdout.split(" ", 1)
        for off in ("False", "True")
    )  # fmt: skip
    assert (with_it[0], without[0]) == ("True", "False")
    assert with_it[1] == without[1]


# --- the same text --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "candidate", "partners", "may_be_equal"),
    [
        pytest.param([], [], [], False, id="empty"),
        pytest.param(["a"], [], [None], False, id="empty-on-one-side"),
        pytest.param([1, 2], [1, 2], [0, 1], False, id="same-lists"),
        pytest.param(["a", "b", "a"], ["a", "a", "c"], [0, None, 1], False, id="first-with-first"),
        pytest.param(["a", "a", "a"], ["a"], [0, None, None], False, id="each-item-once"),
        pytest.param([{"a": 1, "b": 2}], [{"b": 2, "a": 1}], [0], False, id="keys-in-any-order"),
        pytest.param([{"a": 1, "b": 2}], [{"a": 2, "b": 1}], [None], False, id="values-exchanged"),
        pytest.param([{"a": 1}], [{"a": 1, "b": None}], [None], False, id="null-is-not-absent"),
        pytest.param([{"a": None}], [{"b": None}], [None], False, id="different-key"),
        pytest.param([[1, 2]], [[2, 1]], [None], False, id="items-in-their-order"),
        pytest.param([[], {}, None, "", 0, False], [False, 0, "", None, {}, []], [5, 4, 3, 2, 1, 0], False, id="six-empty-values"),
        pytest.param([1], [True], [None], False, id="boolean-is-not-a-number"),
        pytest.param([1], [1.0], [None], True, id="float-may-equal-integer"),
        pytest.param([0.0], [-0.0], [None], True, id="zero-and-minus-zero-differ-as-text"),
        pytest.param([-0.0, 0.0], [0.0, -0.0], [1, 0], False, id="minus-zero-with-minus-zero"),
        pytest.param([{"a": [1, {"b": 2}]}], [{"a": [1.0, {"b": 2.0}]}], [None], True, id="floats-inside"),
        pytest.param([1, 1.0], [1.0, 1.0], [None, 0], True, id="remaining-items"),
        pytest.param([1, "x"], [1, 1.0], [0, None], False, id="no-partner-left"),
        pytest.param([2**53 + 1], [2.0**53], [None], False, id="integer-not-representable-as-float"),
        pytest.param([2**62], [2.0**62], [None], True, id="large-integer-and-its-float"),
        pytest.param([-(2**63)], [-(2.0**63)], [None], True, id="smallest-integer-and-its-float"),
        pytest.param([2**63 - 1], [2.0**63], [None], False, id="float-above-64-bit-integers"),
        pytest.param(["é"], ["e\u0301"], [None], False, id="two-encodings-of-letter"),
        pytest.param(["\ud800"], ["\ud800"], [0], False, id="lone-surrogate"),
        pytest.param(["\ud83d\ude00"], ["\U0001f600"], [None], False, id="two-surrogates-are-not-one-letter"),
        pytest.param([nested(32)], [nested(32)], [0], False, id="as-deep-as-it-goes"),
    ],
)  # fmt: skip
def test_equal_item_texts(expected, candidate, partners, may_be_equal):
    found = items.pair(json_copy(expected), json_copy(candidate))
    left = [place for place, other in enumerate(partners) if other is None]
    right = [place for place in range(len(candidate)) if place not in partners]
    assert found == (partners, left, right, may_be_equal)
    wanted = equal_items._pair_equal_texts(expected, candidate)
    assert [list(part) for part in wanted[:3]] == [partners, left, right]


def json_copy(value):
    """Return an equal value without shared objects."""
    return json.loads(json.dumps(value, ensure_ascii=False))


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(math.nan, id="not-a-number"),
        pytest.param(math.inf, id="infinite"),
        pytest.param(2**63, id="above-64-bits"),
        pytest.param(-(2**63) - 1, id="below-64-bits"),
        pytest.param({1: "a"}, id="key-not-string"),
        pytest.param({Text("a"): 1}, id="key-subclass"),
        pytest.param(Text("a"), id="str-subclass"),
        pytest.param(Number.ONE, id="number-subclass"),
        pytest.param(OrderedDict(a=1), id="dict-subclass"),
        pytest.param((1,), id="tuple"),
        pytest.param(b"a", id="bytes"),
        pytest.param(object(), id="anything-else"),
        pytest.param(nested(33), id="one-level-too-deep"),
        pytest.param(nested(100_000), id="far-too-deep"),
    ],
)
@pytest.mark.parametrize(
    "wrap", [lambda item: item, lambda item: {"a": [item]}], ids=["bare", "inside"]
)
def test_unusual_items_fall_back_to_texts(item, wrap):
    unusual = wrap(item)
    assert items.pair([1, unusual], [1]) is None
    assert items.pair([1], [unusual]) is None


@pytest.mark.parametrize("lists", [((1,), [1]), ([1], range(3)), ([1], None)])
def test_other_values_than_lists_fall_back_to_texts(lists):
    assert items.pair(*lists) is None


def test_list_that_contains_itself_falls_back_to_texts():
    endless = []
    endless.append(endless)
    assert items.pair([endless], [endless]) is None


def test_many_items_with_few_values_are_aligned_quickly():
    expected = [{"a": n % 3, "b": float(n % 2)} for n in range(60_000)]
    partners, places, others, may_be_equal = items.pair(expected, expected[::-1])
    assert (len(partners), places, others, may_be_equal) == (60_000, [], [], False)
    assert sorted(partners) == list(range(60_000))


def test_items_that_differ_by_type_alone_do_not_slow_down():
    kinds = [[int, float][bit] for bit in (0, 1)]
    flags = [[kinds[n >> bit & 1](bit) for bit in range(13)] for n in range(8192)]
    partners, places, _, may_be_equal = items.pair(flags, flags[::-1])
    assert (partners, places, may_be_equal) == (list(range(8191, -1, -1)), [], False)


def test_key_order_does_not_matter():
    item = {"a": 1, "b": "x", "c": None, "d": [2.5]}
    for order in permutations(item):
        assert items.pair([item], [{key: item[key] for key in order}])[0] == [0]


# --- cells ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "cells"),
    [
        pytest.param({}, {}, id="no-fields"),
        pytest.param({"a": " Blue\t"}, {"a": "blue"}, id="trimmed-and-folded"),
        pytest.param({"a": "blue"}, {"a": "blue"}, id="as-it-is"),
        pytest.param({"a": "\x1c\x1d\x1e\x1f\x0b\x0cA\x7fB\x1f"}, {"a": "a\x7fb"}, id="ascii-whitespace"),
        pytest.param({"a": "\0A\x08"}, {"a": "\0a\x08"}, id="no-whitespace"),
        pytest.param({"a": "@AZ[", "b": "A", "c": "Z"}, {"a": "@az[", "b": "a", "c": "z"}, id="letters-at-the-boundary"),
        pytest.param({"a": "", "b": " \t", "c": None}, {}, id="empty-object"),
        pytest.param({"a": "STRAßE", "b": "\xa0İ\u2003"}, {"a": "strasse", "b": "i̇"}, id="letters-that-fold-to-two"),
        pytest.param({"a": "\xa0"}, {}, id="non-ascii-blank"),
        pytest.param({"a": 2**53, "b": -(2.0**53), "c": -0.0, "d": -(2**53)}, {"a": 2**53, "b": -(2.0**53), "c": -0.0, "d": -(2**53)}, id="plain-numbers"),
    ],
)  # fmt: skip
def test_cells_of_a_plain_object(item, cells):
    assert items.cells([item], None, 10_000, folded, None) == [cells]
    assert leaves.leaves_of(item, None) == cells


@pytest.mark.parametrize(
    "item",
    [
        pytest.param("text", id="not-an-object"),
        pytest.param({"a": True}, id="boolean"),
        pytest.param({"a": {}}, id="object-inside"),
        pytest.param({"a": [1]}, id="list-inside"),
        pytest.param({"a": 2**53 + 1}, id="large-integer"),
        pytest.param({"a": 10**30}, id="huge-integer"),
        pytest.param({"a": 1e16}, id="large-float"),
        pytest.param({"a": math.nan}, id="not-a-number"),
        pytest.param({"a": Text("a")}, id="str-subclass"),
        pytest.param({Text("a"): 1}, id="key-subclass"),
        pytest.param(OrderedDict(a=1), id="dict-subclass"),
    ],
)
def test_unusual_items_use_the_python_function(item):
    calls = []
    found = items.cells(
        [{"a": 1}, item], None, 10_000, folded, lambda *given: calls.append(given) or {}
    )
    assert found == [{"a": 1}, {}]
    assert [given[0] for given in calls] == [item]


def test_match_fields_that_are_keys_are_looked_up():
    calls = []
    found = items.cells(
        [{"a": "A", "b": 1, "c": []}, {"a": "A"}],
        ("b", "a"),
        9,
        folded,
        lambda *given: calls.append(given),
    )
    assert found == [{"b": 1, "a": "a"}, None]
    assert calls == [({"a": "A"}, ("b", "a"))]


@pytest.mark.parametrize("text", ["abcd", "ABCD", "ÄBCD"])
def test_long_strings_are_compared_by_equality(text):
    assert items.cells([{"a": text}], None, 4, folded, None) == [{"a": text.lower()}]
    assert items.cells([{"a": text}], None, 3, folded, None) == [{"a": (text.lower(),)}]


def test_errors_are_propagated():
    def broken(*given):
        raise LookupError(given)

    with pytest.raises(LookupError):
        items.cells([{"a": 1}, {"a": "é"}], None, 9, broken, None)
    with pytest.raises(LookupError):
        items.cells([{"a": 1}, [1]], None, 9, folded, broken)
    with pytest.raises(TypeError):
        items.near([{"a": []}], [{}], 0.5, 1.0, 9, 9)
    with pytest.raises(TypeError):
        items.near([{}], [{"a": []}], 0.5, 1.0, 9, 9)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        pytest.param("pair", ([],), id="single-list"),
        pytest.param("cells", ((), None, 9, folded, None), id="items-not-list"),
        pytest.param("cells", ([], ["a"], 9, folded, None), id="fields-not-tuple"),
        pytest.param("largest", ([[]], 9), id="cells-not-dict"),
        pytest.param("near", ([[]], [], 0.5, 1.0, 9, 9), id="expected-cells-not-dict"),
        pytest.param("near", ([], [[]], 0.5, 1.0, 9, 9), id="candidate-cells-not-dict"),
        pytest.param("rows", ((), {}), id="partners-not-list"),
        pytest.param("rows", ([1], []), id="similarities-not-dict"),
    ],
)
def test_invalid_call_is_an_error(function, given):
    with pytest.raises((TypeError, ValueError)):
        getattr(items, function)(*given)


# --- near pairs -----------------------------------------------------------------------------------

CELLS = [{"a": "x", "n": 1}, {"a": "y", "n": 1.0}, {"a": "z", "n": 2}]


@pytest.mark.parametrize(
    ("share", "most", "tiny", "near"),
    [
        pytest.param(0.9, 9, 9, [(0, 0, 2), (0, 1, 1), (1, 0, 1), (1, 1, 2), (2, 2, 2)], id="one-and-string"),
        pytest.param(0.9, 9, 0, [(0, 0, 2), (0, 1, 1), (1, 1, 2), (1, 0, 1), (2, 2, 2)], id="found-by-leaf"),
        pytest.param(1.6, 9, 9, [], id="out-of-reach"),
        pytest.param(0.9, 4, 0, None, id="more-than-may-be-looked-at"),
        pytest.param(0.9, 5, 0, [(0, 0, 2), (0, 1, 1), (1, 1, 2), (1, 0, 1), (2, 2, 2)], id="just-as-many"),
        pytest.param(0.4, 8, 0, None, id="all-would-have-to-be-looked-at"),
        pytest.param(0.9, -1, 0, None, id="limit-0"),
    ],
)  # fmt: skip
def test_near_pairs(share, most, tiny, near):
    assert items.near(CELLS, CELLS, share, item_similarity._UNEQUAL, most, tiny) == near
    assert item_similarity._near(CELLS, CELLS, share, item_similarity._UNEQUAL, most, tiny) == near


def test_pairs_without_a_common_leaf_are_skipped():
    expected, candidate = [{"a": 1}], [{"b": 1}, {"c": 1}]
    assert items.near(expected, candidate, 0.5, 1.0, 1, 16) == []
    assert item_similarity._near(expected, candidate, 0.5, 1.0, 1, 16) == []


def test_near_pairs_are_in_order_of_their_leaves():
    expected, candidate = [{"a": 1, "b": 2}], [{"c": 0}, {"b": 2}, {"a": 1}, {"a": 1, "b": 2}]
    found = items.near(expected, candidate, 0.5, 1.0, 9, 0)
    assert found == [(0, 2, 1), (0, 3, 2), (0, 1, 1)]
    assert found == item_similarity._near(expected, candidate, 0.5, 1.0, 9, 0)
    assert sorted(found) == items.near(expected, candidate, 0.5, 1.0, 9, 4)


# --- memory -------------------------------------------------------------------------------------


def failing(*given):
    raise LookupError(given)


CALLS = {
    "pair": lambda: items.pair([{"a": n, "b": f"x{n}", "c": [n]} for n in range(300, 500)], [{"a": n, "b": f"x{n}", "c": [n + 0.0]} for n in range(400, 600)]),
    "pair-of-unequal": lambda: items.pair([*range(600)], [f"x{n}" for n in range(600)]),
    "pair-of-something-unusual": lambda: items.pair([{"a": n} for n in range(90)], [{"a": 1}, {"a": 2**70}]),
    "pair-of-no-list": lambda: items.pair([], ()),
    "cells": lambda: items.cells([{"a": f" X{n}", "b": n * 1000, "é": "É"} for n in range(90)], None, 3, folded, leaves.leaves_of),
    "cells-of-fields": lambda: items.cells([{"a": f" X{n}", "b": [n]} for n in range(90)], ("a", "b"), 9, folded, leaves.leaves_of),
    "cells-and-an-error": lambda: items.cells([{"a": "X"}, {"a": "é", "b": "ü"}], None, 9, failing, None),
    "cells-and-another-error": lambda: items.cells([{"a": "X"}, {"a": "x", "b": []}], None, 9, folded, failing),
    "cells-folded-to-something-else": lambda: items.cells([{"a": "é"}], None, 9, len, lambda *_: {}),
    "largest": lambda: items.largest([{"a": "x", "b": 1}] * 9, 16),
    "near": lambda: items.near([{"a": f"x{n % 30}", "b": n} for n in range(300, 360)], [{"a": f"x{n % 40}", "b": n} for n in range(300, 360)], 0.9, 1.0, 10**6, 16),
    "near-too-many": lambda: items.near([{"a": n, "b": 1} for n in range(40)], [{"a": n, "b": 1} for n in range(50)], 0.9, 1.0, 90, 16),
    "near-and-an-error": lambda: items.near([{"a": 1}, {"a": []}], [{"a": 1}], 0.5, 1.0, 10, 0),
    "rows": lambda: items.rows([*range(600, 900), None], {n: n / 7 for n in range(100)}),
}  # fmt: skip


def called(call):
    try:
        call()
    except (LookupError, TypeError):
        return


@pytest.mark.parametrize("name", CALLS)
def test_memory_is_released(name):
    called(CALLS[name])
    gc.freeze()  # collecting the objects of all other tests takes seconds
    tracemalloc.start()
    try:
        sizes = []
        for _ in range(6):
            for _ in range(5):
                called(CALLS[name])
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
        gc.unfreeze()
    # Other threads allocate memory now and then; a leak grows in every round.
    assert min(after - before for before, after in pairwise(sizes)) < 100, sizes


def test_reference_counts_are_unchanged():
    values = [
        f"text {id(object())}",
        f"é{id(object())}",
        int("9" * 12),
        float("2.5"),
        ["x"],
        {"y": 1},
    ]
    gc.collect()
    before = [*map(sys.getrefcount, values)]
    for _ in range(50):
        item = {f"k{place}": value for place, value in enumerate(values)}
        items.pair([item, values], [dict(item), values])
        made = items.cells(
            [item, {"a": values[0], "b": values[2]}], None, 99, folded, lambda *_: {}
        )
        items.near(made, made, 0.1, 1.0, 99, 0)
        items.rows([None, 5], {1: values[3]})
        del item, made
    gc.collect()
    assert [*map(sys.getrefcount, values)] == before
