from __future__ import annotations

import pytest

from fieldmark.values.equality import equal, typed_key

NAN, INFINITY = float("nan"), float("inf")


def nested(depth, core):
    for level in range(depth):
        core = [core] if level % 2 else {"a": core}
    return core


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(1, 1.0, True, id="one-and-one-point-zero"),
        pytest.param(0.0, -0.0, True, id="minus-zero"),
        pytest.param(1, True, False, id="boolean"),
        pytest.param(0.0, False, False, id="false-is-not-zero"),
        pytest.param([1], [True], False, id="boolean-is-no-number-in-a-list"),
        pytest.param({"a": [{"b": 0}]}, {"a": [{"b": False}]}, False, id="nor-deep-inside"),
        pytest.param({"a": 1}, {"a": 1.0}, True, id="numbers-by-value-inside"),
        pytest.param(1, "1", False, id="text-is-no-number"),
        pytest.param(2**53 + 1, 2.0**53, False, id="long-integers-are-exact"),
        pytest.param(10**400, 10**400, True, id="integers-beyond-floats"),
        pytest.param(10**400, 1.5, False, id="integers-beyond-floats-against-a-float"),
        pytest.param(NAN, NAN, False, id="nan-equals-nothing"),
        pytest.param([NAN], [NAN], False, id="nan-equals-nothing-inside-a-list"),
        pytest.param({"a": NAN}, {"a": NAN}, False, id="nan-equals-nothing-inside-an-object"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, id="order-of-keys-is-free"),
        pytest.param([1, 2], [2, 1], False, id="order-of-items-matters"),
        pytest.param([1], [1, 1], False, id="lists-of-other-lengths"),
        pytest.param({"a": None}, {}, False, id="null-is-not-absent"),
        pytest.param({"a": 1}, {"b": 1}, False, id="other-keys"),
        pytest.param([], {}, False, id="empty-list-is-no-empty-object"),
        pytest.param("a", "A", False, id="nothing-is-folded"),
        pytest.param("a", "a ", False, id="nothing-is-trimmed"),
        pytest.param("é", "e\u0301", False, id="nothing-is-composed"),
        pytest.param(None, False, False, id="null-is-not-false"),
        pytest.param(None, None, True, id="null"),
        pytest.param(10**16, 1e16, True, id="integer-and-a-float-with-an-exponent"),
        pytest.param(2**70, 2.0**70, True, id="integer-that-needs-many-digits"),
        pytest.param("[1]", [1], False, id="text-is-no-list"),
        pytest.param(None, "null", False, id="null-is-no-word"),
        pytest.param(None, INFINITY, False, id="infinity-is-not-null"),
        pytest.param([INFINITY], [INFINITY], True, id="infinity-is-itself"),
        pytest.param(INFINITY, -INFINITY, False, id="infinities-have-signs"),
        pytest.param("NaN", "NaN", True, id="word-nan-is-a-word"),
        pytest.param(
            {"a": 5, "b": "e1.0"},
            {"b": "e1.0", "a": 5.0},
            True,
            id="numbers-beside-text-with-an-exponent",
        ),
        pytest.param(["\ud800", 1], ["\ud800", 1.0], True, id="lone-surrogates"),
    ],
)
def test_strict_equality_which_keys_share(one, other, same):
    assert equal(one, other) is same
    assert equal(other, one) is same
    assert (typed_key(one) == typed_key(other)) is same


@pytest.mark.parametrize("depth", [200, 100_000])
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(1, 1.0, True, id="same"),
        pytest.param(1, True, False, id="boolean-for-a-number"),
        pytest.param("x", "y", False, id="another-text"),
        pytest.param([], 0, False, id="container-for-a-scalar"),
    ],
)
def test_any_depth_is_supported(depth, one, other, same):
    assert equal(nested(depth, one), nested(depth, other)) is same
