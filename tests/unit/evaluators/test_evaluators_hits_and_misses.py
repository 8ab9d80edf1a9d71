"""Misses as people read them: the path, and why where that needs words."""

from __future__ import annotations

import pytest

from fieldmark.compare.boolean import Boolean
from fieldmark.compare.date import DateMatch
from fieldmark.compare.distance import Distance
from fieldmark.compare.iou import Iou
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.compare.semantic import Semantic
from fieldmark.evaluators.field_accuracy import FieldAccuracy
from fieldmark.model.rule import Rule

BOX = [10, 10, 30, 30]


@pytest.mark.parametrize(
    ("comparator", "expected", "candidate", "said"),
    [
        pytest.param(Iou(), BOX, [30, 10, 10, 30], "at (invalid bounding box)", id="no-box"),
        pytest.param(Iou(), BOX, [0, 0, 1, 1], "at", id="a-box-that-is-elsewhere"),
        pytest.param(Distance(), [1, 2], [1, None], "at (invalid point)", id="no-point"),
        pytest.param(Distance(), [1, 2], [1, 2, 3], "at (dimension mismatch)", id="another-dimension"),
        pytest.param(Semantic(), "It was paid.", "It was not paid.", "at (negations differ: none against not)", id="a-guard-objects"),
        pytest.param(Semantic(), "It was paid.", "A blue car", "at", id="texts-that-are-unlike"),
        pytest.param(NumericTolerance(), 5, float("nan"), "at (invalid number)", id="no-number"),
        pytest.param(DateMatch(), "2024-05-03", "soon", "at (unparseable date)", id="no-date"),
        pytest.param(Boolean(), True, "perhaps", "at (not a boolean)", id="neither-yes-nor-no"),
    ],
)  # fmt: skip
def test_a_miss_says_why(comparator, expected, candidate, said):
    evaluator = FieldAccuracy(fields=(Rule(path="at", comparator=comparator),))
    score = evaluator.evaluate({"at": expected}, {"at": candidate})
    assert (score.hits, score.misses) == ((), (said,))
