"""Parquet exports: all fields with values as JSON."""

from __future__ import annotations

import json

import pyarrow.parquet as pq

from fieldmark.report import frames
from fieldmark.report.exports import parquet
from fieldmark.report.exports.common import FIELD_COLUMNS
from fieldmark.report.exports.parquet import Parquet
from unit.report.exported import HOSTILE


def test_every_field_is_written_with_values_as_json(ordinary, tmp_path):
    Parquet().write(ordinary, tmp_path / "o.parquet")
    table = pq.read_table(tmp_path / "o.parquet")
    assert table.column_names == list(FIELD_COLUMNS)
    first, second, *_, last = table.to_pylist()
    assert (first["path"], first["outcome"], first["score"]) == ("vendor", "wrong_value", 0.0)
    assert json.loads(first["expected"]) == "Acme GmbH"
    assert json.loads(second["expected"]) == 12.5
    assert (last["candidate"], last["required"], last["weight"]) == (None, True, 1.0)


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


def test_every_string_round_trips(hostile, tmp_path):
    Parquet().write(hostile, tmp_path / "o.parquet")
    rows = pq.read_table(tmp_path / "o.parquet").to_pylist()
    values = {json.loads(row["expected"]) for row in rows if row["path"] == "same"}
    assert values == {text for text in HOSTILE if text}
