from __future__ import annotations

import pytest

from fieldmark.values.walk import leaves


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param({"a": 1, "b": {"c": "x"}}, [("a", 1), ("b.c", "x")], id="objects-are-walked"),
        pytest.param({"a": [1, {"b": 2}]}, [("a[0]", 1), ("a[1].b", 2)], id="lists-are-walked"),
        pytest.param({"a": {}, "b": []}, [("a", {}), ("b", [])], id="empty-containers-are-leaves"),
        pytest.param({"a": None}, [("a", None)], id="null-is-a-leaf"),
        pytest.param({"a.b": 1}, [('["a.b"]', 1)], id="keys-are-quoted-where-needed"),
        pytest.param([{"x": 1}], [("[0].x", 1)], id="a-document-that-is-a-list"),
        pytest.param(5, [("$", 5)], id="a-document-that-is-a-scalar"),
        pytest.param({}, [("$", {})], id="an-empty-document"),
    ],
)
def test_leaves_with_their_paths(document, expected):
    assert list(leaves(document)) == expected


def test_a_prefix_stands_in_front():
    assert list(leaves({"b": [1]}, "a")) == [("a.b[0]", 1)]


def test_no_depth_is_too_deep():
    document = 1
    for _ in range(5_000):
        document = [document]
    assert list(leaves(document)) == [("[0]" * 5_000, 1)]
