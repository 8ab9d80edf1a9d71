"""`fm.open_run`: saved runs by name, with their tables."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.analyses.runs import annotate

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
    [
        ("runs/first", 0),
        ("first", 0),
        ("fir", 0),
        ("latest", 1),
        ("latest~1", 0),
        ("best", 1),
    ],
)
def test_a_run_has_several_names(runs, name, number):
    opened = fm.open_run(name)
    assert opened == fm.open_run(runs[number].path)
    assert type(opened) is fm.RunResult
    assert opened.summary == runs[number].summary
    assert opened.path.name == runs[number].path.name
    for table in ("cases", "fields", "attributes"):
        ours, theirs = (getattr(run, table).to_arrow() for run in (opened, runs[number]))
        assert ours.equals(theirs)


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
    assert fm.diff(fm.open_run("first"), fm.open_run("first")).word.value == "no difference"


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
