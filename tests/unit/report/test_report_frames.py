"""Cases, fields and attributes as tables: columns, types, records, views."""

from __future__ import annotations

import csv
import json
import math
import sys

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fieldmark as fm
from fieldmark.report import frames
from fieldmark.report.exports.common import CASE_COLUMNS, CASE_LIST_COLUMNS, FIELD_COLUMNS
from fieldmark.report.exports.csv import OutcomesCsv
from fieldmark.report.exports.parquet import Parquet
from fieldmark.report.exports.xlsx import Xlsx
from fieldmark.report.tables import ATTRIBUTE_COLUMNS
from unit.report.exported import CANDIDATES, HOSTILE, TRUTH, shown

FRAMES = ("cases", "fields", "attributes")
TYPES = {
    "integer": (pa.int64(), "int64", pl.Int64),
    "number": (pa.float64(), "float64", pl.Float64),
    "boolean": (pa.bool_(), "bool", pl.Boolean),
    "text": (pa.string(), "string", pl.String),
}
NOTHING = [({"a": None}, {"a": None})]
"""Nothing to compare: every number that can be undefined is."""
INVALID = [{"id": "a", "expected": {"x": math.inf}}], [{"id": "a", "candidate": {}}]
"""Invalid ground truth only: a run without cases."""


@pytest.fixture(scope="module")
def run():
    return fm.score(TRUTH, CANDIDATES)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return fm.score(TRUTH, CANDIDATES, out=tmp_path_factory.mktemp("runs") / "saved")


@pytest.fixture(scope="module")
def evaluated():
    return fm.evaluate(
        {
            "cases": [
                {"id": "a", "expected": {"x": 1}, "candidate": {"x": 1}, "tags": ["scan", "b c"]},
                {"id": "b", "expected": {"x": 1}, "candidate": {"x": 2}},
            ],
            "evaluators": [
                {"name": "fields", "type": "field_accuracy", "fields": [{"path": "x"}]},
                {"name": "Schema", "type": "json_schema", "schema": {"type": "object"}},
            ],
        }
    )


def type_of(kind):
    return TYPES.get(kind.value, TYPES["text"])


@pytest.mark.parametrize(
    "sides",
    [
        pytest.param((TRUTH, CANDIDATES), id="usual"),
        pytest.param((NOTHING,), id="nulls"),
        pytest.param(INVALID, id="no-rows"),
    ],
)
@pytest.mark.parametrize("name", FRAMES)
def test_columns_have_the_same_types_whatever_they_contain(sides, name):
    frame = getattr(fm.score(*sides), name)
    arrow, pandas, polars = frame.to_arrow(), frame.to_pandas(), frame.to_polars()
    columns = frame.columns
    assert arrow.column_names == list(pandas.columns) == polars.columns == list(columns)
    assert arrow.schema.types == [type_of(kind)[0] for kind in columns.values()]
    assert [str(dtype) for dtype in pandas.dtypes] == [
        type_of(kind)[1] for kind in columns.values()
    ]
    assert polars.dtypes == [type_of(kind)[2] for kind in columns.values()]
    assert arrow.num_rows == len(pandas) == len(polars) == len(frame)
    assert arrow.schema.metadata[b"convention"] == b"confusion"


@pytest.mark.parametrize("name", FRAMES)
def test_all_data_frames_have_the_same_cells(run, name):
    frame = getattr(run, name)
    rows = frame.to_arrow().to_pylist()
    assert frame.to_polars().to_dicts() == rows
    pandas = frame.to_pandas().astype(object)
    assert pandas.where(pandas.notna(), None).to_dict("records") == rows


def test_columns_of_each_table(run, evaluated):
    assert run.cases.columns == CASE_COLUMNS
    assert list(run.cases.columns)[: len(CASE_LIST_COLUMNS)] == list(CASE_LIST_COLUMNS)
    assert run.fields.columns == FIELD_COLUMNS == evaluated.fields.columns
    assert run.attributes.columns == ATTRIBUTE_COLUMNS
    added = ["evaluators.fields", "evaluators.Schema", "evaluator_results"]
    assert list(evaluated.cases.columns) == [*CASE_COLUMNS, *added]


