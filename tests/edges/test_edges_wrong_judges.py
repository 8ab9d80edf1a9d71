"""Wrong values that once matched are wrong in every result that shows them."""

from __future__ import annotations

import csv
import json
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fieldmark as fm
from unit.judges import agentv_sdk_judge

# --- missing values -------------------------------------------------------------------------------

NAN = float("nan")
MISSING_VALUES = [NAN, np.float64("nan"), np.float32("nan"), pd.NA, pd.NaT, Decimal("nan")]


def rows_of(expected, candidate):
    return [{"id": "a", "expected": {"x": expected}, "candidate": {"x": candidate}}]


@pytest.mark.parametrize("missing", MISSING_VALUES, ids=repr)
@pytest.mark.parametrize(
    ("sides", "counts"),
    [
        pytest.param(lambda missing: (1.5, missing), (0, 0, 0, 1), id="missing"),
        pytest.param(lambda missing: (missing, 1.5), (0, 0, 1, 0), id="extra"),
        pytest.param(lambda missing: (missing, missing), (0, 1, 0, 0), id="both-empty"),
        pytest.param(lambda missing: (missing, None), (0, 1, 0, 0), id="null"),
    ],
)
def test_nan_in_python_objects_is_a_missing_value(missing, sides, counts):
    expected, candidate = sides(missing)
    fields = [{"path": "x"}]
    spec = {
        "cases": rows_of(expected, candidate),
        "evaluators": [{"type": "field_accuracy", "fields": fields}],
    }
    frame = pd.DataFrame({"id": ["a"], "x": [expected]})
    other = pd.DataFrame({"id": ["a"], "x": [candidate]})
    results = [
        fm.compare({"x": expected}, {"x": candidate}).counts,
        fm.score([{"id": "a", "x": expected}], [{"id": "a", "x": candidate}]).micro,
        fm.score(rows_of(expected, candidate)).micro,
        fm.score(frame, other).micro,
        fm.score(frame.to_dict("records"), other.to_dict("records")).micro,
        fm.evaluate(spec).micro,
    ]
    assert [(each.tp, each.tn, each.fp, each.fn) for each in results] == [counts] * len(results)


def test_nan_in_json_text_is_a_wrong_value(score, folder):
    (folder / "candidate.jsonl").write_text('{"id": "a", "total": NaN}', "utf-8")
    (folder / "truth.jsonl").write_text('{"id": "a", "total": 1}', "utf-8")
    assert json.loads(score("--format", "json").out)["errors_by_type"]["wrong_value"] == 1
    assert fm.compare({"x": 1}, '{"x": NaN}').errors_by_type["wrong_value"] == 1


# --- judges and AgentV files ----------------------------------------------------------------------

SDK_JUDGE = [sys.executable, str(Path(agentv_sdk_judge.__file__))]
DOCUMENT = {"header": {"total": 10, "lines": [1, None]}}
PARTS = [{"type": "file", "value": "a.json"}, {"type": "text", "value": "Read."}]


def write_json(path, value):
    path.write_text(json.dumps(value), "utf-8")
    return path


def test_an_existing_script_of_an_agentv_file_is_run(command, folder):
    write_json(folder / "a.json", {"total": "1"})
    grader = {
        "name": "own", "type": "code_judge", "script": ["python3", "multi_field_fuzzy.py"],
        "fields": [{"path": "total"}],
    }  # fmt: skip
    case = {"id": "a", "expected_output": {"total": "1"}, "input": "", "input_files": ["a.json"]}
    file = write_json(folder / "x.eval.yaml", {"tests": [case], "assertions": [grader]})
    replaced = command("eval", file.name, "--no-save", "--format", "json")
    warning = (
        "x.eval.yaml:1:164: script multi_field_fuzzy.py not found; "
        "the built-in evaluator field_confusion replaces it"
    )
    assert json.loads(replaced.out)["warnings"] == [warning]
    assert json.loads(replaced.out)["mean_score"] == 1.0
    (folder / "multi_field_fuzzy.py").write_text("print('{\"score\": 0.1}')", "utf-8")
    run = command("eval", file, "--no-save", "--format", "json")
    assert json.loads(run.out)["mean_score"] == 0.1
    assert json.loads(run.out)["warnings"] == []


