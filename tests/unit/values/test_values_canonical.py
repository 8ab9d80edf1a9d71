from __future__ import annotations

import time

import pytest

from fieldmark.values.equality import canonical_text, typed_key

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({"b": [1, 2.5], "a": None}, '{"a":null,"b":[1,2.5]}', id="keys-in-order"),
        pytest.param({"b": {"d": 1, "c": True}}, '{"b":{"c":true,"d":1}}', id="at-every-depth"),
        pytest.param([], "[]", id="empty-list"),
        pytest.param({"a": {}}, '{"a":{}}', id="empty-object"),
        pytest.param("é\n", '"é\\n"', id="text-is-escaped-as-little-as-possible"),
        pytest.param([NAN, None], "[NaN,null]", id="nan-is-not-null"),
        pytest.param([-INFINITY], "[-Infinity]", id="infinity"),
        pytest.param([10**30, "a"], f'[{10**30},"a"]', id="long-integers"),
        pytest.param({"\ud800": "\udfff"}, '{"\ud800":"\udfff"}', id="lone-surrogates"),
        pytest.param([10**5000], f"[{hex(10**5000)}]", id="integers-beyond-the-digit-limit"),
    ],
)
def test_every_value_has_one_text(value, text):
    assert canonical_text(value) == text.encode("utf-8", "surrogatepass")


def test_deep_value_has_a_text():
    value = []
    for _ in range(100_000):
        value = [value]
    assert canonical_text(value) == b"[" * 100_001 + b"]" * 100_001
    assert typed_key(value) == typed_key([value][0])


def test_integers_cannot_be_chosen_so_that_their_keys_collide():
    colliding = [number * (2**61 - 1) for number in range(100_000)]
    start = time.process_time()
    assert len({typed_key(number) for number in colliding}) == len(colliding)
    assert time.process_time() - start < 10
