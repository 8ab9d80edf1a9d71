from __future__ import annotations

import pytest

from fieldmark.metrics.summary import AttributeSummary, case_sort_key, worst_attributes
from fieldmark.metrics.taxonomy import ErrorCounts


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(("b", 0.2, 1, 0), ("a", 0.5, 9, 0), id="lower-f1-comes-first"),
        pytest.param(("b", 0.5, 3, 0), ("a", 0.5, 2, 0), id="then-more-mistakes"),
        pytest.param(("a", 0.5, 2, 0), ("b", 0.5, 2, 0), id="then-the-path"),
        pytest.param(("b", 0.0, 1, 0), ("a", 0.1, 1, 0), id="nothing-matched-is-worst"),
        pytest.param(("b", None, 1, 0), ("a", 0.1, 1, 0), id="undefined-with-mistakes-is-worst"),
        pytest.param(("b", None, 0, 1), ("a", 0.1, 1, 0), id="undefined-with-errors-is-worst"),
        pytest.param(
            ("b", 0.7375, 3, 0), ("a", 0.7374999999999999, 2, 0), id="float-noise-is-a-tie"
        ),
    ],
)
def test_order_of_attributes(first, second):
    found = dict(attribute(*row) for row in (second, first))
    assert [path for path, _ in worst_attributes(found)] == [first[0], second[0]]


@pytest.mark.parametrize("f1", [None, 0.0])
def test_attribute_with_nothing_to_count_comes_last(f1):
    nothing = attribute("a", f1, 0, 0, tp=0)
    perfect = attribute("b", 1.0, 0, 0)
    assert [path for path, _ in worst_attributes(dict([nothing, perfect]))] == ["b", "a"]


def attribute(path, f1, mistakes, errors, *, tp=1):
    """Return an attribute with more false positives, the fewer mistakes it has."""
    return path, AttributeSummary(
        tp=tp, tn=0, fp=tp * (9 - mistakes), fn=0, precision=None, recall=None, f1=f1, accuracy=None,
        errors=errors, errors_by_type=ErrorCounts(wrong_value=mistakes),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param((0.2, 1, 7), (0.5, 9, 0), id="lower-score-comes-first"),
        pytest.param((0.5, 3, 7), (0.5, 2, 0), id="then-more-mistakes"),
        pytest.param((0.5, 2, 0), (0.5, 2, 7), id="then-the-order-of-the-run"),
        pytest.param((None, 0, 7), (0.0, 9, 0), id="no-score-is-worst"),
        pytest.param((0.7375, 2, 0), (0.7374999999999999, 2, 7), id="float-noise-is-a-tie"),
    ],
)
def test_order_of_cases(first, second):
    assert case_sort_key(*first) < case_sort_key(*second)
