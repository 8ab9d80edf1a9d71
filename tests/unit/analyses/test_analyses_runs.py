"""A metric over iterations: when to continue and when to stop."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import fieldmark as fm
from fieldmark.analyses.runs import TrendConclusion, TrendOptions, annotate, describe_run, trend
from fieldmark.errors import OptionError
from fieldmark.metrics.summary import RunIntervals
from fieldmark.report.render import document_csv


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
    result = trend(steps(*values))
    assert (result.best, result.conclusion) == (best, conclusion)


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
    result = trend(steps(*values), less_is_better=True)
    assert (result.best, result.conclusion, result.target) == (best, conclusion, 0.0)
    assert result.steps[1].gain == pytest.approx(values[0] - values[1])


@pytest.mark.parametrize("less_is_better", [False, True])
def test_the_first_of_two_equal_values_is_the_best(less_is_better):
    for values in ((0.7374999999999999, 0.7375), (0.7375, 0.7374999999999999)):
        result = trend([("first", values[0]), ("second", values[1])], less_is_better=less_is_better)
        assert result.best == "first"


@pytest.mark.parametrize("values", [[0.5], [None, 1.0]])
def test_share_cannot_have_a_target_above_one(values):
    with pytest.raises(OptionError, match="target: must be between 0 and 1"):
        trend(steps(*values), TrendOptions(target=1.5))
    assert trend(steps(5, 7), TrendOptions(target=6)).conclusion is TrendConclusion.TARGET_REACHED


def test_gains_are_relative_to_the_previous_best():
    result = trend(steps(0.5, 0.7, 0.6, 0.75))
    assert [step.gain for step in result.steps] == [None, *map(pytest.approx, (0.2, -0.1, 0.05))]
    assert [step.best for step in result.steps] == [0.5, 0.7, 0.7, 0.75]
    assert [step.progress for step in result.steps] == [True, True, False, True]


@pytest.mark.parametrize(
    "options", [{"target": -0.1}, {"patience": 0}, {"min_gain": -0.1}, {"target": float("nan")}]
)
def test_invalid_settings_are_rejected(options):
    with pytest.raises(OptionError):
        TrendOptions(**options)


# --- details of a run -----------------------------------------------------------------------------


def test_metrics_of_a_run_have_intervals(tmp_path):
    truth = [{"id": str(n), "total": n} for n in range(10)]
    fm.score(truth, truth, out=tmp_path / "run")
    details = describe_run(tmp_path / "run")
    document = details.to_dict()
    assert document["id"] == "run"
    assert "attributes" not in document["summary"]
    assert "lists" not in document["manifest"]
    rows = [line.split(",") for line in document_csv(details.document()).splitlines()[1:]]
    names = [row[0].strip('"') for row in rows]
    assert names[:2] == ["macro_f1_by_attribute", "mean_score"]
    assert sorted(names) == sorted(document["intervals"])
    assert {row[-1] for row in rows} == {'"confusion"'}
    assert {row[1] for row in rows if row[0] in {'"mean_score"', '"micro_f1"', '"perfect"'}} == {
        '"1.0"'
    }


def test_unfinished_run_has_no_metrics(tmp_path):
    fm.score([({"a": 1}, {"a": 1})], out=tmp_path / "run")
    details = describe_run(tmp_path / "run")
    unfinished = replace(details, summary=None, intervals=RunIntervals())
    assert unfinished.to_dict()["summary"] == unfinished.to_dict()["intervals"] == {}
    assert (
        document_csv(unfinished.document()) == '"metric","value","low","high","note","convention"\n'
    )


# --- runs by name ---------------------------------------------------------------------------------

PAIRS = [({"total": 1}, {"total": 1}), ({"total": 2}, {"total": 3})]
EVAL = {
    "name": "invoices",
    "cases": [{"id": "a", "expected": {"x": 1}, "candidate": {"x": 1}}],
    "evaluators": [{"name": "x", "type": "field_accuracy", "fields": [{"path": "x"}]}],
}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = fm.score(PAIRS, out="runs/first")
    second = fm.score(PAIRS[:1], out="runs/second")
    annotate("second", add=["best"])
    return first, second


@pytest.mark.parametrize(
    ("name", "number"),
    [("runs/first", 0), ("first", 0), ("fir", 0), ("latest", 1), ("latest~1", 0), ("best", 1)],
)
def test_a_run_has_several_names(runs, name, number):
    opened = fm.open_run(name)
    assert opened == fm.open_run(runs[number].path)
    assert type(opened) is fm.RunResult
    assert opened.summary == runs[number].summary
    assert opened.path.name == runs[number].path.name
    for table in ("cases", "fields", "attributes"):
        expected, candidate = (getattr(run, table).to_arrow() for run in (opened, runs[number]))
        assert expected.equals(candidate)


def test_runs_in_another_directory(tmp_path):
    fm.score(PAIRS, out=tmp_path / "other" / "one")
    assert len(fm.open_run("latest", tmp_path / "other").cases) == 2


def test_an_evaluation_has_its_name(tmp_path):
    fm.evaluate(EVAL, out=tmp_path / "run")
    opened = fm.open_run(tmp_path / "run")
    assert isinstance(opened, fm.EvalResult)
    assert opened.name == "invoices"
    assert opened.cases.to_pandas()["evaluators.x"].tolist() == [1.0]


def test_an_opened_run_can_be_compared(runs):
    assert fm.diff(fm.open_run("first"), fm.open_run("first")).word.value == "too few cases to tell"


def test_unknown_and_incomplete_runs_are_errors(runs, tmp_path):
    with pytest.raises(fm.ConfigError, match="run 'thirdd' not found"):
        fm.open_run("thirdd")
    with pytest.raises(fm.DataError, match="not a run directory"):
        fm.open_run(tmp_path)
    manifest = runs[0].path / "manifest.json"
    stored = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**stored, "status": "interrupted"}))
    (runs[0].path / "summary.json").unlink()
    with pytest.raises(fm.DataError, match="the run is interrupted and has no summary; resume"):
        fm.open_run("first")


def test_rows_are_read_when_they_are_used(runs):
    opened = fm.open_run("first")
    cases = opened.cases
    (opened.path / "results.jsonl").write_text("oops\n")
    assert len(cases) == 2
    with pytest.raises(fm.DataError, match=r"results\.jsonl:1: invalid JSON"):
        list(cases)
