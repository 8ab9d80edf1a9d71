"""SQLite exports: tables that refer to each other, typed columns, and text that stays text."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

import fieldmark as fm
from fieldmark.analyses.report import write_report
from fieldmark.errors import StorageError
from fieldmark.report.exports.common import case_columns, field_columns
from fieldmark.report.exports.sqlite import Sqlite
from unit.report.exported import FORMULAS


def query(path, text):
    with closing(sqlite3.connect(path)) as database:
        return database.execute(text).fetchall()


def test_tables_contain_metrics_attributes_cases_and_fields(ordinary, tmp_path):
    path = tmp_path / "report.db"
    Sqlite().write(ordinary, path)
    tables = query(path, "SELECT name FROM sqlite_master WHERE type = 'table'")
    assert [name for (name,) in tables] == ["metrics", "attributes", "cases", "fields"]
    metrics = dict(query(path, "SELECT * FROM metrics"))
    assert metrics["micro_f1"] == ordinary.summary.micro.f1
    assert dict(query(path, "SELECT attribute, f1 FROM attributes")) == {
        name: item.f1 for name, item in ordinary.summary.attributes.items()
    }
    assert query(path, "SELECT case_id, verdict FROM cases ORDER BY rowid") == [
        ("a", "partial"), ("b", "pass"), ("c", "fail"),
    ]  # fmt: skip
    rows = query(path, "SELECT case_id, path, outcome, expected, candidate FROM fields")
    assert ("a", "total", "format_error", "12.5", '"twelve"') in rows
    assert len(rows) == sum(len(list(case.iter_fields())) for case in ordinary.cases())


def test_columns_are_those_of_other_exports_and_typed(ordinary, tmp_path):
    path = tmp_path / "report.db"
    Sqlite().write(ordinary, path)
    cases = {name: kind for _, name, kind, *_ in query(path, "PRAGMA table_info(cases)")}
    assert list(cases) == list(case_columns())
    assert (cases["case_id"], cases["score"], cases["tp"]) == ("TEXT", "REAL", "INTEGER")
    fields = {name for _, name, *_ in query(path, "PRAGMA table_info(fields)")}
    assert fields == set(field_columns()) - {"tags", "metadata"}
    assert query(path, "PRAGMA foreign_key_check") == []
    assert query(path, "PRAGMA foreign_key_list(fields)")[0][2:5] == ("cases", "case_id", "case_id")


def test_text_from_documents_is_never_sql(hostile, tmp_path):
    Sqlite().write(hostile, tmp_path / "report.db")
    values = {
        json.loads(value)
        for (value,) in query(tmp_path / "report.db", "SELECT expected FROM fields")
        if value and value[0] == '"'
    }
    assert set(FORMULAS) <= values
    names = "'; DROP TABLE cases; --", '"; DROP TABLE fields; --', "\ud800", "a\0b"
    fm.score(
        [{"id": name, name: name} for name in names],
        [{"id": name, name: name} for name in names],
        out=tmp_path / "second",
    )
    write_report(tmp_path / "second", tmp_path / "second.db", kind="sqlite")
    assert [row[0] for row in query(tmp_path / "second.db", "SELECT case_id FROM cases ORDER BY rowid")] == [
        *names[:2], "\\ud800", "a\0b",
    ]  # fmt: skip
    assert len(query(tmp_path / "second.db", "SELECT * FROM fields")) == 4


def test_results_of_evaluators_have_a_table(tmp_path):
    (tmp_path / "rows.jsonl").write_text(
        '{"id": "a", "expected": {"t": 1}, "candidate": {"t": 2}}\n', "utf-8"
    )
    file = tmp_path / "x.eval.yaml"
    file.write_text(
        "cases: rows.jsonl\nevaluators: [{name: A, type: field_accuracy, fields: [{path: t}]}, {name: a, type: field_accuracy, fields: [{path: t}]}]\n",
        "utf-8",
    )
    fm.evaluate(file, out=tmp_path / "run")
    write_report(tmp_path / "run", tmp_path / "report.db", kind="sqlite")
    rows = query(
        tmp_path / "report.db",
        "SELECT case_id, name, score, verdict, misses FROM evaluator_results",
    )
    assert [row[:4] for row in rows] == [("a", "A", 0.0, "fail"), ("a", "a", 0.0, "fail")]
    assert "t" in json.loads(rows[0][4])[0]


def test_failure_leaves_no_file(ordinary, tmp_path, monkeypatch):
    def full(*_, **__):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.raises(StorageError, match="database or disk is full"):
        Sqlite().write(ordinary, tmp_path / "report.db")
    assert list(tmp_path.iterdir()) == []
