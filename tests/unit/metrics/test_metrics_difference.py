"""Two runs on the same cases: which differences are significant."""

from __future__ import annotations

import pytest
from paired_runs import metrics_of, pairs_of

from fieldmark.errors import OptionError
from fieldmark.metrics import difference
from fieldmark.metrics.conventions import DEFAULT_CONVENTION
from fieldmark.metrics.difference import DiffVerdict, ResamplingOptions, paired_metrics
from fieldmark.metrics.gates import drop_gates

RIGHT, BAD, LEFT_OUT = {"a": "match"}, {"a": "wrong"}, {"a": "omission"}


@pytest.mark.parametrize(
    ("cases", "word", "delta"),
    [
        pytest.param(
            [(RIGHT, RIGHT)] * 5 + [(BAD, BAD)] * 5, DiffVerdict.SAME, 0.0, id="run-and-itself"
        ),
        pytest.param([(BAD, RIGHT)] * 10, DiffVerdict.BETTER, 1.0, id="all-cases-fixed"),
        pytest.param([(RIGHT, BAD)] * 10, DiffVerdict.WORSE, -1.0, id="all-cases-regressed"),
        pytest.param([(BAD, RIGHT)] * 4, DiffVerdict.SAME, 1.0, id="four-cases-are-not-enough"),
        pytest.param(
            [(BAD, RIGHT), (RIGHT, BAD)] * 20,
            DiffVerdict.SAME,
            0.0,
            id="equally-many-fixed-and-regressed",
        ),
        pytest.param(
            [(RIGHT, RIGHT)] * 90 + [(BAD, RIGHT)] * 10,
            DiffVerdict.BETTER,
            0.1,
            id="ten-of-a-hundred",
        ),
    ],
)
def test_conclusion_of_a_difference(cases, word, delta):
    found = metrics_of(*cases)
    for metric in (found.headline["mean_score"], found.headline["micro_f1"], found.attributes["a"]):
        assert metric.word is word
        assert metric.delta == pytest.approx(delta, abs=1e-6)


def test_interval_contains_the_difference():
    found = metrics_of(*[(RIGHT, RIGHT)] * 30, *[(BAD, RIGHT)] * 12, *[(RIGHT, BAD)] * 5)
    low, high = found.headline["mean_score"].interval
    assert low < 7 / 47 < high
    assert found.headline["mean_score"].delta == pytest.approx(7 / 47, abs=1e-6)
    assert (high - low) / 2 == pytest.approx(2.01 * (0.583 / 47**0.5), rel=0.15)


def test_same_seed_gives_the_same_result():
    cases = [(RIGHT, RIGHT)] * 30 + [(BAD, RIGHT)] * 12 + [(RIGHT, BAD)] * 5
    assert metrics_of(*cases) == metrics_of(*cases)
    assert metrics_of(*cases) != metrics_of(*cases, effort=ResamplingOptions(resamples=200, seed=5))


def test_p_values_of_many_attributes_are_adjusted():
    names = [f"f{number}" for number in range(20)]
    right = dict.fromkeys(names, "match")
    cases = [(right, right)] * 40 + [({**right, "f0": "wrong"}, right)] * 7
    found = metrics_of(*cases)
    assert found.attributes["f0"].p < 0.05 < found.attributes["f0"].adjusted
    assert found.attributes["f0"].word is DiffVerdict.SAME


def test_new_extra_attribute_is_worse():
    found = metrics_of(*[(RIGHT, {**RIGHT, "extra": "extra-key"})] * 12)
    assert found.attributes["extra"].before is None
    assert found.attributes["extra"].after == 0.0
    assert found.attributes["extra"].delta == -1.0
    assert found.attributes["extra"].word is DiffVerdict.WORSE


def test_attribute_without_values_has_no_difference():
    nothing = {"a": "match", "b": "null-null"}
    found = metrics_of(*[(nothing, nothing)] * 3)
    assert found.attributes["b"].delta is None
    assert found.attributes["b"].word is DiffVerdict.SAME


def test_fields_of_a_case_are_resampled_together():
    """Twenty changed fields in one case are one change, not twenty."""
    many_bad = {f"rows[{number}].x": "wrong" for number in range(20)}
    many_right = dict.fromkeys(many_bad, "match")
    found = metrics_of((many_bad, many_right), *[(many_right, many_right)] * 10)
    assert found.headline["micro_f1"].word is DiffVerdict.SAME


