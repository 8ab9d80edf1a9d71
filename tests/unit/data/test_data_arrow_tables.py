"""Data frames and Arrow tables are read like files with the same rows."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import sys
import uuid
from dataclasses import make_dataclass
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fieldmark as fm
from fieldmark.data.arrow_tables import open_table
from fieldmark.data.json_parser import JsonDialect, Role, UnreadableRow
from fieldmark.errors import InputTypeError
from row_files import lines

MOMENT = dt.datetime(2024, 5, 3, 4, 5, 6)  # noqa: DTZ001
ISO = "2024-05-03T04:05:06"
NAN = math.nan


class Dataset:
    """What is used of a data set of Hugging Face: batches as Arrow tables."""

    def __init__(self, table, kind=None):
        self.table, self.kind = table, kind
        self.features = type("Features", (), {"arrow_schema": table.schema})

    def with_format(self, kind):
        return Dataset(self.table, kind)

    def iter(self, batch_size):
        assert self.kind == "arrow"
        for start in range(0, len(self.table), batch_size):
            yield self.table.slice(start, batch_size)


Dataset.__module__ = "datasets.arrow_dataset"


def rows_of(table, role=Role.CANDIDATE):
    blocks = open_table(table, JsonDialect(role=role), "rows").blocks()
    return [row for block in blocks for row in block.rows]


def same(value, expected):
    return value == expected and type(value) is type(expected)


# --- cells ----------------------------------------------------------------------------------------

PANDAS = [
    pytest.param([1, 2], [1, 2], id="integers"),
    pytest.param([10, None], [10.0, None], id="integers-with-a-missing-value-are-floats"),
    pytest.param(pd.Series([10, None], dtype="Int64"), [10, None], id="nullable-integers"),
    pytest.param(pd.Series([10, None], dtype="int64[pyarrow]"), [10, None], id="arrow-integers"),
    pytest.param([0.5, NAN], [0.5, None], id="nan"),
    pytest.param(pd.Series([0.1, NAN], dtype="float32"), [0.1, None], id="single-precision"),
    pytest.param(pd.Series([0.1, None], dtype="Float32"), [0.1, None], id="nullable-single-precision"),
    pytest.param(pd.Series([0.1, None], dtype="float[pyarrow]"), [0.1, None], id="arrow-single-precision"),
    pytest.param(pd.Series([0.1], dtype="float16"), [0.1], id="half-precision"),
    pytest.param([True, False], [True, False], id="booleans"),
    pytest.param([True, None], [True, None], id="booleans-with-none"),
    pytest.param(pd.Series([True, None], dtype="boolean"), [True, None], id="nullable-booleans"),
    pytest.param(["a", None], ["a", None], id="text"),
    pytest.param(pd.Series(["a", pd.NA], dtype="string"), ["a", None], id="nullable-text"),
    pytest.param(['{"a": 1}', "[1]"], ['{"a": 1}', "[1]"], id="text-that-is-json-stays-text"),
    pytest.param(pd.Categorical(["a", None]), ["a", None], id="categories"),
    pytest.param(pd.Categorical([3, None]), [3, None], id="categories-of-numbers"),
    pytest.param(pd.to_datetime(["2024-05-03T04:05:06", None]), [ISO, None], id="moments"),
    pytest.param(pd.to_datetime(["2024-05-03", None]), ["2024-05-03T00:00:00", None], id="midnight"),
    pytest.param(pd.to_datetime(["2024-05-03T04:05:06+02:00"]), [f"{ISO}+02:00"], id="time-zone"),
    pytest.param([dt.date(2024, 5, 3), None], ["2024-05-03", None], id="dates"),
    pytest.param([decimal.Decimal("1.50"), decimal.Decimal(2), None], [1.5, 2, None], id="decimals"),
    pytest.param(pd.arrays.SparseArray([0.0, 1.5]), [0.0, 1.5], id="sparse"),
    pytest.param([1, "a", 2.5, True, None, NAN, pd.NA, pd.NaT], [1, "a", 2.5, True, None, None, None, None], id="mixed-objects"),
    pytest.param([{"a": [1, {"b": None}]}, [1], "x"], [{"a": [1, {"b": None}]}, [1], "x"], id="nested-objects"),
    pytest.param([{"a": NAN, "b": np.array([1.0, NAN])}], [{"a": None, "b": [1.0, None]}], id="nan-inside-a-cell"),
    pytest.param([uuid.UUID(int=1), dt.time(1, 2)], [str(uuid.UUID(int=1)), "01:02:00"], id="other-objects"),
    pytest.param(pd.Series([np.float32(0.1), np.int8(5)], dtype=object), [0.1, 5], id="numpy-objects"),
]  # fmt: skip


@pytest.mark.parametrize(("column", "expected"), PANDAS)
def test_cells_of_pandas_become_json(column, expected):
    objects = isinstance(column, list) and pd.Series(column).dtype.kind == "O"
    frame = pd.DataFrame({"x": pd.Series(column, dtype=object) if objects else column})
    found = [row["x"] for row in rows_of(frame, Role.TRUTH)]
    assert all(map(same, found, expected)), found
    assert len(found) == len(expected)


POLARS = [
    pytest.param(pl.Series([0.5, NAN, None]), [0.5, None, None], id="nan-and-null"),
    pytest.param(pl.Series(["a", None]), ["a", None], id="text"),
    pytest.param(pl.Series(["a", None], dtype=pl.Categorical), ["a", None], id="categories"),
    pytest.param(pl.Series(["a"], dtype=pl.Enum(["a"])), ["a"], id="enumeration"),
    pytest.param(pl.Series([dt.date(2024, 5, 3), None]), ["2024-05-03", None], id="dates"),
    pytest.param(pl.Series([MOMENT]), [ISO], id="moments"),
    pytest.param(pl.Series([MOMENT.replace(tzinfo=dt.UTC)]), [f"{ISO}+00:00"], id="time-zone"),
    pytest.param(pl.Series([[1, None], []]), [[1, None], []], id="lists"),
    pytest.param(pl.Series([[0.1]], dtype=pl.List(pl.Float32)), [[0.1]], id="lists-of-singles"),
    pytest.param(pl.Series([b"a"]), ["a"], id="bytes-are-utf-8-text-as-in-parquet"),
]  # fmt: skip


@pytest.mark.parametrize(("column", "expected"), POLARS)
def test_cells_of_polars_become_json(column, expected):
    found = [row["x"] for row in rows_of(column.alias("x").to_frame(), Role.TRUTH)]
    assert all(map(same, found, expected)), found
    assert len(found) == len(expected)


def test_table_has_the_rows_of_the_parquet_file(tmp_path):
    frame = pd.DataFrame(
        {
            "id": ["a", "b"],
            "vendor.name": ["ACME", None],
            "n": pd.Series([1, None], dtype="Int64"),
            "f": pd.Series([0.1, None], dtype="float32"),
            "at": pd.to_datetime(["2024-05-03", None]),
            "kind": pd.Categorical(["x", None]),
            "tags": [["p", "q"], []],
        }
    )
    path = tmp_path / "x.parquet"
    frame.to_parquet(path)
    table = pq.read_table(path)
    truth = [
        {"id": "a", "vendor": {"name": "ACME"}, "n": 1, "f": 0.1, "at": "2024-05-03T00:00:00", "kind": "x", "tags": ["p", "q"]},
        {"id": "b", "vendor": {"name": None}, "n": None, "f": None, "at": None, "kind": None, "tags": []},
    ]  # fmt: skip
    for given in (frame, pd.read_parquet(path), pl.read_parquet(path), table):
        assert rows_of(given) == truth, type(given)
    for given in (path, frame, table):
        assert fm.score(truth, given).micro.f1 == 1.0, type(given)
        assert fm.score(given, truth).micro.f1 == 1.0, type(given)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda: pd.DataFrame({"x": [1, b"q"]}), "rows row 2: x: bytes is not a JSON value; accepted", id="bytes"),
        pytest.param(lambda: pd.DataFrame({"x": [{"a": [1j]}]}), r"rows row 1: x\.a\[0\]: complex is not", id="inside-a-cell"),
        pytest.param(lambda: pd.DataFrame({"x": pd.to_timedelta([1])}), "rows row 1: x: Timedelta is not", id="durations"),
        pytest.param(lambda: pd.DataFrame({"a.b": [len]}), r'row 1: \["a\.b"\]: builtin_function_or_method', id="name-of-the-column"),
    ],
)  # fmt: skip
def test_other_objects_in_cells_raise_type_error(make, message):
    with pytest.raises(TypeError, match=message):
        rows_of(make())


def test_infinite_number_makes_a_row_of_the_truth_unreadable():
    first, second = rows_of(pd.DataFrame({"id": ["a", "b"], "x": [math.inf, 1.0]}), Role.TRUTH)
    assert isinstance(first, UnreadableRow)
    assert second == {"id": "b", "x": 1.0}
    run = fm.score(pd.DataFrame({"id": ["a"], "x": [math.inf]}), [{"id": "a", "x": 1}])
    assert run.summary.cases.invalid_truth == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda: pl.DataFrame({"x": pl.Series([object()], dtype=pl.Object)}), "rows: column 'x' has type Object, which has no JSON equivalent", id="polars-objects"),
        pytest.param(lambda: pl.DataFrame({"x": [dt.timedelta(1)]}), "column 'x' has type duration", id="durations"),
        pytest.param(lambda: pd.DataFrame([[1, 2]]), "rows: the name of column 0 is not a string; rename the column", id="numbered-columns"),
        pytest.param(lambda: pd.DataFrame([[1]], columns=[("a", "b")]), "not a string", id="tuple-as-name"),
        pytest.param(lambda: pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])), r"column \('a', 'x'\) is not a string", id="levels-of-columns"),
        pytest.param(lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]), "rows: duplicate column 'a'", id="duplicate-column"),
        pytest.param(lambda: pa.table([pa.array([1]), pa.array([2])], names=["x", "x"]), "rows: duplicate column 'x'", id="duplicate-arrow-column"),
        pytest.param(lambda: pd.DataFrame({"id": [1]}, index=pd.Index([1], name="id")), "duplicate column 'id'", id="column-with-the-name-of-the-index"),
        pytest.param(lambda: pd.DataFrame({"a": [1], "a.b": [1]}), r"column 'a\.b' is inside column 'a'", id="contradicting-columns"),
        pytest.param(lambda: pd.DataFrame(index=range(3)), "rows: the table has no columns", id="no-columns"),
        pytest.param(pl.DataFrame, "the table has no columns", id="no-polars-columns"),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_read_are_errors(make, message):
    with pytest.raises(fm.DataError, match=message):
        open_table(make(), JsonDialect(), "rows")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])  # fmt: skip
def test_table_without_rows_is_an_error(make):
    with pytest.raises(fm.DataError, match="ground truth: no rows"):
        fm.score(make({"a": []}), [{"a": 1}])


# --- the index of pandas --------------------------------------------------------------------------


def test_index_with_a_name_is_a_column():
    frame = pd.DataFrame({"id": ["b", "a"], "x": [2, 1]}).set_index("id")
    assert rows_of(frame) == [{"id": "b", "x": 2}, {"id": "a", "x": 1}]
    run = fm.score([{"id": "a", "x": 1}, {"id": "b", "x": 2}], frame)
    assert (run.micro.f1, run.summary.warnings) == (1.0, ())
    levels = pd.MultiIndex.from_tuples([("a", 1)], names=["invoice", None])
    assert rows_of(pd.DataFrame({"x": [1]}, index=levels)) == [{"invoice": "a", "x": 1}]
    named = pd.DataFrame({"x": [1]}, index=pd.RangeIndex(7, 8, name="id"))
    assert rows_of(named) == [{"id": 7, "x": 1}]


def test_numbered_index_without_a_name_is_ignored():
    frame = pd.DataFrame({"x": [1, 2, 3]}).iloc[[2, 0]]
    source = open_table(frame, JsonDialect(), "rows")
    assert ([row for block in source.blocks() for row in block.rows], source.warnings) == (
        [{"x": 3}, {"x": 1}],
        [],
    )


def test_labels_without_a_name_are_ignored_with_a_warning():
    frame = pd.DataFrame({"x": [1, 2]}, index=["a", "b"])
    assert rows_of(frame) == [{"x": 1}, {"x": 2}]
    warning = "the index has no name and is ignored; to pair rows by it, name it with df.rename_axis('id')"
    assert fm.score(frame, frame).summary.warnings == (
        f"ground truth: {warning}",
        f"predictions: {warning}",
    )
    assert fm.score(frame.rename_axis("id"), frame[::-1].rename_axis("id")).micro.f1 == 1.0
    assert f"# warning: data frame: {warning}" in fm.infer(frame)


# --- rows -----------------------------------------------------------------------------------------

TRUTH = [
    {"id": f"{n:04d}", "total": n + 0.5, "vendor": f"v{n % 7}", "lines": [{"n": n}], "note": None}
    for n in range(600)
]
FOUND = [
    {**row, "total": 0.0 if n % 5 == 0 else row["total"], "note": "x" if n % 3 == 0 else None}
    for n, row in enumerate(TRUTH)
    if n % 11
]
Row = make_dataclass("Row", list(TRUTH[0]))
FORMS = {
    "pandas": pd.DataFrame,
    "pandas-index": lambda rows: pd.DataFrame(rows).set_index("id"),
    "polars": pl.DataFrame,
    "arrow": pa.Table.from_pylist,
    "batch": pa.RecordBatch.from_pylist,
    "reader": lambda rows: pa.Table.from_pylist(rows).to_reader(max_chunksize=100),
    "hugging-face": lambda rows: Dataset(pa.Table.from_pylist(rows)),
    "list": list,
    "generator": lambda rows: (row for row in rows),
    "dataclasses": lambda rows: [Row(**row) for row in rows],
    "series": pd.Series,
}


@pytest.fixture(scope="module")
def expected_summary(tmp_path_factory):
    paths = []
    for name, rows in (("truth", TRUTH), ("found", FOUND)):
        path = tmp_path_factory.mktemp("lines") / f"{name}.jsonl"
        path.write_text(lines(rows), encoding="utf-8")
        paths.append(path)
    return fm.score(*paths).to_dict()


@pytest.mark.parametrize(
    ("one", "other"), sorted({*product(["pandas", "list"], FORMS), *product(FORMS, ["polars"])})
)
def test_every_form_has_the_result_of_the_file(one, other, expected_summary):
    assert fm.score(FORMS[one](TRUTH), FORMS[other](FOUND)).to_dict() == expected_summary


@pytest.mark.parametrize("form", FORMS)
def test_rows_out_of_order_are_found_by_id(form, expected_summary, monkeypatch):
    monkeypatch.setattr("fieldmark.data.pairing._MIN_WAITING", 2)
    monkeypatch.setattr("fieldmark.data.pairing._MAX_WAITING", 2)
    assert fm.score(TRUTH, FORMS[form](FOUND[::-1])).to_dict() == expected_summary


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow", "hugging-face", "reader"])
def test_rows_are_converted_in_blocks(form):
    source = open_table(FORMS[form](TRUTH), JsonDialect(role=Role.CANDIDATE), "rows")
    blocks = list(source.blocks())
    assert max(len(block.rows) for block in blocks) <= 256
    assert [place for block in blocks for place in block.positions] == list(range(1, 601))
    assert [row for block in blocks for row in block.rows] == TRUTH
    again = sum(len(block.rows) for block in source.blocks())
    assert again == (0 if form == "reader" else 600)
    assert source.read_once is (form == "reader")


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow", "reader", "hugging-face"])
def test_duplicate_ids_are_an_error(form):
    with pytest.raises(fm.DataError, match=r"duplicate id '0000'|have the same id"):
        fm.score(FORMS[form]([TRUTH[0], TRUTH[1], TRUTH[0]]), TRUTH)


def test_columns_are_keys_paths_and_envelopes():
    nested = pd.DataFrame({"id": ["a"], "v.name": ["x"], "l[0].n": [1], "l[1].n": [None]})
    assert rows_of(nested) == [{"id": "a", "v": {"name": "x"}, "l": [{"n": 1}]}]
    run = fm.score(nested, [{"id": "a", "v": {"name": "x"}, "l": [{"n": 1}]}])
    assert run.micro.f1 == 1.0
    assert "ground truth: columns with paths are nested keys (v.name, …)" in run.notes
    both = pd.DataFrame({"id": ["a", "b"], "expected.t": [1, 2], "candidate.t": [1, 3]})
    assert fm.score(both).micro.f1 == 0.5
    cells = pd.DataFrame({"id": ["a", "b"], "expected": [{"t": 1}, {"t": 2}], "output": ['{"t": 1}', None]})  # fmt: skip
    assert fm.score(cells).micro.f1 == pytest.approx(2 / 3)
    other = cells.rename(columns={"id": "nr", "expected": "truth", "output": "answer"})
    keys = {"id_key": "nr", "expected_key": "truth", "candidate_key": "answer"}
    assert fm.score(other, inputs=keys).micro.f1 == pytest.approx(2 / 3)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])  # fmt: skip
def test_rows_of_line_items_are_grouped(make):
    frame = make({"invoice": ["a", "a", "b"], "vendor": ["x", "x", "y"], "lines[].n": [1, 2, 3]})
    documents = [
        {"id": "a", "vendor": "x", "lines": [{"n": 2}, {"n": 1}]},
        {"id": "b", "vendor": "y", "lines": [{"n": 3}]},
    ]
    assert fm.score(frame, documents, inputs={"group_by": "invoice"}).micro.f1 == 1.0


def test_group_by_without_a_table_is_an_error():
    with pytest.raises(fm.OptionError, match=r"CSV, Excel, Parquet or a data frame"):
        fm.score([{"a": 1}], [{"a": 1}], inputs={"group_by": "a"})


COLUMN = pd.Series([{"a": 1}, {"a": 2}, {"a": 3}])


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(pd.Series(['{"a": 1}', None, "x"]), id="pandas"),
        pytest.param(pd.Series(['{"a": 1}', NAN, "x"], dtype=object), id="nan"),
        pytest.param(pd.Series(['{"a": 1}', pd.NA, "x"], dtype="string"), id="nullable-text"),
        pytest.param(pl.Series(['{"a": 1}', None, "x"]), id="polars"),
    ],
)
def test_column_of_model_output(found):
    run = fm.score(COLUMN, found)
    assert (run.micro.tp, run.micro.fn, run.summary.cases.unparseable) == (1, 2, 1)


def test_column_of_ground_truth_has_documents():
    with pytest.raises(
        TypeError, match=r"ground truth row 2: expected a document .*, got NoneType"
    ):
        fm.score(pd.Series([{"a": 1}, None]), COLUMN)
    with pytest.raises(TypeError, match=r"ground truth row 1: expected a document .*, got int"):
        fm.score(pd.Series([1, 2]), COLUMN)


def test_other_functions_accept_tables():
    frame = pd.DataFrame({"id": [1, 2], "total": [5, "6"], "issued": ["2024-05-03", "2024-06-01"]})
    rows = frame.to_dict("records")
    assert fm.infer(frame) == fm.infer(rows)
    assert fm.infer(frame, frame) == fm.infer(rows, rows)
    assert fm.lint(frame) == fm.lint(rows)
    labels = pl.DataFrame(
        {"expected": ["a", "a"], "candidate": ["a", "b"], "verdict": [True, False]}
    )
    assert fm.calibrate(labels, match="exact").best.agreement.share == 1.0
    cases = pd.DataFrame({"id": ["a", "b"], "expected.n": [1, 2], "candidate.n": [1, 3], "tags": [["x"], None]})  # fmt: skip
    fields = [{"type": "field_accuracy", "fields": [{"path": "n"}]}]
    for given in (cases, pl.DataFrame(cases.drop(columns="tags").to_dict("list"))):
        assert fm.evaluate({"cases": given, "evaluators": fields}).mean_score == 0.5
    assert fm.evaluate({"cases": cases, "evaluators": fields}, only=["x"]).mean_score == 1.0


def test_saved_run_of_a_table_records_that_it_was_in_memory(tmp_path):
    frame = pd.DataFrame(TRUTH[:3])
    run = fm.score(frame, pl.DataFrame(FOUND[:3]), out=tmp_path / "run")
    manifest = json.loads((run.path / "manifest.json").read_text("utf-8"))
    assert [each["name"] for each in manifest["inputs"]] == ["(in memory)"] * 2
    assert "options" not in manifest  # so it cannot be resumed


# --- other objects --------------------------------------------------------------------------------

ACCEPTED = "expected a file, a directory, an open file, a mapping, a data frame or an iterable of documents"


class BrokenStream:
    def __arrow_c_stream__(self, requested_schema=None):
        raise RuntimeError("boom")


class WrongStream:
    def __arrow_c_stream__(self, requested_schema=None):
        return 5


class OtherFrame:
    columns = ("a",)
    compute = to_dict = None

    def __iter__(self):
        return iter(self.columns)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(lambda: pl.LazyFrame({"a": [1]}), f"{ACCEPTED}, got LazyFrame; call its method collect first", id="lazy-frame"),
        pytest.param(OtherFrame, f"{ACCEPTED}, got OtherFrame", id="unknown-frame"),
        pytest.param(BrokenStream, "cannot read BrokenStream as a table: boom", id="stream-that-raises"),
        pytest.param(WrongStream, "cannot read WrongStream as a table: ", id="stream-of-something-else"),
        pytest.param(lambda: pa.chunked_array([[1]]), "cannot read ChunkedArray as a table: Cannot import schema", id="column"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("call", "where"),
    [
        pytest.param(lambda table: fm.score(table, [{"a": 1}]), "ground truth: ", id="truth"),
        pytest.param(lambda table: fm.score([{"a": 1}], table), "predictions: ", id="predictions"),
        pytest.param(fm.lint, "", id="lint"),
    ],
)
def test_objects_that_are_no_tables_raise_type_error(make, message, call, where):
    with pytest.raises(InputTypeError) as caught:
        call(make())
    assert isinstance(caught.value, TypeError)
    assert str(caught.value).startswith(where + message)


def test_stream_that_fails_later_is_an_error():
    def batches():
        yield pa.RecordBatch.from_pylist([{"a": 1}])
        raise ValueError("no more\nrows")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches())
    with pytest.raises(
        fm.DataError, match=r"^ground truth: cannot read the table: Invalid: no more$"
    ):
        fm.score(reader, [{"a": 1}])


def test_rows_of_a_query_are_documents():
    class Result:
        columns = ("id", "a")

        def __iter__(self):
            return iter([{"id": "x", "a": 1}])

    assert fm.score(Result(), Result()).micro.f1 == 1.0


def test_case_of_an_eval_that_cannot_be_read_is_an_error():
    reader = pa.table({"id": ["a"], "expected": [b"\xff"]})
    with pytest.raises(fm.DataError, match=r"^cases row 1: invalid UTF-8"):
        fm.evaluate({"cases": reader, "evaluators": []})


def test_several_tables_are_refused():
    splits = {"train": pd.DataFrame({"a": [1]})}
    with pytest.raises(TypeError, match=r"ground truth: train: DataFrame is not .* by itself"):
        fm.score(splits, splits)


def test_arrow_is_named_if_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(fm.MissingExtra, match=r"reading tables requires .*fieldmark\[tables\]"):
        fm.score(pl.DataFrame({"a": [1]}), [{"a": 1}])
    assert fm.score(pd.DataFrame({"a": [1]}), [{"a": 1}]).micro.f1 == 1.0
