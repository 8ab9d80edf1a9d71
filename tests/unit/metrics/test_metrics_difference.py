"""Two runs on the same cases: what is told apart, and what is not."""

from __future__ import annotations

import pytest
from paired_runs import figures_of, pairs_of

from fieldmark.errors import OptionError
from fieldmark.metrics import difference
from fieldmark.metrics.conventions import DEFAULT_CONVENTION
from fieldmark.metrics.difference import DiffVerdict, ResamplingOptions, paired_figures
from fieldmark.metrics.gates import drop_gates

RIGHT, BAD, LEFT_OUT = {"a": "match"}, {"a": "wrong"}, {"a": "omission"}


@pytest.mark.parametrize(
    ("cases", "word", "delta"),
    [
        pytest.param(
            [(RIGHT, RIGHT)] * 5 + [(BAD, BAD)] * 5, DiffVerdict.SAME, 0.0, id="a-run-and-itself"
        ),
        pytest.param([(BAD, RIGHT)] * 10, DiffVerdict.BETTER, 1.0, id="all-cases-fixed"),
        pytest.param([(RIGHT, BAD)] * 10, DiffVerdict.WORSE, -1.0, id="all-cases-broken"),
        pytest.param([(BAD, RIGHT)] * 4, DiffVerdict.SAME, 1.0, id="four-cases-prove-nothing"),
        pytest.param(
            [(BAD, RIGHT), (RIGHT, BAD)] * 20, DiffVerdict.SAME, 0.0, id="as-many-each-way"
        ),
        pytest.param(
            [(RIGHT, RIGHT)] * 90 + [(BAD, RIGHT)] * 10,
            DiffVerdict.BETTER,
            0.1,
            id="ten-in-a-hundred",
        ),
    ],
)
def test_the_word_for_a_difference(cases, word, delta):
    found = figures_of(*cases)
    for figure in (found.headline["mean_score"], found.headline["micro_f1"], found.attributes["a"]):
        assert figure.word is word
        assert figure.delta == pytest.approx(delta, abs=1e-6)


def test_the_interval_holds_the_difference():
    found = figures_of(*[(RIGHT, RIGHT)] * 30, *[(BAD, RIGHT)] * 12, *[(RIGHT, BAD)] * 5)
    low, high = found.headline["mean_score"].interval
    assert low < 7 / 47 < high
    assert found.headline["mean_score"].delta == pytest.approx(7 / 47, abs=1e-6)
    assert (high - low) / 2 == pytest.approx(2.01 * (0.583 / 47**0.5), rel=0.15)


def test_the_same_seed_gives_the_same_answer():
    cases = [(RIGHT, RIGHT)] * 30 + [(BAD, RIGHT)] * 12 + [(RIGHT, BAD)] * 5
    assert figures_of(*cases) == figures_of(*cases)
    assert figures_of(*cases) != figures_of(*cases, effort=ResamplingOptions(resamples=200, seed=5))


def test_many_attributes_make_chance_more_likely():
    names = [f"f{number}" for number in range(20)]
    right = dict.fromkeys(names, "match")
    cases = [(right, right)] * 40 + [({**right, "f0": "wrong"}, right)] * 7
    found = figures_of(*cases)
    assert found.attributes["f0"].p < 0.05 < found.attributes["f0"].adjusted
    assert found.attributes["f0"].word is DiffVerdict.SAME


def test_an_attribute_that_is_newly_invented_is_worse():
    found = figures_of(*[(RIGHT, {**RIGHT, "extra": "invented-key"})] * 12)
    assert found.attributes["extra"].before is None
    assert found.attributes["extra"].after == 0.0
    assert found.attributes["extra"].delta == -1.0
    assert found.attributes["extra"].word is DiffVerdict.WORSE


def test_an_attribute_without_anything_to_find_has_no_difference():
    nothing = {"a": "match", "b": "null-null"}
    found = figures_of(*[(nothing, nothing)] * 3)
    assert found.attributes["b"].delta is None
    assert found.attributes["b"].word is DiffVerdict.SAME


def test_fields_of_a_case_stay_together():
    """Twenty fields that change in one case are one change, not twenty."""
    many_bad = {f"rows[{number}].x": "wrong" for number in range(20)}
    many_right = dict.fromkeys(many_bad, "match")
    found = figures_of((many_bad, many_right), *[(many_right, many_right)] * 10)
    assert found.headline["micro_f1"].word is DiffVerdict.SAME


