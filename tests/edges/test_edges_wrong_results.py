"""Wrong values that once matched are wrong in every result that shows them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from unit.judges import agentv_sdk_judge

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
