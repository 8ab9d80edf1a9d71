"""Excel workbooks: sheets, types of cells, limits and damaged files."""

from __future__ import annotations

import datetime as dt
import io
import sys
import zipfile

import pytest
from openpyxl import Workbook

from fieldmark.data.inputs import Inputs
from fieldmark.data.pairing import open_pairs, open_truth
from fieldmark.errors import DataError, LimitError, MissingExtra, OptionError
from fieldmark.values.json_text import Limits


def documents_of(path, options=None):
    return [case.expected for batch in open_truth(path, options).batches() for case in batch]


@pytest.fixture
def workbook(tmp_path):
    def written(name="t.xlsx", **sheets):
        book = Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        path = tmp_path / name
        book.save(path)
        return path

    return written


@pytest.fixture
def rewrite(tmp_path):
    """Return a function that replaces text in the parts of a workbook."""

    def rewritten(path, part, change):
        target = tmp_path / "changed.xlsx"
        with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w", 8) as made:
            for each in source.infolist():
                raw = source.read(each)
                made.writestr(each, change(raw) if each.filename == part else raw)
        return target

    return rewritten


SHEET = "xl/worksheets/sheet1.xml"


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        pytest.param("x", "x", id="text"),
        pytest.param(10, 10, id="integer"),
        pytest.param(10.5, 10.5, id="number"),
        pytest.param(True, True, id="boolean"),
        pytest.param(None, None, id="blank"),
        pytest.param(dt.date(2024, 3, 1), "2024-03-01", id="date"),
        pytest.param(dt.datetime(2024, 3, 1, 12, 30), "2024-03-01T12:30:00", id="date-and-time"),  # noqa: DTZ001 - as in Excel
        pytest.param(dt.time(12, 30), "12:30:00", id="time"),
        pytest.param('["a", 1]', ["a", 1], id="json"),
        pytest.param("007", "007", id="digits-as-text"),
    ],
)
def test_cells_keep_their_types(workbook, cell, value):
    path = workbook(rows=[["id", "a", "b"], [1, cell, "x"]])
    assert documents_of(path) == [{"a": value, "b": "x"}]


def test_numbers_are_compared_as_numbers(workbook, tmp_path):
    truth = workbook(rows=[["id", "vendor.name", "lines[0].n", "lines[1].n"], ["a", "x", 5, None]])
    other = tmp_path / "c.jsonl"
    other.write_text('{"id": "a", "vendor": {"name": "x"}, "lines": [{"n": 5}]}\n')
    stream = open_pairs(truth, other)
    [[case]] = stream.batches()
    assert case.expected == case.candidate
    assert not any("compared as strings" in note for note in stream.notes)


def test_blank_rows_are_skipped_and_rows_keep_their_numbers(workbook):
    path = workbook(rows=[[], ["id", "a"], [], [1, 2], [1, 3]])
    with pytest.raises(DataError, match=r"t\.xlsx:5: duplicate id '1'; first used at .*t\.xlsx:4"):
        documents_of(path)


def test_the_first_sheet_is_read_with_a_note_if_there_are_several(workbook):
    path = workbook(one=[["a"], [1]], two=[["a"], [2]])
    stream = open_truth(path)
    [[case]] = stream.batches()
    assert case.expected == {"a": 1}
    assert any("sheet 'one' of 2 (one, two)" in note for note in stream.notes)
    assert open_truth(workbook(one=[["a"], [1]])).notes == []


def test_a_sheet_is_read_by_name(workbook):
    path = workbook(one=[["a"], [1]], two=[["a"], [2]])
    assert documents_of(path, Inputs(sheet="two")) == [{"a": 2}]
    with pytest.raises(DataError, match="sheet 'tow' not found; sheets: one, two; did you mean"):
        documents_of(path, Inputs(sheet="tow"))


def test_a_sheet_of_other_files_is_refused(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n')
    with pytest.raises(OptionError, match="no input is an Excel workbook"):
        open_truth(path, Inputs(sheet="x"))
    with pytest.raises(OptionError, match="no input is an Excel workbook"):
        open_pairs(path, path, Inputs(sheet="x"))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param([["a", "a"], [1, 2]], "t.xlsx:1: duplicate column 'a'", id="duplicate"),
        pytest.param([["a", None, "b"], [1, 2, 3]], "column 2 has no name", id="unnamed"),
        pytest.param([["a"]], "no rows", id="header-only"),
        pytest.param([], "no rows", id="empty"),
    ],
)
def test_headers_that_cannot_be_read(workbook, rows, message):
    with pytest.raises(DataError, match=message):
        documents_of(workbook(rows=rows))


