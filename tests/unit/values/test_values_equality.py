from __future__ import annotations

import pytest

from fieldmark.values.equality import equal

NAN = float("nan")


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
        pytest.param("\ud800", "\ud800", True, id="lone-surrogates"),
    ],
)
def test_strict_equality(one, other, same):
    assert equal(one, other) is same
    assert equal(other, one) is same


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
