from __future__ import annotations

import pytest

from fieldmark.metrics.worst_first import attribute_sort_key, case_sort_key


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(("b", 0.2, 1, 0), ("a", 0.5, 9, 0), id="a-lower-f1-comes-first"),
        pytest.param(("b", 0.5, 3, 0), ("a", 0.5, 2, 0), id="then-more-mistakes"),
        pytest.param(("a", 0.5, 2, 0), ("b", 0.5, 2, 0), id="then-the-path"),
        pytest.param(("b", None, 1, 0), ("a", 0.1, 1, 0), id="undefined-with-mistakes-is-worst"),
        pytest.param(("b", None, 0, 1), ("a", 0.1, 1, 0), id="undefined-with-errors-is-worst"),
        pytest.param(("b", 1.0, 0, 0), ("a", None, 0, 0), id="undefined-without-either-is-best"),
    ],
)
def test_order_of_attributes(first, second):
    assert attribute_sort_key(*first) < attribute_sort_key(*second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param((0.2, 1, 7), (0.5, 9, 0), id="a-lower-score-comes-first"),
        pytest.param((0.5, 3, 7), (0.5, 2, 0), id="then-more-mistakes"),
        pytest.param((0.5, 2, 0), (0.5, 2, 7), id="then-the-order-of-the-run"),
        pytest.param((None, 0, 7), (0.0, 9, 0), id="no-score-is-worst"),
    ],
)
def test_order_of_cases(first, second):
    assert case_sort_key(*first) < case_sort_key(*second)