def test_a_value_without_a_column_makes_the_row_unreadable(workbook):
    [[first, second]] = open_truth(workbook(rows=[["a"], [1, 2], [3]])).batches()
    assert "2 cells, but the header has 1" in first.note
    assert second.expected == {"a": 3}


def test_a_formula_without_a_stored_value_is_an_error(workbook, rewrite):
    path = workbook(rows=[["a", "b"], [1, "=A2*2"]])
    with pytest.raises(DataError, match="formula in column 2 has no stored value"):
        documents_of(path)
    stored = rewrite(
        path, SHEET, lambda raw: raw.replace(b"<v></v>", b"<v>2</v>").replace(b"<v />", b"<v>2</v>")
    )
    assert documents_of(stored) == [{"a": 1, "b": 2}]


def test_the_limit_on_cells(workbook):
    path = workbook(rows=[["a", "b"], [1, 2], [3, 4]])
    with pytest.raises(LimitError, match="too many cells"):
        documents_of(path, Inputs(limits=Limits(nodes=5)))
    assert len(documents_of(path, Inputs(limits=Limits(nodes=6)))) == 2


def test_rows_far_below_count_as_cells(workbook, rewrite):
    path = rewrite(
        workbook(rows=[["a"], [1]]), SHEET, lambda raw: raw.replace(b'r="2"', b'r="99999999999"')
    )
    with pytest.raises(DataError, match="too many cells"):
        documents_of(path, Inputs(limits=Limits(nodes=1000)))


def test_a_zip_bomb_is_refused_before_it_is_decompressed(workbook, rewrite):
    path = rewrite(workbook(rows=[["a"], [1]]), SHEET, lambda raw: raw + b" " * (65 << 20))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(LimitError, match="limit of 67,108,864 bytes when decompressed"):
        documents_of(path)


def test_a_part_that_is_larger_than_the_archive_declares_is_refused(workbook, rewrite, tmp_path):
    path = rewrite(workbook(rows=[["a"], [1]]), SHEET, lambda raw: raw + b" " * (65 << 20))
    raw = path.read_bytes()
    size = len(zipfile.ZipFile(path).read(SHEET)).to_bytes(4, "little")
    lying = tmp_path / "lying.xlsx"
    lying.write_bytes(raw.replace(size, (1000).to_bytes(4, "little")))
    with pytest.raises(DataError, match="cannot read the workbook"):
        documents_of(lying)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_declarations_are_refused(workbook, rewrite, encoding):
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]>'.encode(encoding)
    path = rewrite(workbook(rows=[["a"], [1]]), SHEET, lambda raw: bomb + raw)
    with pytest.raises(DataError, match="XML declarations refused"):
        documents_of(path)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param(b"", "cannot read the workbook", id="empty"),
        pytest.param(b"id,a\n1,2\n", "cannot read the workbook", id="text"),
        pytest.param(b"\xd0\xcf\x11\xe0" + bytes(600), "save it as .xlsx", id="xls"),
    ],
)
def test_other_files_are_refused(tmp_path, raw, message):
    path = tmp_path / "t.xlsx"
    path.write_bytes(raw)
    with pytest.raises(DataError, match=message):
        documents_of(path)


def test_a_zip_file_without_workbook_is_refused(tmp_path):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a.txt", "x")
    path = tmp_path / "t.xlsx"
    path.write_bytes(made.getvalue())
    with pytest.raises(DataError, match="cannot read the workbook"):
        documents_of(path)


@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.9])
def test_a_truncated_workbook_is_refused(workbook, fraction):
    path = workbook(rows=[["a"], [1]])
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * fraction)])
    with pytest.raises(DataError, match="cannot read the workbook"):
        documents_of(path)


def test_the_optional_dependency_is_named(workbook, monkeypatch):
    path = workbook(rows=[["a"], [1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r'pip install "fieldmark\[tables\]"'):
        documents_of(path)
