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


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(1, 1.0, True, id="numbers-by-value"),
        pytest.param({"a": 5, "b": "e1.0"}, {"b": "e1.0", "a": 5.0}, True, id="in-any-key-order"),
        pytest.param(0.0, -0.0, True, id="minus-zero"),
        pytest.param(10**16, 1e16, True, id="integer-and-a-float-with-an-exponent"),
        pytest.param(2**70, 2.0**70, True, id="integer-that-needs-many-digits"),
        pytest.param(2**53 + 1, 2.0**53, False, id="long-integers-are-exact"),
        pytest.param(1, True, False, id="boolean"),
        pytest.param([0], [False], False, id="nor-inside"),
        pytest.param(1, "1", False, id="text-is-no-number"),
        pytest.param("[1]", [1], False, id="text-is-no-list"),
        pytest.param(None, INFINITY, False, id="infinity-is-not-null"),
        pytest.param(None, "null", False, id="null-is-no-word"),
        pytest.param([INFINITY], [INFINITY], True, id="infinity-is-itself"),
        pytest.param(INFINITY, -INFINITY, False, id="infinities-have-signs"),
        pytest.param(NAN, NAN, False, id="nan-equals-nothing"),
        pytest.param({"a": [NAN]}, {"a": [NAN]}, False, id="nan-inside"),
        pytest.param("NaN", "NaN", True, id="word-nan-is-a-word"),
        pytest.param(["\ud800", 1], ["\ud800", 1.0], True, id="beside-lone-surrogates"),
    ],
)
def test_only_equal_values_share_a_key(one, other, same):
    assert (typed_key(one) == typed_key(other)) is same


def test_integers_cannot_be_chosen_so_that_their_keys_collide():
    colliding = [number * (2**61 - 1) for number in range(100_000)]
    start = time.process_time()
    assert len({typed_key(number) for number in colliding}) == len(colliding)
    assert time.process_time() - start < 10