@pytest.mark.parametrize("version", agentv_sdk_judge.KEYS)
def test_judges_written_with_the_sdks_of_agentv_accept_native_requests(command, folder, version):
    inputs = [
        {}, {"input": "Read."}, {"input": DOCUMENT}, {"input": [1]}, {"input": None},
        {"input": [{"role": "user", "content": PARTS}]}, {"candidate": "no JSON"},
        {"expected": [1], "candidate": None}, {"metadata": {"input_files": ["a.json"]}},
    ]  # fmt: skip
    cases = [
        {"id": str(number), "expected": DOCUMENT, "candidate": DOCUMENT, **case}
        for number, case in enumerate(inputs)
    ]
    del cases[0]["candidate"]
    judge = {"name": "sdk", "type": "code_judge", "script": [*SDK_JUDGE, version]}
    file = write_json(folder / "x.eval.yaml", {"cases": cases, "evaluators": [judge]})
    done = command("eval", file, "--no-save", "--format", "json")
    assert json.loads(done.out)["evaluators"]["sdk"]["mean_score"] == 1.0, done.err
    assert done.code == 0, done.err


@pytest.mark.parametrize("version", agentv_sdk_judge.KEYS)
def test_judges_written_with_the_sdks_of_agentv_accept_requests_of_agentv_files(
    command, folder, version
):
    write_json(folder / "a.json", DOCUMENT)
    answer = [{"role": "assistant", "content": DOCUMENT}]
    early = [{"role": "user", "content": PARTS}]
    suites = [
        {"evalcases": [{"id": "a", "expected_messages": answer, "input_messages": early}]},
        {"tests": [{"id": "a", "expected_output": DOCUMENT, "input": "", "input_files": ["a.json"]}]},
    ]  # fmt: skip
    for suite in suites:
        judge = {"name": "sdk", "type": "code_judge", "script": [*SDK_JUDGE, version]}
        file = write_json(folder / "x.eval.yaml", {**suite, "evaluators": [judge]})
        done = command("eval", file, "--no-save", "--format", "json")
        assert json.loads(done.out)["mean_score"] == 1.0, done.err
        assert done.code == 0, done.err


HEADER_JUDGE = """
import json, sys

for line in sys.stdin:
    request = json.loads(line)
    expected, candidate = request["expected"]["total"], request["candidate"]["total"]
    right = int(expected == candidate)
    counts = {"tp": right, "tn": 0, "fp": 1 - right, "fn": 1 - right, "f1": right}
    details = {"header": {"total": counts}, "gap": candidate - expected, "note": "x"}
    print(json.dumps({"score": right, "details": details}), flush=True)
"""
TOTAL = {"tp": 3, "tn": 0, "fp": 1, "fn": 1, "precision": 0.75, "recall": 0.75, "f1": 0.75}


@pytest.fixture
def judged(folder):
    """An eval file whose judge counts right and wrong totals in its details."""
    (folder / "judge.py").write_text(HEADER_JUDGE, "utf-8")
    cases = [
        {"id": str(number), "expected": {"total": number}, "candidate": {"total": number}}
        for number in range(4)
    ]
    cases[3]["candidate"]["total"] = 5
    judge = {
        "name": "own", "type": "code_judge", "protocol": "lines",
        "script": [sys.executable, "judge.py"],
    }  # fmt: skip
    members = [judge, {"name": "both", "type": "composite", "evaluators": [judge]}]
    return write_json(folder / "x.eval.yaml", {"cases": cases, "evaluators": members}).name


def test_details_of_judges_are_summed_over_the_data_set(command, folder, judged):
    done = command("eval", judged, "--no-save", "--format", "json")
    evaluators = json.loads(done.out)["evaluators"]
    assert evaluators["own"]["metrics"] == {
        "confusion": {"header.total": TOTAL},
        "numbers": {"gap": {"cases": 4, "mean": 0.5, "sum": 2.0}},
    }
    assert evaluators["both"]["metrics"]["confusion"] == {"own.header.total": TOTAL}
    table = command("eval", judged, "--out", "run")
    assert "Details of own  TP  TN  FP  FN  Precision  Recall     F1" in table.out
    assert "header.total     3   ·   1   1      0.750   0.750  0.750" in table.out
    assert "Details of own  Cases   Mean    Sum" in table.out
    for kind in ("markdown", "csv", "html"):
        command("report", "run", "--as", kind, "--out", f"report.{kind}")
    markdown = (folder / "report.markdown").read_text("utf-8")
    assert "| header.total | 3 | · | 1 | 1 | 0.750 | 0.750 | 0.750 |" in markdown
    assert "| gap | 4 | 0.500 | 2.000 |" in markdown
    rows = (folder / "report.csv").read_text("utf-8").splitlines()
    assert rows[0].endswith('"convention","evaluator"')
    assert rows[1].endswith('"confusion",""')
    assert rows[2] == (
        '"header.total","3","0","1","1","0.75","0.75","0.75","","","","","","","confusion","own"'
    )
    assert '["header.total",3,0,1,1,0.75,0.75,0.75]' in (folder / "report.html").read_text("utf-8")
    short = command("eval", judged, "--no-save", "--format", "markdown")
    assert "| header.total | 3 |" in short.out


