"""Pairs of similar item lists, and which values the extension must handle itself."""

from __future__ import annotations

import math
from contextlib import contextmanager

import pytest
from hypothesis import strategies as st

from fieldmark.align import compiled
from json_strategies import any_json, look_alikes, small_json

__all__ = ["flat_items", "item_lists", "odd_values", "python_way", "retyped", "usual"]

DEEPEST = 32

odd_values = st.sampled_from(
    [
        math.nan, math.inf, -math.inf, 2**53, 2**53 + 1, -(2**53) - 1, 2.0**53, 2**63 - 1, 2**63,
        -(2**63), 2.0**63, -(2.0**63), 10**30, 1e30, 1e16, 10**16, "\ud800", "a\udc00", "ß", "STRASSE",
        "İ", "ſ", "K", "Ǆ", "\x1cA\x1f", "\x85 B\xa0", " \u2003", "\t\n", "A b ", "日本", "😀", [[]], [{}],
    ]
)  # fmt: skip
"""Values at the limits of what the extension handles."""

leaves = st.one_of(look_alikes, odd_values, st.sampled_from(["blue", "Blue ", "bleu", 2, 2.5, 7]))
keys = st.sampled_from(["a", "b", "c", "é", "日"])
flat_items = st.dictionaries(keys, leaves, max_size=4)
"""Small flat objects, like most items."""

values = st.one_of(flat_items, flat_items, leaves, small_json, any_json)


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


def usual(value, levels=DEEPEST):
    """Return whether the extension handles these values."""
    if isinstance(value, dict):
        return levels > 0 and all(usual(inner, levels - 1) for inner in value.values())
    if isinstance(value, list):
        return levels > 0 and all(usual(inner, levels - 1) for inner in value)
    if type(value) is int:
        return -(2**63) <= value < 2**63
    return type(value) is not float or math.isfinite(value)


@contextmanager
def python_way():
    """Use the package without its extensions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "COMPILED", False)
        yield
