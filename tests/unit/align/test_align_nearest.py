"""Nearest counterparts of items that were not aligned."""

from __future__ import annotations

import pytest

from fieldmark.align.nearest import nearest_counterparts


@pytest.mark.parametrize(
    ("expected", "candidate", "nearest"),
    [
        pytest.param({2: "blue"}, {2: "red", 5: "blue"}, {2: (2, 0.0)}, id="same-position-first"),
        pytest.param({0: "blue"}, {4: "bleu", 5: "red"}, {0: (4, 0.5)}, id="then-the-most-similar"),
        pytest.param({0: "blue"}, {4: "xxxx"}, {}, id="nothing-similar"),
        pytest.param({0: "a"}, {}, {}, id="nothing-left-on-the-other-side"),
        pytest.param({0: "blue", 1: "blux"}, {4: "blue"}, {0: (4, 1.0)}, id="counterpart-of-one-item"),
        pytest.param({"k": {"a": 1}}, {"k": {"a": 2}}, {"k": ("k", 0.0)}, id="same-key-of-a-map"),
    ],
)  # fmt: skip
def test_nearest_counterparts(expected, candidate, nearest):
    assert nearest_counterparts(expected, candidate) == nearest


def test_many_items_have_counterparts_only_by_position():
    expected = {place: f"a{place}" for place in range(200)}
    candidate = {place: f"a{place}" for place in range(199, 400)}
    assert nearest_counterparts(expected, candidate) == {199: (199, 1.0)}
