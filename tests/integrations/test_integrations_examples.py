"""The examples for other tools, run by the tools: a correct and a wrong extraction of invoices."""

from __future__ import annotations

import json

import pytest

from fieldmark.values.json_text import strict_json

INSPECT = "inspect-ai==0.3.285"
PYDANTIC_EVALS = "pydantic-evals==2.62.0"
DEEPEVAL = "deepeval==4.3.1"
PROMPTFOO = "promptfoo@0.123.1"
NODE = "node@22.22.0"

CORRECT = '```json\n{"number": "A17", "date": "03-MAY-2024", "vendor": "ACME Shipping", "total": "1889.50"}\n```'
WRONG = '{"number": "A-18", "date": "2024-05-14", "vendor": "Bolt & Co"}'
OUTPUTS = f"OUTPUTS = {[CORRECT, WRONG]!r}\n"
EXPECTED = [
    ["inv-1", 1.0, "4/4 fields matched"],
    ["inv-2", pytest.approx(0.5), "date; total (required, missing)"],
]


def printed(python, package, code):
    """Run code with the outputs of a model, and return the JSON in the last line that it prints."""
    returncode, out, err = python(package, OUTPUTS + code)
    assert returncode == 0, err
    return json.loads(out.splitlines()[-1])


def test_inspect_reports_the_score_and_the_misses(python):
    code = """
import json
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_task import invoices

answers = [ModelOutput.from_content("mockllm/model", each) for each in OUTPUTS]
for each in answers:
    each.usage = ModelUsage(total_tokens=1)  # counting tokens would download a vocabulary
model = get_model("mockllm/model", custom_outputs=answers)
(log,) = eval(invoices(), model=model, max_connections=1, max_samples=1, log_dir="logs")
scores = [[each.id, each.scores["fieldmark"].value, each.scores["fieldmark"].explanation] for each in log.samples]
print(json.dumps([log.status, scores, log.results.scores[0].metrics["mean"].value]))
"""
    assert printed(python, INSPECT, code) == ["success", EXPECTED, pytest.approx(0.75)]


def test_pydantic_evals_reports_the_score_and_the_misses(python):
    code = """
import json
from pydantic_evals_dataset import invoices

report = invoices().evaluate_sync(lambda text: OUTPUTS["A-18" in text], progress=False)
scores = [[each.name, each.scores["FieldScore"].value, each.scores["FieldScore"].reason] for each in report.cases]
print(json.dumps([sorted(scores), len(report.failures)]))
"""
    assert printed(python, PYDANTIC_EVALS, code) == [EXPECTED, 0]


def test_deepeval_reports_the_score_and_the_misses(python):
    code = """
import json
from pathlib import Path
import deepeval_metric
from deepeval import assert_test
from deepeval.test_case import LLMTestCase
from deepeval_metric import FieldScore

here = Path(deepeval_metric.__file__).parent
found = []
for line, output in zip((here / "invoices.jsonl").read_text("utf-8").splitlines(), OUTPUTS):
    row = json.loads(line)
    metric = FieldScore(str(here / "rules.yaml"))
    case = LLMTestCase(input=row["input"], actual_output=output, expected_output=json.dumps(row["expected"]))
    metric.measure(case)
    try:
        assert_test(case, [FieldScore(str(here / "rules.yaml"))], run_async=False)
        message = ""
    except AssertionError as error:
        message = str(error)
    found.append([row["id"], metric.score, metric.reason, metric.is_successful(), message])
print(json.dumps(found))
"""
    first, second = printed(python, DEEPEVAL, code)
    assert [first[:3], second[:3]] == EXPECTED
    assert first[3:] == [True, ""]
    assert second[3] is False
    assert "date; total (required, missing)" in second[4]


def test_promptfoo_reports_the_score_and_the_misses(promptfoo, examples, tmp_path):
    config = examples / "promptfooconfig.yaml"
    words = ["eval", "-c", config, "--no-cache", "--no-write", "--output", tmp_path / "out.json"]
    returncode, out, err = promptfoo(PROMPTFOO, NODE, *words)
    assert (tmp_path / "out.json").exists(), out + err
    assert returncode == 100, out + err  # a test failed
    found = json.loads((tmp_path / "out.json").read_text("utf-8"))["results"]["results"]
    scores = [
        [each["testCase"]["description"], each["score"], each["gradingResult"]["componentResults"][0]["reason"]]
        for each in found
    ]  # fmt: skip
    assert sorted(scores, key=strict_json) == EXPECTED
    assert {each["testCase"]["description"]: each["success"] for each in found} == {
        "inv-1": True,
        "inv-2": False,
    }
