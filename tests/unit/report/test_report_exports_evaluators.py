"""Results of evaluators in all exports: details, misses of judges, and run-level errors."""

from __future__ import annotations

import csv
import json
import sys

import pytest

import fieldmark as fm
from fieldmark.report.exports.csv import OutcomesCsv
from fieldmark.report.exports.eval_results import EvalResults
from fieldmark.report.exports.json import Json
from fieldmark.report.exports.junit import Junit
from fieldmark.report.exports.markdown import Markdown
from fieldmark.report.exports.parquet import Parquet
from fieldmark.report.exports.xlsx import Xlsx
from fieldmark.report.html.metrics import evaluator_lines
from fieldmark.report.render import document_text
from fieldmark.report.run_document import run_document
from unit.report.exported import shown

RESPONSE = {"score": 0.2, "misses": ["too short"], "details": {"words": 3}}
CASES = [
    {"id": "a", "expected": {"x": 1}, "candidate": {"x": 2}},
    {"id": "none", "expected": {}, "candidate": {}},
]
EVALUATORS = [
    {"name": "judge", "type": "code_judge", "script": [sys.executable, "-c", f"print({json.dumps(json.dumps(RESPONSE))})"]},
    {"name": "fields", "type": "field_accuracy", "fields": [{"path": "x"}]},
    {"name": "typo", "type": "field_accuracy", "fields": [{"path": "xx"}]},
]  # fmt: skip
ERROR = "no document has any of its paths: 'xx'"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "judged"
    fm.evaluate({"cases": CASES, "evaluators": EVALUATORS}, out=directory)
    return shown(directory)


def details(results):
    return {result["name"]: result["details"] for result in results}["judge"]


def test_tables_of_fields_have_the_results_in_the_first_row_of_a_case(run, tmp_path):
    OutcomesCsv().write(run, tmp_path / "out.csv")
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text("utf-8").splitlines()))
    by_case = {row["case_id"]: row["evaluator_results"] for row in rows if row["evaluator_results"]}
    assert [details(json.loads(by_case[name])) for name in ("a", "none")] == [{"words": 3}] * 2
    from pyarrow import parquet

    Parquet().write(run, tmp_path / "out.parquet")
    table = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["evaluator_results"] or "" for row in table] == [
        row["evaluator_results"] for row in rows
    ]


def test_documents_have_the_results_of_each_case(run, tmp_path):
    Json().write(run, tmp_path / "out.json")
    EvalResults().write(run, tmp_path / "eval.json")
    whole, evals = (json.loads((tmp_path / item).read_text()) for item in ("out.json", "eval.json"))
    for case in (whole["cases"][0], evals["eval_results"][0]):
        assert details(case["evaluator_results"]) == {"words": 3}
    assert whole["summary"]["evaluators"]["typo"]["error"].startswith(ERROR)


def test_spreadsheet_has_a_sheet_of_evaluator_results(run, tmp_path):
    import openpyxl

    Xlsx().write(run, tmp_path / "out.xlsx")
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    head, first, *_ = book["Evaluators"].iter_rows(values_only=True)
    row = dict(zip(head, first, strict=True))
    assert (row["Case"], row["Name"], row["Misses"]) == ("a", "judge", '["too short"]')
    assert json.loads(row["Details"]) == {"words": 3}
    texts = [str(cell) for line in book["Summary"].iter_rows(values_only=True) for cell in line]
    assert any(ERROR in text for text in texts)


def test_junit_failures_have_the_misses_of_judges_and_fields_once(run, tmp_path):
    Junit().write(run, tmp_path / "out.xml")
    text = (tmp_path / "out.xml").read_text("utf-8")
    assert "judge: too short" in text
    assert '{"words":3}' in text
    assert "fields: x" not in text
    assert f'<error message="{ERROR}' in text


def test_reports_show_the_error_of_an_evaluator(run, tmp_path):
    Markdown().write(run, tmp_path / "out.md")
    assert ERROR in (tmp_path / "out.md").read_text("utf-8")
    assert evaluator_lines(run.summary)[2]["error"].startswith(ERROR)


def test_reports_mark_the_mean_score_of_an_evaluator_that_had_nothing_to_score(run, tmp_path):
    import openpyxl

    assert [line["vacuous"] for line in evaluator_lines(run.summary)] == [False, False, True]
    Markdown().write(run, tmp_path / "out.md")
    assert "| `typo` | 1.000 (vacuous) |" in (tmp_path / "out.md").read_text("utf-8")
    lines = document_text(run_document(run.summary)).splitlines()
    assert [line.split()[:3] for line in lines if line.startswith("typo ")] == [
        ["typo", "1.000", "(vacuous)"]
    ]
    Xlsx().write(run, tmp_path / "out.xlsx")
    rows = openpyxl.load_workbook(tmp_path / "out.xlsx")["Summary"].iter_rows(values_only=True)
    assert {row[0]: row[5] for row in rows if row[4] == "mean score"} == {
        "evaluator: judge": None,
        "evaluator: fields": "1 vacuous case",
        "evaluator: typo": "vacuous",
    }
