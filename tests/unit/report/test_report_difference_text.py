"""The change of a metric and the numbers of cases in the conclusion of a comparison."""

from __future__ import annotations

import pytest

import fieldmark as fm
from fieldmark.metrics.difference import DiffVerdict, MetricDifference
from fieldmark.report.difference_text import change_text


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        pytest.param(0.25, 0.5, "+0.250", id="gain"),
        pytest.param(0.5, 0.25, "−0.250", id="loss"),
        pytest.param(0.5, 0.5, "·", id="none"),
        pytest.param(0.0163, 0.0167, "+<0.001", id="rounded-to-none"),
        pytest.param(0.8507, 0.8513, "+0.001", id="equal-after-rounding"),
        pytest.param(0.8504, 0.8516, "+0.001", id="not-the-difference-of-rounded-values"),
        pytest.param(0.5, 0.50001, "+<0.001", id="tiny"),
        pytest.param(None, 0.5, "–", id="undefined"),
    ],
)
def test_a_change_is_never_shown_as_none(before, after, text):
    delta = None if before is None else after - before
    metric = MetricDifference(
        before=before,
        after=after,
        delta=delta,
        interval=None,
        p=1.0,
        adjusted=1.0,
        word=DiffVerdict.NOT_PROVEN,
        improved=0,
        worse=0,
        differing=0,
    )
    assert change_text(metric) == text


def test_cases_that_changed_with_the_same_score_are_not_unchanged(tmp_path):
    truth = [{"a": 1, "b": 2}] * 2
    candidates = {"before": [{"a": 1}, {"a": 1}], "after": [{"b": 2}, {"a": 1}]}
    for name, rows in candidates.items():
        fm.score(list(zip(truth, rows, strict=True)), out=tmp_path / name)
    diff = fm.diff(tmp_path / "before", tmp_path / "after")
    text = "0 improved, 0 worse, 1 unchanged, 1 changed with the same score"
    assert f": {text}\n" in repr(diff)
    assert diff.to_dict()["cases"]["mixed"] == 1