def test_details_of_judges_are_the_same_with_worker_processes_and_after_a_resumed_run(
    command, folder, judged
):
    """A rescored run reads the details of its stored cases."""
    plain = json.loads(command("eval", judged, "--no-save", "--format", "json").out)
    workers = command("eval", judged, "--no-save", "--workers", "2", "--format", "json")
    assert json.loads(workers.out)["evaluators"] == plain["evaluators"]
    command("eval", judged, "--out", "run")
    rescored = command("rescore", "run", "--out", "again", "--format", "json")
    assert json.loads(rescored.out)["evaluators"] == plain["evaluators"], rescored.err


@pytest.mark.parametrize(("limit", "code"), [(0.7, 0), (0.8, 1)])
def test_details_of_judges_can_have_gates(command, judged, limit, code):
    name = "evaluators.own.metrics.confusion.header.total.f1"
    assert command("eval", judged, "--no-save", "--min", f"{name}={limit}").code == code


def test_details_of_judges_are_no_metrics_without_values(command, judged):
    done = command("eval", judged, "--no-save", "--no-values", "--format", "json")
    assert "metrics" not in json.loads(done.out)["evaluators"]["own"]
    assert "header.total" not in done.out


# --- smaller ones ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evaluator", "score"),
    [
        pytest.param(
            {"type": "field_accuracy", "fields": [{"path": "x", "weight": 1e308}, {"path": "y", "weight": 1e308}]},
            0.5, id="fields",
        ),
        pytest.param(
            {"type": "constraints", "rules": [{"check": "x == 1", "weight": 1e308}, {"check": "y == 1", "weight": 1e308}]},
            0.5, id="constraints",
        ),
        pytest.param(
            {"type": "composite", "evaluators": [
                {"name": path, "type": "field_accuracy", "fields": [{"path": path}], "weight": 1e308}
                for path in "xy"
            ]},
            0.5, id="composite",
        ),
    ],
)  # fmt: skip
def test_large_weights_are_weights(evaluator, score):
    cases = [{"id": "a", "expected": {"x": 1, "y": 1}, "candidate": {"x": 1, "y": 2}}]
    run = fm.evaluate({"cases": cases, "evaluators": [evaluator]})
    assert (run.mean_score, run.summary.cases.errors) == (score, 0)


@pytest.mark.parametrize("kind", ["field_accuracy", "field_confusion"])
def test_a_single_optional_malformed_path_is_named(kind):
    fields = [{"path": "a..b", "required": False}]
    cases = [{"id": "a", "expected": {"b": 1}, "candidate": {"b": 1}}]
    run = fm.evaluate(
        {"cases": cases, "evaluators": [{"name": "e", "type": kind, "fields": fields}]}
    )
    assert run.summary.evaluators["e"].error == "no document has any of its paths: 'a..b'"
    assert not run.passed
    assert (run.micro.tp, run.micro.fp, run.micro.fn) == (0, 0, 0)


def test_the_standard_output_of_a_failed_judge_is_shown_without_secrets(
    command, folder, monkeypatch
):
    text = "import os, sys\nprint('x' * 5000 + ' the total is wrong: ' + os.environ['API_KEY'])\nsys.exit(1)"
    (folder / "judge.py").write_text(text, "utf-8")
    secret = "sk-" + "a1B2c3D4" * 5
    monkeypatch.setenv("MY_KEY", secret)
    cases = [{"id": "a", "expected": {"x": 1}, "candidate": {"x": 1}}]
    judge = {
        "name": "own",
        "type": "code_judge",
        "script": [sys.executable, "judge.py"],
        "env": {"API_KEY": "env:MY_KEY"},
    }
    file = write_json(folder / "x.eval.yaml", {"cases": cases, "evaluators": [judge]})
    assert command("eval", file, "--out", "run").code == 3
    row = json.loads((folder / "run" / "results.jsonl").read_text("utf-8").splitlines()[0])
    reason = row["evaluator_results"][0]["reasoning"]
    assert reason.startswith("exit_status: exited with code 1; standard output: …xxx")
    assert "the total is wrong: " in reason
    assert secret not in reason
    assert len(reason) < 1_200


def test_safety_that_was_not_evaluated_is_no_figure(command, folder):
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "run").code == 0
    command("report", "run", "--as", "csv-cases", "--out", "cases.csv")
    names, *rows = csv.reader((folder / "cases.csv").read_text("utf-8").splitlines())
    for row in rows:
        cells = dict(zip(names, row, strict=True))
        assert cells["quality_safety"] == ""
        assert "safety:not_evaluated" in cells["quality_flags"]
        assert float(cells["quality_rqs"]) > 0
