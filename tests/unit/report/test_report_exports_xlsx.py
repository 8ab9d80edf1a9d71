"""XLSX exports: four sheets, headings, and no formulas."""

from __future__ import annotations

import zipfile
from dataclasses import replace

import openpyxl
import pytest

from fieldmark.report.exports import xlsx
from fieldmark.report.exports.xlsx import Xlsx
from unit.report.exported import FORMULAS


def cells(path):
    book = openpyxl.load_workbook(path)
    return [cell for sheet in book for row in sheet.iter_rows() for cell in row]


def test_no_cell_is_a_formula(hostile, tmp_path):
    Xlsx().write(hostile, tmp_path / "x.xlsx")
    written = cells(tmp_path / "x.xlsx")
    assert {cell.data_type for cell in written} <= {"s", "n", "b"}
    texts = {cell.value for cell in written if cell.data_type == "s"}
    for payload in FORMULAS:
        assert payload in texts
    assert all(cell.quotePrefix for cell in written if str(cell.value).startswith("="))
    assert "_x005F_x0041_" in texts  # which looks like an escape
    with zipfile.ZipFile(tmp_path / "x.xlsx") as book:
        for name in book.namelist():
            assert b"<f>" not in book.read(name)
            assert b"<hyperlink" not in book.read(name)


def test_sheets_contain_metrics_attributes_cases_and_mistakes(ordinary, tmp_path):
    Xlsx().write(ordinary, tmp_path / "x.xlsx")
    book = openpyxl.load_workbook(tmp_path / "x.xlsx")
    assert book.sheetnames == ["Summary", "Attributes", "Cases", "Mistakes"]
    assert all(sheet.freeze_panes == "A2" for sheet in book)
    metrics = {row[0]: row[1] for row in book["Summary"].iter_rows(values_only=True)}
    assert metrics["Micro F1"] == pytest.approx(ordinary.summary.micro.f1)
    assert metrics["cases: total"] == 3
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
    assert [row[2] for row in mistakes[:4]] == [
        "wrong value", "wrong type", "wrong value", "missing",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sheet", "headings"),
    [
        ("Summary", "Metric, Value, Low, High, Meaning, Note"),
        ("Attributes", ("Attribute, TP, TN, FP, FN, Precision, Recall, F1, Accuracy, Missing, Extra, Wrong type, Wrong value, Errors")),
        (
            "Cases",
            (
                "Case, Score, Verdict, Status, Input, Tags, Missing, Extra, Wrong type, "
                "Wrong value, Vacuous, TP, TN, FP, FN, Precision, Recall, F1, "
                "Quality completeness, Quality hallucination, Quality accuracy, Quality safety, "
                "RQS, Quality flags, Errors, Parsed from, Note, Metadata"
            ),
        ),
        ("Mistakes", "Case, Field, Outcome, Reason, Similarity, Expected, Predicted, Note"),
    ],
)  # fmt: skip
def test_headings_are_for_people(ordinary, tmp_path, sheet, headings):
    Xlsx().write(ordinary, tmp_path / "x.xlsx")
    [first] = openpyxl.load_workbook(tmp_path / "x.xlsx")[sheet].iter_rows(
        max_row=1, values_only=True
    )
    assert ", ".join(first) == headings


def test_rows_beyond_the_limit_of_a_sheet_are_counted(ordinary, tmp_path, monkeypatch):
    monkeypatch.setattr(xlsx, "_LAST_ROW", 4)
    Xlsx().write(ordinary, tmp_path / "x.xlsx")
    mistakes = openpyxl.load_workbook(tmp_path / "x.xlsx")["Mistakes"]
    assert mistakes.max_row == 4
    assert mistakes["A4"].value.startswith("… and 4 more rows")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param(2**53, str(2**53), id="large-integers-are-strings"),
        pytest.param(7, 7, id="small-integers-are-numbers"),
        pytest.param(True, True, id="booleans"),
        pytest.param([1, {"a": None}], '[1,{"a":null}]', id="lists-are-json"),
        pytest.param("#N/A", "#N/A", id="error-codes-are-strings"),
    ],
)
def test_values_are_written_to_typed_cells(ordinary, tmp_path, value, written):
    case = next(iter(ordinary.cases()))
    changed = replace(case, case=case.case._replace(expected={"vendor": value}))
    Xlsx().write(replace(ordinary, cases=lambda: [changed]), tmp_path / "x.xlsx")
    book = openpyxl.load_workbook(tmp_path / "x.xlsx")
    headings, first, *_ = book["Mistakes"].iter_rows(values_only=True)
    assert first[headings.index("Expected")] == written


def test_long_text_is_truncated_to_the_limit_of_a_cell(ordinary, tmp_path):
    case = next(iter(ordinary.cases()))
    changed = replace(case, case=case.case._replace(expected={"vendor": "x" * 40_000}))
    Xlsx().write(replace(ordinary, cases=lambda: [changed]), tmp_path / "x.xlsx")
    longest = max(len(str(cell.value)) for cell in cells(tmp_path / "x.xlsx"))
    assert 32_000 <= longest < 32_767
