"""CSV, XLSX and Parquet: what is read back is what was found, and no cell is a formula."""

from __future__ import annotations

import csv
import json
import re
import sys
import zipfile
from dataclasses import replace

import openpyxl
import pyarrow.parquet as pq
import pytest

import fieldmark as fm
from fieldmark.errors import MissingExtra, StorageError
from fieldmark.report.exports import parquet, xlsx
from fieldmark.report.exports.common import FIELD_COLUMNS
from fieldmark.report.exports.csv import write_csv, write_outcomes_csv
from fieldmark.report.exports.parquet import write_parquet
from fieldmark.report.exports.xlsx import write_xlsx
from fieldmark.report.text_tables import csv_table
from unit.report.exported import FORMULAS, FOUND, HOSTILE, TRUTH, hostile_run, ordinary_run, shown

FORMULA = re.compile(r"[=+\-@\t\r]")
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory):
    return ordinary_run(tmp_path_factory.mktemp("runs") / "ordinary")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return hostile_run(tmp_path_factory.mktemp("runs") / "hostile")


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def cells(path):
    book = openpyxl.load_workbook(path)
    return [cell for sheet in book for row in sheet.iter_rows() for cell in row]


def test_the_csv_of_a_run_is_the_table_that_score_prints(tmp_path):
    # Both attributes have the same F1: the order of a tie is told by the mistakes.
    truth = [*TRUTH, {"id": "d", "expected": {"p": 1, "q": 1}}, {"id": "e", "expected": {"q": 1}}]
    found = [*FOUND, {"id": "d", "candidate": {"p": 2, "q": None}}, {"id": "e", "candidate": {}}]
    result = fm.score(truth, found, out=tmp_path / "run")
    write_csv(shown(tmp_path / "run"), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text("utf-8") == csv_table(result.summary)


def test_outcomes_have_one_row_a_field(ordinary, tmp_path):
    write_outcomes_csv(ordinary, tmp_path / "o.csv")
    rows = read_csv(tmp_path / "o.csv")
    told = [(row["case_id"], row["path"], row["outcome"]) for row in rows]
    assert told == [
        ("a", "vendor", "wrong_value"),
        ("a", "total", "format_error"),
        ("a", "items[0].d", "wrong_value"),
        ("a", "items[0].q", "match"),
        ("b", "vendor", "match"),
        ("b", "total", "match"),
        ("b", "items", "match"),
        ("c", "vendor", "omission"),
        ("c", "total", "omission"),
        ("c", "items", "omission"),
    ]
    assert (rows[0]["expected"], rows[0]["candidate"]) == ("Acme GmbH", "Acme Gmbh")
    assert (rows[1]["expected"], rows[1]["reason"]) == ("12.5", "type_mismatch")
    assert (rows[6]["expected"], rows[6]["score"]) == ("[]", "1.0")
    assert (rows[7]["candidate"], rows[7]["score"]) == ("", "")


def test_no_cell_of_a_csv_begins_like_a_formula(hostile, tmp_path):
    for write in (write_csv, write_outcomes_csv):
        write(hostile, tmp_path / "x.csv")
        texts = [cell for row in read_csv(tmp_path / "x.csv") for cell in row.values()]
        assert [text for text in texts if FORMULA.match(text) and not NUMBER.match(text)] == []
    for payload in FORMULAS:
        assert any(payload in text for text in texts)


def test_no_cell_of_a_workbook_is_a_formula(hostile, tmp_path):
    write_xlsx(hostile, tmp_path / "x.xlsx")
    found = cells(tmp_path / "x.xlsx")
    assert {cell.data_type for cell in found} <= {"s", "n", "b"}
    texts = {cell.value for cell in found if cell.data_type == "s"}
    for payload in FORMULAS:
        assert payload in texts
    with zipfile.ZipFile(tmp_path / "x.xlsx") as book:
        for name in book.namelist():
            assert b"<f>" not in book.read(name)
            assert b"<hyperlink" not in book.read(name)


def test_a_text_that_looks_like_a_formula_stays_text_when_it_is_edited(hostile, tmp_path):
    write_xlsx(hostile, tmp_path / "x.xlsx")
    marked = [cell for cell in cells(tmp_path / "x.xlsx") if str(cell.value).startswith("=")]
    assert marked
    assert all(cell.quotePrefix for cell in marked)


def test_a_text_that_looks_like_an_escape_is_escaped(hostile, tmp_path):
    write_xlsx(hostile, tmp_path / "x.xlsx")
    assert "_x005F_x0041_" in {cell.value for cell in cells(tmp_path / "x.xlsx")}


def test_a_workbook_has_the_figures_the_attributes_the_cases_and_the_mistakes(ordinary, tmp_path):
    write_xlsx(ordinary, tmp_path / "x.xlsx")
    book = openpyxl.load_workbook(tmp_path / "x.xlsx")
    assert book.sheetnames == ["Summary", "Attributes", "Cases", "Mistakes"]
    assert all(sheet.freeze_panes == "A2" for sheet in book)
    figures = {row[0]: row[1] for row in book["Summary"].iter_rows(values_only=True)}
    assert figures["Micro F1"] == pytest.approx(ordinary.summary.micro.f1)
    assert figures["cases: total"] == 3
    cases = list(book["Cases"].iter_rows(min_row=2, values_only=True))
    assert [row[:3] for row in cases] == [
        ("a", cases[0][1], "partial"),
        ("b", 1, "pass"),
        ("c", 0, "fail"),
    ]
    mistakes = list(book["Mistakes"].iter_rows(min_row=2, values_only=True))
    assert [row[1] for row in mistakes] == [
        "vendor", "total", "items[0].d", "vendor", "total", "items",
    ]  # fmt: skip
    assert mistakes[1][-3:-1] == (12.5, "twelve")


def test_rows_that_a_sheet_cannot_hold_are_counted(ordinary, tmp_path, monkeypatch):
    monkeypatch.setattr(xlsx, "_LAST_ROW", 4)
    write_xlsx(ordinary, tmp_path / "x.xlsx")
    mistakes = openpyxl.load_workbook(tmp_path / "x.xlsx")["Mistakes"]
    assert mistakes.max_row == 4
    assert mistakes["A4"].value.startswith("… and 4 more rows")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param(2**53, str(2**53), id="whole-numbers-that-a-spreadsheet-would-round-are-text"),
        pytest.param(7, 7, id="other-whole-numbers-are-numbers"),
        pytest.param(True, True, id="booleans"),
        pytest.param([1, {"a": None}], '[1,{"a":null}]', id="lists-are-json-text"),
        pytest.param("#N/A", "#N/A", id="an-error-code-is-text"),
    ],
)
def test_values_in_a_workbook(ordinary, tmp_path, value, written):
    case = next(iter(ordinary.cases()))
    told = replace(case, case=case.case._replace(expected={"vendor": value}))
    write_xlsx(replace(ordinary, cases=lambda: [told]), tmp_path / "x.xlsx")
    book = openpyxl.load_workbook(tmp_path / "x.xlsx")
    heads, first, *_ = book["Mistakes"].iter_rows(values_only=True)
    assert first[heads.index("expected")] == written


