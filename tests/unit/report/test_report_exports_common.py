"""Shared behavior of table exports: atomic files, columns, optional dependencies."""

from __future__ import annotations

import sys
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from fieldmark.errors import MissingExtra, StorageError
from fieldmark.report.exports.common import FIELD_COLUMNS
from fieldmark.report.exports.csv import AttributesCsv, OutcomesCsv
from fieldmark.report.exports.junit import Junit
from fieldmark.report.exports.parquet import Parquet
from fieldmark.report.exports.xlsx import Xlsx
from unit.report.exported import read_csv


@pytest.mark.parametrize("exporter", [OutcomesCsv, Parquet, Xlsx])
def test_a_run_without_cases_is_exported(ordinary, tmp_path, exporter):
    exporter().write(replace(ordinary, cases=list), tmp_path / "x")
    assert (tmp_path / "x").stat().st_size


@pytest.mark.parametrize("exporter", [AttributesCsv, OutcomesCsv, Junit, Parquet, Xlsx])
def test_a_failed_export_leaves_no_partial_file(ordinary, tmp_path, exporter):
    with pytest.raises(StorageError, match="cannot write"):
        exporter().write(ordinary, tmp_path / "missing" / "x")

    def broken():
        yield next(iter(ordinary.cases()))
        raise OSError(28, "No space left on device")

    (tmp_path / "x").write_text("before")
    if exporter is not AttributesCsv:
        with pytest.raises((StorageError, OSError), match="No space left"):
            exporter().write(replace(ordinary, cases=broken), tmp_path / "x")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    if exporter is not AttributesCsv:
        assert (tmp_path / "x").read_text() == "before"


@pytest.mark.parametrize(("exporter", "module"), [(Parquet, "pyarrow"), (Xlsx, "openpyxl")])
def test_tables_require_the_extra(ordinary, tmp_path, monkeypatch, exporter, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=r"fieldmark\[tables\]"):
        exporter().write(ordinary, tmp_path / "x")


def test_without_values_the_value_columns_are_omitted(ordinary, tmp_path):
    OutcomesCsv().write(ordinary.without_values(), tmp_path / "o.csv")
    Parquet().write(ordinary.without_values(), tmp_path / "o.parquet")
    hidden = ("expected", "candidate", "note", "metadata")
    expected = [name for name in FIELD_COLUMNS if name not in hidden]
    assert list(read_csv(tmp_path / "o.csv")[0]) == [*expected, "convention"]
    assert pq.read_table(tmp_path / "o.parquet").column_names == expected


def test_tables_of_fields_name_the_convention(ordinary, tmp_path):
    OutcomesCsv().write(ordinary, tmp_path / "o.csv")
    Parquet().write(ordinary, tmp_path / "o.parquet")
    assert {row["convention"] for row in read_csv(tmp_path / "o.csv")} == {"confusion"}
    assert pq.read_schema(tmp_path / "o.parquet").metadata[b"convention"] == b"confusion"
