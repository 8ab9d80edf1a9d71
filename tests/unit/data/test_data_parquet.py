"""Parquet and zstd files have the same rows, pairs and limits as JSONL files."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fieldmark.data.arrow_tables import ParquetSource
from fieldmark.data.input_files import open_file
from fieldmark.data.inputs import Inputs
from fieldmark.data.json_parser import JsonDialect, Role, UnreadableRow
from fieldmark.data.pairing import open_pairs
from fieldmark.errors import DataError, LimitError
from fieldmark.model.case import CaseInput
from fieldmark.values.json_text import Limits
from row_files import cases_of, lines

TRUTH = [
    {"id": f"{n:04d}", "expected": {"total": n, "vendor": f"Acme {n}", "rows": [{"x": n}]}}
    for n in range(50)
]
FOUND = [
    {"id": f"{n:04d}", "candidate": {"total": n, "vendor": f"Acme {n}", "rows": [{"x": 0}]}}
    for n in range(50)
]


def parquet(path, rows):
    pq.write_table(rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows), path)
    return path


def zstd(path, content):
    path.write_bytes(pa.compress(content, codec="zstd", asbytes=True))
    return path


def rows_of(path, role=Role.TRUTH, **limits):
    dialect = JsonDialect(role=role, limits=Limits(**limits))
    return [row for block in ParquetSource(str(path), dialect).blocks() for row in block.rows]


def test_parquet_pairs_as_jsonl_does(tmp_path):
    plain = open_pairs(TRUTH, FOUND)
    packed = open_pairs(
        parquet(tmp_path / "t.parquet", TRUTH), parquet(tmp_path / "c.parquet", FOUND)
    )
    assert cases_of(packed) == cases_of(plain)
    assert packed.bytes_read == packed.bytes_total > 0


@pytest.mark.parametrize(
    "shuffled",
    [
        pytest.param(FOUND[::-1], id="reversed"),
        pytest.param(FOUND[25:] + FOUND[:25], id="halves-exchanged"),
        pytest.param(FOUND[:10], id="some-missing"),
    ],
)
def test_rows_out_of_order_are_found_by_id(tmp_path, shuffled, monkeypatch):
    monkeypatch.setattr("fieldmark.data.pairing._MIN_WAITING", 2)
    monkeypatch.setattr("fieldmark.data.pairing._MAX_WAITING", 2)
    truth = parquet(tmp_path / "t.parquet", TRUTH)
    found = cases_of(open_pairs(truth, parquet(tmp_path / "c.parquet", shuffled)))
    assert found == cases_of(open_pairs(TRUTH, shuffled))


def test_closing_a_stream_closes_files_that_were_not_read_to_the_end(tmp_path):
    stream = open_pairs(
        parquet(tmp_path / "t.parquet", TRUTH), parquet(tmp_path / "c.parquet", FOUND)
    )
    batches = stream.batches()
    next(batches)
    files = [each.file for side in stream.sides for each in side.source.files]
    assert not all(file.closed for file in files)
    stream.close()
    assert all(file.closed for file in files)


def test_files_are_closed_after_an_error(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(
        "fieldmark.data.rows.open_file", lambda path: opened.append(open_file(path)) or opened[-1]
    )
    with pytest.raises(DataError, match="id key 'name' not found"):
        open_pairs(
            parquet(tmp_path / "t.parquet", TRUTH),
            parquet(tmp_path / "c.parquet", FOUND),
            Inputs(id_key="name"),
        )
    assert {each.file.closed for each in opened} == {True}


def test_non_finite_numbers_are_read_out_of_order(tmp_path, monkeypatch):
    monkeypatch.setattr("fieldmark.data.pairing._MIN_WAITING", 1)
    monkeypatch.setattr("fieldmark.data.pairing._MAX_WAITING", 1)
    truth = [{"id": str(n), "expected": {"x": 1.0}} for n in range(60)]
    found = [{"id": str(n), "candidate": {"x": math.nan}} for n in reversed(range(60))]
    stream = open_pairs(
        parquet(tmp_path / "t.parquet", truth), parquet(tmp_path / "c.parquet", found)
    )
    assert all(math.isnan(case.candidate["x"]) for case in cases_of(stream))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        pytest.param(pa.array([7], pa.int8()), 7, id="small-integers"),
        pytest.param(pa.array([2**63], pa.uint64()), 2**63, id="large-integers"),
        pytest.param(pa.array([0.1], pa.float32()), 0.1, id="single-precision"),
        pytest.param(pa.array([0.1], pa.float64()), 0.1, id="double-precision"),
        pytest.param(pa.array([decimal.Decimal("12.30")]), 12.3, id="decimals-are-numbers"),
        pytest.param(pa.array([decimal.Decimal(10) ** 30]), 10**30, id="long-whole-numbers-exact"),
        pytest.param(pa.array([dt.date(2024, 1, 2)]), "2024-01-02", id="dates-are-iso-text"),
        pytest.param(
            pa.array([dt.datetime(2024, 1, 2, 3, 4)], pa.timestamp("us")),  # noqa: DTZ001
            "2024-01-02T03:04:00",
            id="moments-are-iso-text",
        ),
        pytest.param(pa.array([dt.time(3, 4)]), "03:04:00", id="times-are-iso-text"),
        pytest.param(pa.array([b"Gr\xc3\xbc\xc3\x9fe"]), "Grüße", id="bytes-are-utf-8-text"),
        pytest.param(pa.array(["a"]).dictionary_encode(), "a", id="dictionaries-are-their-values"),
        pytest.param(pa.array([None], pa.null()), None, id="null"),
        pytest.param(pa.array([[1, None]]), [1, None], id="lists"),
        pytest.param(pa.array([{"a": {"b": 1}}]), {"a": {"b": 1}}, id="structs-are-objects"),
        pytest.param(
            pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
            {"k": 1},
            id="maps-are-objects",
        ),
    ],
)
def test_columns_become_json(tmp_path, column, value):
    rows = rows_of(parquet(tmp_path / "x.parquet", pa.table({"x": column})))
    assert rows == [{"x": value}]
    assert type(rows[0]["x"]) is type(value)


def test_pandas_index_is_ignored(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 2]}, index=[5, 9])
    frame.to_parquet(tmp_path / "x.parquet")
    assert rows_of(tmp_path / "x.parquet") == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        pytest.param(
            pa.table({"x": pa.array([1], pa.duration("s"))}), "no JSON equivalent", id="durations"
        ),
        pytest.param(
            pa.table({"x": pa.array([[(1, 1)]], pa.map_(pa.int64(), pa.int64()))}),
            "expected strings",
            id="maps-with-other-keys",
        ),
        pytest.param(
            pa.table([pa.array([1]), pa.array([2])], names=["x", "x"]),
            "duplicate column",
            id="duplicate-column",
        ),
    ],
)
def test_types_without_a_json_equivalent_are_rejected(tmp_path, table, message):
    path = parquet(tmp_path / "x.parquet", table)
    with pytest.raises(DataError, match=message) as caught:
        ParquetSource(str(path))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        pytest.param(pa.array([math.inf, 1.0]), "not a finite number", id="infinity-in-a-truth"),
        pytest.param(pa.array([b"\xff", b"a"]), "invalid UTF-8", id="bytes-that-are-not-utf-8"),
        pytest.param(
            pa.array([[("k", 1), ("k", 2)], []], pa.map_(pa.string(), pa.int64())),
            "duplicate key",
            id="map-with-a-duplicate-key",
        ),
    ],
)
def test_invalid_value_makes_its_row_unreadable(tmp_path, column, message):
    first, second = rows_of(parquet(tmp_path / "x.parquet", pa.table({"x": column})))
    assert isinstance(first, UnreadableRow)
    assert message in first.reason
    assert not isinstance(second, UnreadableRow)


def test_row_beyond_the_limit_is_an_error_with_its_number(tmp_path):
    # Repeated text takes hardly any room in the file.
    table = pa.table({"x": ["short", "y" * 200_000]})
    path = parquet(tmp_path / "x.parquet", table)
    assert path.stat().st_size < 50_000
    with pytest.raises(LimitError, match="row 2: row exceeds the limit of 100,000 bytes"):
        rows_of(path, line_bytes=100_000)


def test_row_with_too_many_values_is_unreadable(tmp_path):
    path = parquet(tmp_path / "x.parquet", pa.table({"x": [[True] * 1_000, [True]]}))
    first, second = rows_of(path, nodes=500)
    assert isinstance(first, UnreadableRow)
    assert second == {"x": [True]}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"not parquet at all", id="other-bytes"),
        pytest.param(b"PAR1PAR1", id="no-footer"),
        pytest.param(b"", id="empty"),
    ],
)
def test_invalid_parquet_file_is_an_error(tmp_path, content):
    path = tmp_path / "x.parquet"
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot read Parquet") as caught:
        open_pairs(path, path)
    assert "\n" not in str(caught.value)


def test_truncated_parquet_file_is_an_error(tmp_path):
    path = parquet(tmp_path / "x.parquet", pa.table({"x": [f"{n * n * n}" for n in range(5_000)]}))
    assert rows_of(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:40] + b"\xff" * 200 + whole[240:])
    with pytest.raises(DataError, match="cannot read Parquet"):
        rows_of(path)


def test_compressed_parquet_file_is_rejected(tmp_path):
    path = zstd(tmp_path / "x.parquet.zst", b"PAR1")
    with pytest.raises(DataError, match="compressed Parquet files are not supported"):
        open_pairs(path, path)


@pytest.mark.parametrize("name", ["t.jsonl.zst", "t.ndjson.ZST", "t.json.zst"])
def test_zstd_is_detected_by_its_suffix(tmp_path, name):
    content = json.dumps(TRUTH).encode() if ".json.z" in name else lines(TRUTH).encode()
    stream = open_pairs(zstd(tmp_path / name, content), TRUTH)
    assert all(case.expected == case.candidate for case in cases_of(stream))


def test_compressed_csv_is_read(tmp_path):
    path = zstd(tmp_path / "t.csv.zst", b"id,total\na,1\n")
    (case,) = cases_of(open_pairs(path, [{"id": "a", "total": 1}]))
    assert case.expected == {"total": 1}


def test_zstd_is_read_out_of_order(tmp_path, monkeypatch):
    monkeypatch.setattr("fieldmark.data.pairing._MIN_WAITING", 2)
    monkeypatch.setattr("fieldmark.data.pairing._MAX_WAITING", 2)
    found = cases_of(open_pairs(TRUTH, zstd(tmp_path / "c.jsonl.zst", lines(FOUND[::-1]).encode())))
    assert [case.candidate for case in found] == [row["candidate"] for row in FOUND]


def test_several_zstd_frames_are_one_file(tmp_path):
    parts = [pa.compress(lines([row]).encode(), codec="zstd", asbytes=True) for row in TRUTH]
    path = tmp_path / "t.jsonl.zst"
    path.write_bytes(b"".join(parts))
    assert len(cases_of(open_pairs(path, FOUND))) == len(TRUTH)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda raw: raw[:-8], id="truncated"),
        pytest.param(lambda raw: b"plain text\n" + raw, id="not-compressed"),
        pytest.param(lambda raw: raw + b"rest", id="trailing-bytes"),
    ],
)
def test_damaged_zstd_file_is_an_error(tmp_path, damage):
    path = zstd(tmp_path / "t.jsonl.zst", lines(TRUTH).encode())
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match="cannot read file") as caught:
        cases_of(open_pairs(path, FOUND))
    assert "\n" not in str(caught.value)


def test_limits_apply_to_decompressed_data(tmp_path):
    path = zstd(tmp_path / "t.jsonl.zst", b'{"x":"' + b"y" * 3_000_000 + b'"}\n')
    assert path.stat().st_size < 1_000
    with pytest.raises(LimitError, match="line exceeds the limit of 1,000,000 bytes"):
        open_pairs(path, FOUND, Inputs(limits=Limits(line_bytes=1_000_000)))
    whole = zstd(tmp_path / "t.json.zst", b'{"x":"' + b"y" * 3_000_000 + b'"}')
    with pytest.raises(LimitError, match="exceeds the limit of 1,000,000 bytes"):
        open_pairs(whole, FOUND, Inputs(limits=Limits(document_bytes=1_000_000)))


def test_null_is_empty_and_no_value_is_absent(tmp_path):
    table = pa.table({"id": ["a", "b"], "expected": [{"x": 1, "y": None}, {"x": None, "y": 2}]})
    stream = open_pairs(
        parquet(tmp_path / "t.parquet", table), [{"id": "a", "candidate": {"x": 1}}]
    )
    first, second = cases_of(stream)
    assert first.expected == {"x": 1, "y": None}
    assert second.input is CaseInput.MISSING
