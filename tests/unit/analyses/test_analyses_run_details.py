"""The details of one run as JSON, with and without metrics."""

from __future__ import annotations

from dataclasses import replace

import fieldmark as fm
from fieldmark.analyses.runs import describe_run
from fieldmark.metrics.summary import RunIntervals
from fieldmark.report.render import document_csv


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
