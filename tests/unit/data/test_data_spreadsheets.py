"""CSV files: delimiters, encodings, nested columns and JSON in cells."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.data.inputs import Inputs
from fieldmark.data.pairing import open_pairs, open_truth
from fieldmark.data.spreadsheets import read_header
from fieldmark.errors import DataError, LimitError
from fieldmark.values.json_text import LIMITS, Limits

ROW = {"a": "1", "b": "x"}


def documents_of(path, options=None):
    stream = open_truth(path, options)
    return [case.expected for batch in stream.batches() for case in batch], stream.notes


@pytest.mark.parametrize(
    ("text", "document", "note"),
    [
        pytest.param("a,b\n1,x\n", ROW, "", id="comma"),
        pytest.param("a;b\n1;x\n", ROW, "semicolons", id="semicolon"),
        pytest.param("a\tb\n1\tx\n", ROW, "tabs", id="tab"),
        pytest.param("a|b\n1|x\n", ROW, "vertical bars", id="bar"),
        pytest.param("a;b\r\n1;x\r\n", ROW, "semicolons", id="windows-line-ends"),
        pytest.param("a;b\n1,5;x\n", {"a": "1,5", "b": "x"}, "semicolons", id="decimal-comma"),
        pytest.param("a,b\n1,p;q;r\n", {"a": "1", "b": "p;q;r"}, "", id="semicolons-in-cells"),
        pytest.param('a,b\n1,"p|q\nr"\n', {"a": "1", "b": "p|q\nr"}, "", id="quoted-line-feed"),
        pytest.param('"a;x;y",b\n1,x\n', {"a;x;y": "1", "b": "x"}, "", id="quoted-header"),
        pytest.param("a,b;c\n1,x;y\n", {"a": "1", "b;c": "x;y"}, "", id="tie-is-comma"),
        pytest.param("a\n1\n", {"a": "1"}, "", id="one-column"),
        pytest.param("sep=;\na;b\n1;x\n", ROW, "semicolons", id="named-by-excel"),
        pytest.param("a;b", None, "", id="header-only"),
    ],
)
def test_the_delimiter_is_detected(write, text, document, note):
    path = write("t.csv", text)
    if document is None:
        with pytest.raises(DataError, match="no rows"):
            documents_of(path)
        return
    documents, notes = documents_of(path)
    assert documents == [document]
    assert [each for each in notes if "separated" in each] == (
        [f"{path}: columns separated by {note}"] if note else []
    )


@given(
    st.lists(
        st.lists(
            st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
            min_size=3,
            max_size=3,
        ),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from(",;\t|"),
)
def test_quoted_cells_of_any_text_are_read_with_any_delimiter(tmp_path_factory, rows, delimiter):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([["p", "q", "r"], *rows])
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_text(text.getvalue(), "utf-8", newline="")
    plain = [row for row in rows if not any(cell[:1] in "{[" for cell in row if cell)]
    documents, _ = documents_of(path)
    for row, document in zip(rows, documents, strict=True):
        if row in plain:
            assert list(document.values()) == row


@pytest.mark.parametrize(
    ("raw", "value", "note"),
    [
        pytest.param("id,a\n1,Zürich\n".encode(), "Zürich", False, id="utf-8"),
        pytest.param("id,a\n1,Zürich\n".encode("utf-8-sig"), "Zürich", False, id="utf-8-sig"),
        pytest.param("id,a\n1,Zürich €\n".encode("cp1252"), "Zürich €", True, id="cp1252"),
    ],
)
def test_the_encoding_is_detected(write, raw, value, note):
    documents, notes = documents_of(write("t.csv", raw))
    assert documents == [{"a": value}]
    assert any("Windows-1252" in each for each in notes) is note


def test_the_encoding_is_the_same_for_rows_before_the_first_letter_that_shows_it(write):
    rows = "".join(f"{number},plain\n" for number in range(20_000))
    documents, _ = documents_of(write("t.csv", f"id,a\n{rows}x,é\n".encode("cp1252")))
    assert documents[-1] == {"a": "é"}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param("id,a\n1,Zürich\n2,".encode() + b"\xe9\n", "invalid UTF-8", id="damaged"),
        pytest.param(b"id,a\n1,\x81\n", "neither UTF-8 nor Windows-1252", id="undefined-byte"),
        pytest.param("id,a\n1,é\n".encode("utf-16"), "UTF-16", id="utf-16"),
        pytest.param("id,a\n1,é\n".encode("utf-16-le"), "UTF-16", id="utf-16-without-mark"),
    ],
)
def test_other_encodings_are_refused(write, raw, message):
    with pytest.raises(DataError, match=message):
        documents_of(write("t.csv", raw))


@pytest.mark.parametrize(
    ("header", "cells", "document"),
    [
        pytest.param(["vendor.name"], ["x"], {"vendor": {"name": "x"}}, id="dot"),
        pytest.param(
            ["lines[0].amount", "lines[1].amount"],
            ["1", "2"],
            {"lines": [{"amount": "1"}, {"amount": "2"}]},
            id="index",
        ),
        pytest.param(
            ["lines[0].a", "lines[1].a", "lines[2].a"],
            ["1", "", " "],
            {"lines": [{"a": "1"}]},
            id="blank-items-at-the-end",
        ),
        pytest.param(
            ["lines[0].a", "lines[1].a"],
            ["", "2"],
            {"lines": [{"a": ""}, {"a": "2"}]},
            id="blank-item-before-another",
        ),
        pytest.param(["tags[1]", "tags[0]"], ["b", "a"], {"tags": ["a", "b"]}, id="any-order"),
        pytest.param(["tags[1]", "tags[0]"], ["b"], {"tags": [None, "b"]}, id="short-row"),
        pytest.param(["m[0][0]", "m[0][1]"], ["1", "2"], {"m": [["1", "2"]]}, id="lists-of-lists"),
        pytest.param(
            ["line items[0].unit price"], ["1"], {"line items": [{"unit price": "1"}]}, id="blanks"
        ),
        pytest.param(["No."], ["1"], {"No.": "1"}, id="abbreviation"),
        pytest.param(["1.5"], ["1"], {"1.5": "1"}, id="number"),
        pytest.param(["Total (incl. VAT)"], ["1"], {"Total (incl. VAT)": "1"}, id="remark"),
        pytest.param(["approx. total"], ["1"], {"approx. total": "1"}, id="sentence"),
        pytest.param(["a[x]"], ["1"], {"a[x]": "1"}, id="brackets-without-index"),
        pytest.param(["a..b"], ["1"], {"a..b": "1"}, id="two-dots"),
    ],
)
def test_columns_that_are_paths_are_nested(header, cells, document):
    assert read_header(header, LIMITS).document(cells) == document


@pytest.mark.parametrize(
    ("header", "message"),
    [
        pytest.param(["a", "a"], "duplicate column 'a'", id="duplicate"),
        pytest.param(["a", "a.b"], "column 'a.b' is inside column 'a'", id="inside"),
        pytest.param(["a.b", "a"], "column 'a.b' is inside column 'a'", id="inside-first"),
        pytest.param(["a[0]", "a.b"], "are an object and a list", id="object-and-list"),
        pytest.param(["a[1]"], "no column with the index 0", id="from-one"),
        pytest.param(["a[0]", "a[999999]"], "no column with the index 1", id="gap"),
    ],
)
def test_columns_that_contradict_each_other_are_refused(write, header, message):
    path = write("t.csv", ",".join(header) + "\n1,2\n")
    with pytest.raises(DataError, match=message) as caught:
        documents_of(path)
    assert caught.value.location.line == 1


def test_nested_columns_respect_the_depth_limit(write):
    path = write("t.csv", ".".join("a" * 300) + ",b\n1,2\n")
    with pytest.raises(LimitError, match="limit of 200 levels"):
        documents_of(path)


def test_nested_columns_are_noted(write):
    _, notes = documents_of(write("t.csv", "id,vendor.name\n1,x\n"))
    assert any("columns with paths are nested keys (vendor.name)" in note for note in notes)


def cell(text):
    return '"' + text.replace('"', '""') + '"'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param('{"b": "x"}', {"b": "x"}, id="object"),
        pytest.param('["x", "y"]', ["x", "y"], id="list"),
        pytest.param("[]", [], id="empty-list"),
        pytest.param("[sic]", "[sic]", id="remark"),
        pytest.param("{a}", "{a}", id="not-json"),
        pytest.param('{"b": 1, "b": 2}', '{"b": 1, "b": 2}', id="duplicate-key"),
        pytest.param("[", "[", id="bracket"),
        pytest.param("12", "12", id="number"),
    ],
)
def test_json_objects_and_lists_in_cells_are_read(write, text, value):
    documents, _ = documents_of(write("t.csv", f"id,a\n1,{cell(text)}\n"))
    assert documents == [{"a": value}]


def test_a_json_cell_beyond_a_limit_makes_the_row_unreadable(write):
    path = write("t.csv", f"id,a\n1,{cell('[[[[1]]]]')}\n2,x\n")
    stream = open_truth(path, Inputs(limits=Limits(depth=3)))
    first, second = (case for batch in stream.batches() for case in batch)
    assert "column 'a': nesting exceeds the limit of 3 levels" in first.note
    assert second.expected == {"a": "x"}


JSON_CELL = 'id,lines\n1,"[{""n"": 5, ""paid"": true}]"\n'
DOTTED = "id,lines[0].n,lines[0].paid\n1,5,true\n"


@pytest.mark.parametrize("turned", [False, True], ids=["truth", "prediction"])
@pytest.mark.parametrize(
    ("name", "other"),
    [
        pytest.param("c.csv", DOTTED, id="dotted-columns"),
        pytest.param("c.csv", JSON_CELL, id="json-cells"),
        pytest.param("c.json", '[{"id": 1, "lines": [{"n": 5, "paid": true}]}]', id="json"),
    ],
)
def test_numbers_in_json_cells_equal_those_of_the_other_side(write, name, other, turned):
    given = write("t.csv", JSON_CELL), write(name, other)
    [[case]] = open_pairs(*(given[::-1] if turned else given)).batches()
    assert case.expected == case.candidate


def test_numbers_in_json_text_stay_numbers_where_each_row_is_an_envelope(write):
    text, other = cell('{"n": 10}'), cell('{"n": 10.0}')
    both = write("t.csv", f"id,expected,output\n1,{text},{other}\n")
    [[case]] = open_pairs(both).batches()
    assert (case.expected, case.candidate) == ({"n": 10}, {"n": 10.0})
    truth = write("e.csv", f"id,expected\n1,{text}\n")
    [[case]] = open_pairs(truth, write("c.json", '[{"id": 1, "output": {"n": 10}}]')).batches()
    assert (case.expected, case.candidate) == ({"n": 10}, {"n": 10})