def test_a_long_text_is_cut_to_what_a_cell_holds(ordinary, tmp_path):
    case = next(iter(ordinary.cases()))
    told = replace(case, case=case.case._replace(expected={"vendor": "x" * 40_000}))
    write_xlsx(replace(ordinary, cases=lambda: [told]), tmp_path / "x.xlsx")
    longest = max(len(str(cell.value)) for cell in cells(tmp_path / "x.xlsx"))
    assert 32_000 <= longest < 32_767


def test_parquet_holds_every_field_with_its_values_as_json(ordinary, tmp_path):
    write_parquet(ordinary, tmp_path / "o.parquet")
    table = pq.read_table(tmp_path / "o.parquet")
    assert table.column_names == list(FIELD_COLUMNS)
    first, second, *_, last = table.to_pylist()
    assert (first["path"], first["outcome"], first["score"]) == ("vendor", "wrong_value", 0.0)
    assert json.loads(first["expected"]) == "Acme GmbH"
    assert json.loads(second["expected"]) == 12.5
    assert (last["candidate"], last["required"], last["weight"]) == (None, True, 1.0)


def test_parquet_is_written_in_row_groups(ordinary, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "_ROW_GROUP", 4)
    monkeypatch.setattr(parquet, "_BATCH", 2)
    write_parquet(ordinary, tmp_path / "o.parquet")
    file = pq.ParquetFile(tmp_path / "o.parquet")
    assert (file.num_row_groups, file.metadata.num_rows) == (3, 10)
    assert file.read().to_pylist() == whole(ordinary, tmp_path, monkeypatch)


def whole(run, tmp_path, monkeypatch):
    monkeypatch.undo()
    write_parquet(run, tmp_path / "whole.parquet")
    return pq.read_table(tmp_path / "whole.parquet").to_pylist()


def test_every_string_survives_in_parquet(hostile, tmp_path):
    write_parquet(hostile, tmp_path / "o.parquet")
    rows = pq.read_table(tmp_path / "o.parquet").to_pylist()
    found = {json.loads(row["expected"]) for row in rows if row["path"] == "same"}
    assert found == {text for text in HOSTILE if text}


@pytest.mark.parametrize("write", [write_outcomes_csv, write_parquet, write_xlsx])
def test_a_run_without_cases_is_written_too(ordinary, tmp_path, write):
    write(replace(ordinary, cases=list), tmp_path / "x")
    assert (tmp_path / "x").stat().st_size


@pytest.mark.parametrize("write", [write_csv, write_outcomes_csv, write_parquet, write_xlsx])
def test_a_file_that_cannot_be_written_is_no_half_file(ordinary, tmp_path, write):
    with pytest.raises(StorageError, match="cannot write"):
        write(ordinary, tmp_path / "missing" / "x")

    def broken():
        yield next(iter(ordinary.cases()))
        raise OSError(28, "No space left on device")

    (tmp_path / "x").write_text("before")
    if write is not write_csv:
        with pytest.raises(StorageError, match="No space left"):
            write(replace(ordinary, cases=broken), tmp_path / "x")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    if write is not write_csv:
        assert (tmp_path / "x").read_text() == "before"


@pytest.mark.parametrize(
    ("write", "module"), [(write_parquet, "pyarrow"), (write_xlsx, "openpyxl")]
)
def test_tables_need_the_extra(ordinary, tmp_path, monkeypatch, write, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=r"fieldmark\[tables\]"):
        write(ordinary, tmp_path / "x")


def test_without_values_there_are_no_columns_for_them(ordinary, tmp_path):
    write_outcomes_csv(ordinary.without_values(), tmp_path / "o.csv")
    write_parquet(ordinary.without_values(), tmp_path / "o.parquet")
    expected = [name for name in FIELD_COLUMNS if name not in ("expected", "candidate", "note")]
    assert list(read_csv(tmp_path / "o.csv")[0]) == expected
    assert pq.read_table(tmp_path / "o.parquet").column_names == expected
