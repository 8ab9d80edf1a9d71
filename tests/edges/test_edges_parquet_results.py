"""Outcomes of a run as Parquet files: the same rows as the export, in files of limited size."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

import fieldmark as fm
from fieldmark.analyses.report import write_report
from fieldmark.report import frames
from fieldmark.report.exports import parquet
from fieldmark.runs import run_options as options

PAIRS = [({"n": number, "text": f"row {number}"}, {"n": number}) for number in range(50)]


@pytest.mark.parametrize("values", [True, False])
def test_files_contain_the_rows_of_the_export_in_order(values, tmp_path, monkeypatch):
    monkeypatch.setattr(frames, "_BATCH", 10)
    monkeypatch.setattr(parquet, "_ROW_GROUP", 10)
    monkeypatch.setattr(parquet, "_SHARD_GROUPS", 3)
    run = fm.score(PAIRS, out=tmp_path / "run", results="parquet", values=values)
    files = sorted((run.path / "outcomes").iterdir())
    assert [each.name for each in files] == [f"0000{number}.parquet" for number in range(4)]
    whole = pq.read_table(write_report(run.path, kind="parquet", values=values))
    shards = [pq.read_table(each) for each in files]
    assert [each.num_rows for each in shards] == [30, 30, 30, 10]
    assert {each.schema for each in shards} == {whole.schema}
    assert [row for each in shards for row in each.to_pylist()] == whole.to_pylist()
    assert ("expected" in whole.column_names) == values


def test_evaluation_has_the_results_of_its_evaluators(tmp_path):
    spec = {
        "cases": [{"id": "a", "expected": {"n": 1}, "candidate": {"n": 2}}],
        "evaluators": [{"type": "field_accuracy", "fields": [{"path": "n"}]}],
    }
    run = fm.evaluate(spec, out=tmp_path / "run", results="parquet")
    [row] = pq.read_table(run.path / "outcomes").to_pylist()
    assert row["outcome"] == "wrong_value"
    assert "field_accuracy" in row["evaluator_results"]


def test_run_without_a_directory_has_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fm.score(PAIRS, results="parquet")
    assert list(tmp_path.iterdir()) == []


def test_unknown_format_and_missing_extra_are_errors(monkeypatch):
    with pytest.raises(fm.ConfigError, match="results must be one of: jsonl, parquet; got 'csv'"):
        fm.score(PAIRS, results="csv")
    monkeypatch.setattr(options, "find_spec", lambda _: None)
    with pytest.raises(fm.MissingExtra, match=r"fieldmark\[tables\]"):
        fm.score(PAIRS, results="parquet")