def test_fields_are_those_of_the_exports(run, saved, tmp_path):
    Parquet().write(shown(saved.path), tmp_path / "o.parquet")
    exported = pq.read_table(tmp_path / "o.parquet")
    assert run.fields.to_arrow().equals(exported, check_metadata=True)
    OutcomesCsv().write(shown(saved.path), tmp_path / "o.csv")
    with (tmp_path / "o.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [*run.fields.columns, "convention"]
    for row, exported_row in zip(run.fields.to_arrow().to_pylist(), rows, strict=True):
        for name in ("case_id", "path", "outcome", "reason", "comparator", "flags", "tags"):
            assert (row[name] or "") == exported_row[name], name
        assert str("" if row["score"] is None else row["score"]) == exported_row["score"]


def test_cases_are_those_of_the_workbook(evaluated, tmp_path):
    import openpyxl

    run = fm.score(TRUTH, CANDIDATES, out=tmp_path / "run")
    Xlsx().write(shown(run.path), tmp_path / "x.xlsx")
    _, *rows = openpyxl.load_workbook(tmp_path / "x.xlsx")["Cases"].iter_rows(values_only=True)
    table = run.cases.to_arrow().to_pylist()
    cells = [tuple(None if cell == "" else cell for cell in row.values()) for row in table]
    assert rows == cells


def test_workbook_names_evaluators(tmp_path, evaluated):
    import openpyxl

    fm.evaluate(
        {
            "cases": [{"id": "a", "expected": {"x": 1}, "candidate": {"x": 1}}],
            "evaluators": [{"name": "=A1", "type": "field_accuracy", "fields": [{"path": "x"}]}],
        },
        out=tmp_path / "run",
    )
    Xlsx().write(shown(tmp_path / "run"), tmp_path / "x.xlsx")
    headings, row = openpyxl.load_workbook(tmp_path / "x.xlsx")["Cases"].iter_rows(values_only=True)
    assert (headings[-1], row[-1]) == ("Evaluator =A1", 1)


def test_records_are_typed(run):
    assert [type(case) for case in run.cases] == [fm.CaseResult] * 3
    fields = list(run.fields)
    assert {type(field) for field in fields} == {fm.FieldResult}
    assert [(field.case_id, field.path) for field in fields[:2]] == [
        ("a", "vendor"),
        ("a", "total"),
    ]
    assert fields == [field for case in run.cases for field in case.fields]
    assert (len(run.cases), len(run.fields)) == (3, len(fields))


def test_cases_are_found_by_id(run, saved):
    for cases in (run.cases, saved.cases):
        assert cases["b"].id == "b"
        assert "b" in cases
        assert "x" not in cases
        assert 1 not in cases
        with pytest.raises(KeyError, match="case 'bb' not found; did you mean 'b'"):
            cases["bb"]
        with pytest.raises(TypeError, match="the id of a case is a string, got int"):
            cases[0]


@pytest.mark.parametrize("text", ['a"b', "ä", "\ud800", "a\nb", "\\", "c"])
def test_every_id_is_found(text, tmp_path):
    rows = [{"id": text, "x": 1}, {"id": text * 2, "x": 1}]
    for run in (fm.score(rows, rows), fm.score(rows, rows, out=tmp_path / "run")):
        assert [run.cases[item].id for item in (text, text * 2)] == [text, text * 2]


def test_a_row_of_another_program_is_found(saved, tmp_path):
    import shutil

    shutil.copytree(saved.path, tmp_path / "copy")
    file = tmp_path / "copy" / "results.jsonl"
    lines = [json.dumps(json.loads(line)) for line in file.read_text().splitlines()]
    file.write_text("\n".join(lines) + "\n")
    assert fm.open_run(tmp_path / "copy").cases["b"].id == "b"


def test_dictionaries_contain_the_values_themselves(evaluated, run):
    case = evaluated.cases.to_dict()["a"]
    assert case["tags"] == ["scan", "b c"]
    assert case["evaluators.fields"] == 1.0
    assert [result["name"] for result in case["evaluator_results"]] == ["fields", "Schema"]
    fields = run.fields.to_dict()
    assert fields["a"][0]["expected"] == "Acme GmbH"
    assert fields["a"][0]["flags"] == []
    assert "candidate" not in fields["c"][0]
    for name in FRAMES:
        assert json.loads(json.dumps(getattr(run, name).to_dict(), allow_nan=False))


def test_lists_are_text_in_data_frames(evaluated):
    assert evaluated.cases.to_pandas()["tags"].tolist() == ["scan, b c", ""]
    assert evaluated.fields.to_pandas()["tags"].tolist() == ["scan, b c", ""]
    assert evaluated.cases.to_polars()["quality_flags"][0] == "safety:not_evaluated"


def test_absent_is_null_and_null_is_text(tmp_path):
    run = fm.score([({"a": None, "b": 1}, {"a": 2})])
    rows = {row["path"]: row for row in run.fields.to_arrow().to_pylist()}
    assert (rows["a"]["expected"], rows["a"]["candidate"]) == ("null", "2")
    assert (rows["b"]["expected"], rows["b"]["candidate"]) == ("1", None)


def test_numbers_that_are_not_finite_are_null_with_a_flag(tmp_path):
    inf = float("inf")
    pairs = [
        (
            {"a": 1, "b": "NaN", "c": [1, 2], "d": "NaN"},
            {"a": inf, "b": "NaN", "c": [1, -inf], "d": inf},
        )
    ]
    rules = {"c": {"align": "whole"}}
    for run in (fm.score(pairs, rules=rules), fm.score(pairs, rules=rules, out=tmp_path / "run")):
        rows = {row["path"]: row for row in run.fields.to_arrow().to_pylist()}
        cells = {path: (row["candidate"], row["flags"]) for path, row in rows.items()}
        assert cells == {
            "a": ("null", "non_finite"),
            "b": ('"NaN"', ""),
            "c": ("[1,null]", "non_finite"),
            "d": ("null", "non_finite"),
        }
        assert rows["d"]["expected"] == '"NaN"'
        assert run.fields.to_dict()["1"][0]["flags"] == ["non_finite"]
    assert fm.rescore(run).fields.to_dict() == run.fields.to_dict()
    again = fm.rescore(run, out=tmp_path / "again")
    assert again.fields.to_dict() == run.fields.to_dict()


def test_runs_without_values_have_null_and_say_so(tmp_path):
    for run in (
        fm.score(TRUTH, CANDIDATES, values=False),
        fm.score(TRUTH, CANDIDATES, values=False, out=tmp_path / "run"),
    ):
        table = run.fields.to_polars()
        assert table["expected"].null_count() == table["candidate"].null_count() == len(table)
        assert "3 cases; values were not saved" in repr(run.cases)
        assert "fields of 3 cases; values were not saved" in run.fields._repr_html_()
        assert "Acme" not in str(run.fields.to_dict()) + str(run.cases.to_dict())


def test_hostile_strings_are_cells_and_shown_as_text():
    texts = [text for text in HOSTILE if text]
    truth = [{"id": text, "expected": {text: text, "same": text}} for text in texts]
    candidates = [{"id": text, "candidate": {text: f"{text}!", "same": text}} for text in texts]
    run = fm.score(truth, candidates)
    same = [row for row in run.fields.to_arrow().to_pylist() if row["path"] == "same"]
    assert [json.loads(row["expected"]) for row in same] == texts
    ids = [text.encode("utf-8", "backslashreplace").decode() for text in texts]
    assert run.cases.to_polars()["case_id"].to_list() == ids
    assert run.cases.to_pandas()["case_id"].tolist() == ids
    for frame in (run.cases, run.fields, run.attributes, run):
        html = frame._repr_html_()
        assert "<script" not in html
        assert "<img" not in html
        repr(frame).encode()
    assert list(run.cases.to_dict()) == texts


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_data_frames_require_the_extra(run, monkeypatch, name, library):
    monkeypatch.setitem(sys.modules, library, None)
    method = f"to_{library.removeprefix('py')}"
    with pytest.raises(fm.MissingExtra, match=rf'{method} requires .*"fieldmark\[tables\]"'):
        getattr(getattr(run, name), method)()


@pytest.mark.parametrize("name", FRAMES)
def test_pandas_and_polars_do_not_need_arrow(run, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    frame = getattr(run, name)
    assert len(frame.to_pandas()) == len(frame.to_polars()) == len(frame)


def test_views_show_the_first_rows(run):
    many = fm.score([({"a": n}, {"a": 0}) for n in range(30)])
    assert repr(many.cases).splitlines()[0] == "30 cases"
    assert len(repr(many.cases).splitlines()) == 15
    assert repr(many.fields).splitlines()[0] == "fields of 30 cases"
    assert many.fields._repr_html_().count("<tr>") == 11
    assert many.fields._repr_html_().endswith("<p>…</p>")
    assert "…" not in repr(run.cases)
    assert repr(fm.score(*INVALID).cases) == "0 cases"
    assert fm.score(*INVALID).fields._repr_html_() == "<p>fields of 0 cases</p>"


def test_long_values_are_shortened_in_views():
    run = fm.score([({"a": "x" * 1_000}, {"a": "y"})])
    assert "x" * 50 not in run.fields._repr_html_() + repr(run.fields)
    assert "xxx…" in run.fields._repr_html_()


def test_batches_are_joined(run, monkeypatch):
    whole = run.fields.to_arrow()
    monkeypatch.setattr(frames, "_BATCH", 3)
    assert run.fields.to_arrow().equals(whole)


def test_rescored_runs_have_tables(saved, tmp_path):
    options = {"wrong_value": "fp"}
    unsaved = fm.rescore(saved, options=options)
    again = fm.rescore(saved, options=options, out=tmp_path / "again")
    assert unsaved.cases.to_arrow().equals(again.cases.to_arrow())
    assert unsaved.cases["a"].counts == again.cases["a"].counts != saved.cases["a"].counts
    assert "x" not in unsaved.cases
    assert unsaved.fields.to_arrow().equals(saved.fields.to_arrow())
