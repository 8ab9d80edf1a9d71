"""Parquet exports: all fields with values as JSON."""

from __future__ import annotations

import json

import pyarrow.parquet as pq

from fieldmark.report import frames
from fieldmark.report.exports import parquet
from fieldmark.report.exports.parquet import Parquet
from unit.report.exported import HOSTILE


def test_rows_are_written_in_row_groups(ordinary, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "_ROW_GROUP", 4)
    monkeypatch.setattr(frames, "_BATCH", 2)
    Parquet().write(ordinary, tmp_path / "o.parquet")
    file = pq.ParquetFile(tmp_path / "o.parquet")
    assert (file.num_row_groups, file.metadata.num_rows) == (3, 10)
    assert file.read().to_pylist() == whole(ordinary, tmp_path, monkeypatch)


def whole(run, tmp_path, monkeypatch):
    monkeypatch.undo()
    Parquet().write(run, tmp_path / "whole.parquet")
    return pq.read_table(tmp_path / "whole.parquet").to_pylist()


def test_every_string_round_trips_as_json(hostile, tmp_path):
    Parquet().write(hostile, tmp_path / "o.parquet")
    rows = pq.read_table(tmp_path / "o.parquet").to_pylist()
    values = {json.loads(row["expected"]) for row in rows if row["path"] == "same"}
    assert values == {text for text in HOSTILE if text}
