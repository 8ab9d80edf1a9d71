"""XLSX exports: four sheets, and no cell is a formula."""

from __future__ import annotations

import zipfile
from dataclasses import replace

import openpyxl
import pytest

from fieldmark.report.exports import xlsx
from fieldmark.report.exports.xlsx import write_xlsx
from unit.report.exported import FORMULAS, hostile_run, ordinary_run


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory):
    return ordinary_run(tmp_path_factory.mktemp("runs") / "ordinary")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return hostile_run(tmp_path_factory.mktemp("runs") / "hostile")


def cells(path):
    book = openpyxl.load_workbook(path)
    return [cell for sheet in book for row in sheet.iter_rows() for cell in row]


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
