"""Misses: the path and the reason."""

from __future__ import annotations

import pytest

from fieldmark.compare.date import DateMatch
from fieldmark.compare.distance import Distance
from fieldmark.compare.iou import Iou
from fieldmark.compare.numeric import Boolean, NumericTolerance
from fieldmark.compare.semantic import Semantic
from fieldmark.evaluators.field_evaluators import FieldAccuracy
from fieldmark.model.rule import Rule

BOX = [10, 10, 30, 30]


@pytest.mark.parametrize(
    ("comparator", "expected", "candidate", "said"),
    [
        pytest.param(Iou(), BOX, [30, 10, 10, 30], "at (invalid bounding box)", id="not-a-box"),
        pytest.param(Iou(), BOX, [0, 0, 1, 1], "at", id="no-overlap"),
        pytest.param(Distance(), [1, 2], [1, None], "at (invalid point)", id="not-a-point"),
        pytest.param(Distance(), [1, 2], [1, 2, 3], "at (dimension mismatch)", id="different-dimension"),
        pytest.param(Semantic(), "It was paid.", "It was not paid.", "at (negations differ: none vs. not)", id="guard-rejects"),
        pytest.param(Semantic(), "It was paid.", "A blue car", "at", id="dissimilar-strings"),
        pytest.param(NumericTolerance(), 5, float("nan"), "at (invalid number)", id="not-a-number"),
        pytest.param(DateMatch(), "2024-05-03", "soon", "at (unparseable date)", id="not-a-date"),
        pytest.param(Boolean(), True, "perhaps", "at (not a boolean)", id="not-yes-or-no"),
    ],
)  # fmt: skip
def test_misses_have_a_reason(comparator, expected, candidate, said):
    evaluator = FieldAccuracy(fields=(Rule(path="at", comparator=comparator),))
    score = evaluator.evaluate({"at": expected}, {"at": candidate})
    assert (score.hits, score.misses) == ((), (said,))
