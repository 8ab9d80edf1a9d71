"""Hypothesis strategies for JSON: any value, and pairs of similar documents.

Two unrelated documents share no fields and test little. A candidate is therefore its truth with
typical mistakes: wrong, empty or missing values, values in another structure, extra keys, and
missing, duplicate or reordered items.
"""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

__all__ = [
    "any_json",
    "changed",
    "document_pairs",
    "documents",
    "look_alikes",
    "same_structure",
    "small_json",
]

# --- any value ------------------------------------------------------------------------------------

texts = st.text(st.characters(codec=None, categories=None), max_size=12)
numbers = st.one_of(
    st.integers(min_value=-(10**20), max_value=10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([2**53, 2**53 + 1, 0.1 + 0.2, 0.3, -0.0, 5e-324, 1e308]),
)
look_alikes = st.sampled_from(
    [0, 0.0, -0.0, 1, 1.0, True, False, "1", "true", "", " ", None, [], {}, [1], [True], "é", "é"]
)
"""Values that a careless comparison confuses."""

keys = st.one_of(
    st.sampled_from(
        ["a", "A", "a.b", "a b", "a[0]", "[*]", "*", "**", "$", "", "é", "é", '"', "0"]
    ),
    texts,
)
any_json = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts, look_alikes),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=16,
)

# --- similar documents ----------------------------------------------------------------------------

FIELDS: Final = ("a", "b", "name", "total", "x.y")
LISTS: Final = ("items", "parts")
leaves = st.sampled_from(
    [
        None,
        "",
        "  ",
        "N/A",
        0,
        1,
        2.5,
        100,
        100.004,
        True,
        False,
        "1",
        "100",
        "blue",
        "Blue",
        "bluer",
    ]
)
hollows = st.sampled_from([{}, []])


def _containers(inner: st.SearchStrategy) -> st.SearchStrategy:
    """Objects with few different keys, so that documents share fields; lists mostly have their own keys."""
    plain = dict.fromkeys(FIELDS, inner)
    listed = {field: st.lists(inner, max_size=4) | inner for field in LISTS}
    objects = st.fixed_dictionaries({}, optional=plain | listed)
    return st.one_of(objects, objects, st.lists(inner, max_size=3))


small_json = st.recursive(st.one_of(leaves, leaves, leaves, hollows), _containers, max_leaves=12)
documents = st.one_of(*[_containers(small_json)] * 6, small_json)
"""Mostly objects, sometimes a list or a scalar."""

KEEP, REPLACE, EMPTY, WRAP = "keep", "replace", "empty", "wrap"
CHANGES: Final = (*[KEEP] * 9, REPLACE, EMPTY, WRAP)
mostly = st.sampled_from([True, True, True, True, True, False])


@st.composite
def document_pairs(draw, document=documents):
    """Generate a truth and a candidate derived from it by changes."""
    expected = draw(document)
    return expected, draw(changed(expected))


@st.composite
def changed(draw, value):
    """Generate a value changed at any depth."""
    change = draw(st.sampled_from(CHANGES))
    if change == REPLACE:
        return draw(small_json)
    if change == EMPTY:
        return draw(st.sampled_from([None, "", {}, []]))
    if change == WRAP:
        return draw(st.sampled_from([[value], {"a": value}]))
    if isinstance(value, dict):
        return _changed_object(draw, value)
    if isinstance(value, list):
        return _changed_list(draw, value)
    return value


def _changed_object(draw, value):
    kept = {key: draw(changed(inner)) for key, inner in value.items() if draw(mostly)}
    if not draw(mostly):
        kept[draw(st.sampled_from([*FIELDS, *LISTS]))] = draw(small_json)
    return kept


def _changed_list(draw, value):
    kept = [draw(changed(item)) for item in value if draw(mostly)]
    if not draw(mostly):
        kept.append(draw(st.sampled_from(value)) if value else draw(small_json))
    return kept if draw(mostly) else draw(st.permutations(kept))


@st.composite
def same_structure(draw, value):
    """Generate a value with the same structure, but other leaves, missing keys and shorter lists."""
    if isinstance(value, dict):
        return {key: draw(same_structure(inner)) for key, inner in value.items() if draw(mostly)}
    if isinstance(value, list):
        shorter = value if draw(mostly) else value[:-1]
        return [draw(same_structure(item)) for item in shorter]
    return value if draw(mostly) else draw(leaves)
