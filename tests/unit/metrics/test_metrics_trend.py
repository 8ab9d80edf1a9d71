"""A figure over iterations: when to go on, and when to stop."""

from __future__ import annotations

import pytest

from fieldmark.errors import OptionError
from fieldmark.metrics.trend import Stop, TrendOptions, trend


def steps(*values):
    return [(f"run-{number}", value) for number, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "best", "stop"),
    [
        pytest.param([], None, Stop.GO_ON, id="nothing-yet"),
        pytest.param([0.5], "run-0", Stop.GO_ON, id="a-beginning"),
        pytest.param([0.5, 0.6, 0.7], "run-2", Stop.GO_ON, id="steady-gains"),
        pytest.param([0.5, 0.95], "run-1", Stop.TARGET, id="the-target-is-reached"),
        pytest.param([0.5, 0.90], "run-1", Stop.TARGET, id="at-the-target-is-reached"),
        pytest.param([0.95, 0.5], "run-0", Stop.TARGET, id="the-best-run-counts-not-the-last"),
        pytest.param([0.7, 0.7, 0.7], "run-0", Stop.GO_ON, id="two-without-gain-are-patience"),
        pytest.param([0.7, 0.7, 0.7, 0.7], "run-0", Stop.PLATEAU, id="three-are-a-plateau"),
        pytest.param(
            [0.7, 0.705, 0.708, 0.709], "run-3", Stop.PLATEAU, id="gains-too-small-to-count"
        ),
        pytest.param([0.7, 0.705, 0.711, 0.712], "run-3", Stop.GO_ON, id="small-gains-add-up"),
        pytest.param([0.7, 0.6, 0.6, 0.72], "run-3", Stop.GO_ON, id="a-gain-after-losses"),
        pytest.param([0.7, None, None, None], "run-0", Stop.PLATEAU, id="undefined-is-no-gain"),
    ],
)
def test_when_to_stop(values, best, stop):
    found = trend(steps(*values))
    assert (found.best, found.stop) == (best, stop)


def test_gains_are_over_the_best_before():
    found = trend(steps(0.5, 0.7, 0.6, 0.75))
    assert [step.gain for step in found.steps] == [None, *map(pytest.approx, (0.2, -0.1, 0.05))]
    assert [step.best for step in found.steps] == [0.5, 0.7, 0.7, 0.75]
    assert [step.counts for step in found.steps] == [True, True, False, True]


@pytest.mark.parametrize(
    "options", [{"target": 1.5}, {"patience": 0}, {"min_gain": -0.1}, {"target": float("nan")}]
)
def test_what_cannot_be_a_setting(options):
    with pytest.raises(OptionError):
        TrendOptions(**options)