def test_fixed_and_regressed_cases_and_changed_outcomes():
    pairs, _ = pairs_of(
        (BAD, RIGHT), (LEFT_OUT, RIGHT), (RIGHT, LEFT_OUT), (BAD, LEFT_OUT), (RIGHT, RIGHT)
    )  # fmt: skip
    assert pairs.passes() == (2, 1)
    assert [change.case_id for change in pairs.fixed] == ["case-0", "case-1"]
    assert [change.case_id for change in pairs.regressed] == ["case-2"]
    assert pairs.shifts == {
        ("wrong_value", "match"): 1,
        ("omission", "match"): 1,
        ("match", "omission"): 1,
        ("wrong_value", "omission"): 1,
    }
    assert pairs.scores == {"up": 2, "down": 1, "same": 2}
    assert pairs.verdicts["fail", "pass"] == 2


def test_listed_cases_are_limited_to_the_largest_changes():
    half = {"a": "match", "b": "match", "c": "match", "d": "wrong"}
    whole = dict.fromkeys(half, "match")
    pairs, _ = pairs_of(*[(half, whole)] * 60, *[(BAD, RIGHT)] * 3, *[(half, whole)] * 140)
    assert len(difference.greatest(pairs.fixed)) == difference.SHOWN
    assert [each.gain for each in difference.greatest(pairs.fixed)[:4]] == [1, 1, 1, 0.25]
    assert pairs.passes() == (203, 0)


def test_beyond_a_limit_cases_share_rows_and_metrics_stay_the_same(monkeypatch):
    cases = [(RIGHT, RIGHT)] * 300 + [(BAD, RIGHT)] * 60 + [(RIGHT, BAD)] * 20
    exact = metrics_of(*cases)
    monkeypatch.setattr(difference, "GROUPS", 64)
    pairs, table = pairs_of(*cases)
    assert len(pairs.before) == 64
    grouped = paired_metrics(pairs, table, table, DEFAULT_CONVENTION.counting)
    one, other = exact.headline["mean_score"], grouped.headline["mean_score"]
    assert one.delta == other.delta
    widths = [each.interval[1] - each.interval[0] for each in (one, other)]
    # Sorted cases must not make rows similar: assigning them in turn would halve the interval.
    assert widths[0] == pytest.approx(widths[1], rel=0.3)
    assert other.word is DiffVerdict.BETTER


def summary(**metrics):
    return {"micro": {"tp": 1, "fp": 0, "fn": 0, "f1": 0.9}, "mean_score": 0.8, **metrics}


@pytest.mark.parametrize(
    ("name", "limit", "before", "after", "passed"),
    [
        pytest.param("mean_score", 0.01, 0.80, 0.80, True, id="no-drop"),
        pytest.param("mean_score", 0.01, 0.80, 0.79, True, id="drop-at-the-limit"),
        pytest.param("mean_score", 0.01, 0.80, 0.78, False, id="drop-above-the-limit"),
        pytest.param("mean_score", 0.0, 0.80, 0.95, True, id="gain"),
        pytest.param("mean_score", 0.0, None, 0.10, True, id="undefined-in-the-baseline"),
        pytest.param("mean_score", 0.5, 0.80, None, False, id="undefined-now"),
        pytest.param("hallucination", 0.0, 0.10, 0.05, True, id="fewer-hallucinations-are-no-drop"),
        pytest.param("hallucination", 0.0, 0.10, 0.20, False, id="more-hallucinations-are-a-drop"),
    ],
)
def test_drop_gate(name, limit, before, after, passed):
    one, two = (
        summary(**{name: value}, quality={"hallucination": value}) for value in (before, after)
    )
    [gate] = drop_gates(one, two, {name: limit})
    assert gate.passed is passed
    assert gate.name == f"drop of {name}"


def test_gate_fails_if_nothing_was_scored():
    empty = {"micro": {"tp": 0, "fp": 0, "fn": 0}, "mean_score": 1.0}
    [gate] = drop_gates(summary(), empty, {"mean_score": 0.5})
    assert not gate.passed


def test_unknown_metric_is_rejected_with_a_suggestion():
    with pytest.raises(OptionError, match="mean_score"):
        drop_gates(summary(), summary(), {"mean_scor": 0.1})
