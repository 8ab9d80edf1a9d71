"""A metric over iterations: when to continue and when to stop."""

from __future__ import annotations

import pytest

from fieldmark.analyses.runs import TrendConclusion, TrendOptions, trend
from fieldmark.errors import OptionError


def steps(*values):
    return [(f"run-{number}", value) for number, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "best", "conclusion"),
    [
        pytest.param([], None, TrendConclusion.CONTINUE, id="no-runs"),
        pytest.param([0.5], "run-0", TrendConclusion.CONTINUE, id="first-run"),
        pytest.param([0.5, 0.6, 0.7], "run-2", TrendConclusion.CONTINUE, id="steady-gains"),
        pytest.param([0.5, 0.95], "run-1", TrendConclusion.TARGET_REACHED, id="target-reached"),
        pytest.param([0.5, 0.90], "run-1", TrendConclusion.TARGET_REACHED, id="target-reached-exactly"),
        pytest.param([0.5, 0.9 - 1e-16], "run-1", TrendConclusion.TARGET_REACHED, id="target-reached-despite-rounding"),
        pytest.param([0.5, 0.899999], "run-1", TrendConclusion.CONTINUE, id="just-below-the-target"),
        pytest.param([0.95, 0.5], "run-0", TrendConclusion.TARGET_REACHED, id="best-run-reached-the-target"),
        pytest.param([0.7, 0.7, 0.7], "run-0", TrendConclusion.CONTINUE, id="two-without-gain-continue"),
        pytest.param([0.7, 0.7, 0.7, 0.7], "run-0", TrendConclusion.PLATEAU, id="three-without-gain-are-a-plateau"),
        pytest.param([0.7, 0.705, 0.708, 0.709], "run-3", TrendConclusion.PLATEAU, id="small-gains-are-a-plateau"),
        pytest.param([0.7, 0.705, 0.711, 0.712], "run-3", TrendConclusion.CONTINUE, id="small-gains-add-up"),
        pytest.param([0.7, 0.71, 0.71, 0.71], "run-1", TrendConclusion.CONTINUE, id="smallest-gain-counts"),
        pytest.param([0.28, 0.29, 0.29, 0.29], "run-1", TrendConclusion.CONTINUE, id="smallest-gain-counts-despite-rounding"),
        pytest.param([0.7, 0.709999, 0.7, 0.7], "run-1", TrendConclusion.PLATEAU, id="less-than-the-smallest-gain"),
        pytest.param([0.7, 0.6, 0.6, 0.72], "run-3", TrendConclusion.CONTINUE, id="gain-after-losses"),
        pytest.param([0.7, None, None, None], "run-0", TrendConclusion.PLATEAU, id="undefined-is-not-a-gain"),
    ],
)  # fmt: skip
def test_conclusion_says_when_to_stop(values, best, conclusion):
    found = trend(steps(*values))
    assert (found.best, found.conclusion) == (best, conclusion)


@pytest.mark.parametrize(
    ("values", "best", "conclusion"),
    [
        pytest.param([0.3, 0.2, 0.1], "run-2", TrendConclusion.CONTINUE, id="steady-gains"),
        pytest.param([0.3, 0.0, 0.1], "run-1", TrendConclusion.TARGET_REACHED, id="target"),
        pytest.param([0.2, 0.3, 0.4, 0.5], "run-0", TrendConclusion.PLATEAU, id="losses"),
        pytest.param([30, 12, 3], "run-2", TrendConclusion.CONTINUE, id="counts"),
    ],
)
def test_metric_where_lower_is_better_must_fall(values, best, conclusion):
    found = trend(steps(*values), less_is_better=True)
    assert (found.best, found.conclusion, found.target) == (best, conclusion, 0.0)
    assert found.steps[1].gain == pytest.approx(values[0] - values[1])


@pytest.mark.parametrize("less_is_better", [False, True])
def test_the_first_of_two_equal_values_is_the_best(less_is_better):
    for values in ((0.7374999999999999, 0.7375), (0.7375, 0.7374999999999999)):
        found = trend([("first", values[0]), ("second", values[1])], less_is_better=less_is_better)
        assert found.best == "first"


@pytest.mark.parametrize("values", [[0.5], [None, 1.0]])
def test_share_cannot_have_a_target_above_one(values):
    with pytest.raises(OptionError, match="target: must be between 0 and 1"):
        trend(steps(*values), TrendOptions(target=1.5))
    assert trend(steps(5, 7), TrendOptions(target=6)).conclusion is TrendConclusion.TARGET_REACHED


def test_gains_are_relative_to_the_previous_best():
    found = trend(steps(0.5, 0.7, 0.6, 0.75))
    assert [step.gain for step in found.steps] == [None, *map(pytest.approx, (0.2, -0.1, 0.05))]
    assert [step.best for step in found.steps] == [0.5, 0.7, 0.7, 0.75]
    assert [step.progress for step in found.steps] == [True, True, False, True]


@pytest.mark.parametrize(
    "options", [{"target": -0.1}, {"patience": 0}, {"min_gain": -0.1}, {"target": float("nan")}]
)
def test_invalid_settings_are_rejected(options):
    with pytest.raises(OptionError):
        TrendOptions(**options)
