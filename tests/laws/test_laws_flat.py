"""Flat objects of a known shape are compared alike by the compiled part and by the walk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.align import compiled
from fieldmark.api.settings import settle
from fieldmark.plan import compile_plan, flat
from fieldmark.plan.shapes import LEARNT

RULES = {
    "nothing is said": {},
    "only what the truth has": {"scope": "truth"},
    "texts may resemble one another": {"match": "fuzzy"},
    "texts are patterns, of which some are broken": {"match": "regex"},
    "texts may be part of one another": {"match": "contains"},
    "everything is a date": {"match": "date"},
    "numbers may be close": {"match": "numeric_tolerance"},
    "everything is true or false": {"match": "boolean"},
    "a provider is asked": {"match": "semantic"},
    "some fields are ignored": {"rules": {"fields": [{"path": "**.a", "match": "ignore"}]}},
    "several values are right": {"rules": {"fields": [{"path": "**.a", "any_of": True}]}},
    "some words are empty": {"rules": {"empty_tokens": ["n/a", "x"]}},
    "blanks are values": {"rules": {"empty_blanks": False}},
    "only some fields count": {
        "scope": "configured",
        "rules": {"fields": [{"path": "items[].a"}, {"path": "items[].c", "match": "date"}]},
    },
}
SCALARS = (
    "x", "X ", "", " ", "n/a", "é", "(", "2024-01-02", "02.01.2024", "1", "true", None, True, False,
    0, 1, 1.0, -0.0, 2.5, 100.004, 100, 2**70, float("inf"),
)  # fmt: skip
scalars = st.sampled_from(SCALARS)
values = st.one_of(scalars, st.just([1]), st.just({"z": 1}))
KEYS = ("a", "b", "c", "d")


@st.composite
def object_pairs(draw):
    """An object with all the keys, mostly, and one that lacks, nulls, blanks or changes some."""
    rare = draw(st.integers(0, 9))
    expected = {key: draw(values if rare == 1 else scalars) for key in KEYS[rare == 2 :]}
    found = {}
    for key, value in expected.items():
        change = draw(st.sampled_from(("same", "same", "gone", "null", "blank", "other")))
        if change != "gone":
            other = {"same": st.just(value), "null": st.none(), "blank": st.just(" ")}
            found[key] = draw(other.get(change, values if rare == 3 else scalars))
    if rare == 4:
        found["new"] = draw(scalars)
    if draw(st.booleans()):
        found = dict(reversed(found.items()))
    return expected, found or {"a": 1}


def told(rules, pairs):
    """Everything about all pairs, one after the other, by a plan that met such objects before."""
    asked = {"rules": None, "convention": "confusion", "align": "index", **rules}
    plan = compile_plan(settle(**asked).rules)
    usual = [dict.fromkeys(KEYS, "x"), dict.fromkeys(KEYS, 1)]
    for _ in range(LEARNT + 1):
        plan.compare({"items": usual}, {"items": usual})
    blocks = [plan.compare({"items": [one] * 3}, {"items": [other] * 3}) for one, other in pairs]
    return [
        (block.cells, block.items, list(block.comparisons.items()), list(block.records(plan.table)))
        for block in blocks
    ], plan.table.attributes


@pytest.mark.parametrize("name", RULES)
@given(pairs=st.lists(object_pairs(), min_size=2, max_size=5))
def test_flat_objects_are_told_alike_both_ways(name, pairs):
    used = []

    class Counted(flat.Flat):
        def compare(self, *given):
            used.append(super().compare(*given))
            return used[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flat, "Flat", Counted)
        by_one = told(RULES[name], pairs)
        patch.setattr(compiled, "COMPILED", False)
        by_other = told(RULES[name], pairs)
    assert repr(by_one) == repr(by_other)
    assert any(used) or name in {"a provider is asked", "only some fields count"}