def test_fixed_and_broken_cases_and_shifts():
    pairs, _ = pairs_of(
        (BAD, RIGHT), (LEFT_OUT, RIGHT), (RIGHT, LEFT_OUT), (BAD, LEFT_OUT), (RIGHT, RIGHT)
    )  # fmt: skip
    assert pairs.passes() == (2, 1)
    assert [change.case_id for change in pairs.fixed] == ["case-0", "case-1"]
    assert [change.case_id for change in pairs.broken] == ["case-2"]
    assert pairs.shifts == {
        ("wrong_value", "match"): 1,
        ("omission", "match"): 1,
        ("match", "omission"): 1,
        ("wrong_value", "omission"): 1,
    }
    assert pairs.scores == {"up": 2, "down": 1, "same": 2}
    assert pairs.verdicts["fail", "pass"] == 2


def test_named_cases_are_bounded_and_those_that_changed_most():
    half = {"a": "match", "b": "match", "c": "match", "d": "wrong"}
    whole = dict.fromkeys(half, "match")
    pairs, _ = pairs_of(*[(half, whole)] * 60, *[(BAD, RIGHT)] * 3, *[(half, whole)] * 140)
    assert len(difference.greatest(pairs.fixed)) == difference.SHOWN
    assert [each.gain for each in difference.greatest(pairs.fixed)[:4]] == [1, 1, 1, 0.25]
    assert pairs.passes() == (203, 0)


def test_beyond_a_limit_cases_share_rows_and_figures_stay_the_same(monkeypatch):
    cases = [(RIGHT, RIGHT)] * 300 + [(BAD, RIGHT)] * 60 + [(RIGHT, BAD)] * 20
    exact = figures_of(*cases)
    monkeypatch.setattr(difference, "GROUPS", 64)
    pairs, table = pairs_of(*cases)
    assert len(pairs.before) == 64
    grouped = paired_figures(pairs, table, table, DEFAULT_CONVENTION.counting)
    one, other = exact.headline["mean_score"], grouped.headline["mean_score"]
    assert one.delta == other.delta
    widths = [each.interval[1] - each.interval[0] for each in (one, other)]
    # Cases in order must not make the rows alike: turns would give an interval of half the width.
    assert widths[0] == pytest.approx(widths[1], rel=0.3)
    assert other.word is DiffVerdict.BETTER


def summary(**figures):
    return {"micro": {"tp": 1, "fp": 0, "fn": 0, "f1": 0.9}, "mean_score": 0.8, **figures}


@pytest.mark.parametrize(
    ("name", "limit", "before", "after", "passed"),
    [
        pytest.param("mean_score", 0.01, 0.80, 0.80, True, id="no-drop"),
        pytest.param("mean_score", 0.01, 0.80, 0.79, True, id="a-drop-up-to-the-limit"),
        pytest.param("mean_score", 0.01, 0.80, 0.78, False, id="a-drop-beyond-it"),
        pytest.param("mean_score", 0.0, 0.80, 0.95, True, id="a-gain"),
        pytest.param("mean_score", 0.0, None, 0.10, True, id="a-figure-that-was-not-there"),
        pytest.param("mean_score", 0.5, 0.80, None, False, id="a-figure-that-is-gone"),
        pytest.param("hallucination", 0.0, 0.10, 0.05, True, id="fewer-inventions-are-no-drop"),
        pytest.param("hallucination", 0.0, 0.10, 0.20, False, id="more-of-them-are"),
    ],
)
def test_a_drop_against_its_limit(name, limit, before, after, passed):
    one, two = (
        summary(**{name: value}, quality={"hallucination": value}) for value in (before, after)
    )
    [gate] = drop_gates(one, two, {name: limit})
    assert gate.passed is passed
    assert gate.name == f"drop of {name}"


def test_nothing_that_was_scored_passes_no_gate():
    empty = {"micro": {"tp": 0, "fp": 0, "fn": 0}, "mean_score": 1.0}
    [gate] = drop_gates(summary(), empty, {"mean_score": 0.5})
    assert not gate.passed


def test_an_unknown_figure_is_refused_with_the_nearest():
    with pytest.raises(OptionError, match="mean_score"):
        drop_gates(summary(), summary(), {"mean_scor": 0.1})
