"""Pairs of similar item lists."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from json_strategies import any_json, look_alikes, small_json

__all__ = ["flat_items", "item_lists", "nested_items", "odd_values", "retyped"]

odd_values = st.sampled_from(
    [
        math.nan, math.inf, -math.inf, 2**53, 2**53 + 1, -(2**53) - 1, 2.0**53, 2**63 - 1, 2**63,
        -(2**63), 2.0**63, -(2.0**63), 10**30, 1e30, 1e16, 10**16, "\ud800", "a\udc00", "ß", "STRASSE",
        "İ", "ſ", "K", "Ǆ", "\x1cA\x1f", "\x85 B\xa0", " \u2003", "\t\n", "A b ", "日本", "😀", [[]], [{}],
    ]
)  # fmt: skip
"""Values at the limits of what the kernel decides."""

leaves = st.one_of(look_alikes, odd_values, st.sampled_from(["blue", "Blue ", "bleu", 2, 2.5, 7]))
keys = st.sampled_from(["a", "b", "c", "é", "日"])
flat_items = st.dictionaries(keys, leaves, max_size=4)
"""Small flat objects, like most items."""

rows = st.lists(leaves | flat_items | st.lists(leaves, max_size=2), max_size=3)
nested_items = st.dictionaries(
    keys, leaves | rows | st.dictionaries(keys, rows, max_size=2), max_size=4
)
"""Items with lists of scalars, of objects and of lists."""

values = st.one_of(flat_items, flat_items, nested_items, leaves, small_json, any_json)


@st.composite
def retyped(draw, value):
    """Return a value with some numbers of another type, and its keys in another order."""
    if isinstance(value, dict):
        order = draw(st.permutations(list(value)))
        return {key: draw(retyped(value[key])) for key in order}
    if isinstance(value, list):
        return [draw(retyped(item)) for item in value]
    if type(value) in (int, float) and value == value // 1 and abs(value) < 2**60:
        return draw(
            st.sampled_from([value, int(value), float(value), -0.0 if value == 0 else value])
        )
    return value


@st.composite
def item_lists(draw, value=values):
    """Generate two lists in which many items are equal or similar, and some occur twice."""
    pool = draw(st.lists(value, min_size=1, max_size=6))
    chosen = st.lists(st.sampled_from(pool), max_size=8)
    expected = draw(chosen)
    candidate = [draw(retyped(item)) if draw(st.booleans()) else item for item in draw(chosen)]
    return expected, candidate
