"""Integers of any length are stored, shown and exported digit for digit."""

from __future__ import annotations

import json
import re

import pytest

from exported_text import exported_text
from fieldmark.analyses.report import KINDS
from unit.web.live_server import live

NUMBER = 123456789012345678901234567890
OTHER = NUMBER + 1
"""The same float as the other number."""
SAFE = (1 << 53) + 1
"""The first integer that JavaScript and spreadsheets round."""
ROUNDED = (
    repr(float(NUMBER)),
    str(int(float(NUMBER))),
    "12345678901234568" + "0" * 13,
    str(SAFE - 1),
)
EXPECTED = {
    "invoice": NUMBER,
    "safe": SAFE,
    "lines": [{"sku": NUMBER, "name": "bolt"}],
    "map": {"all": [NUMBER]},
}
CANDIDATE = {
    "invoice": OTHER,
    "safe": SAFE + 1,
    "lines": [{"sku": OTHER, "name": "bolt"}],
    "map": {"all": [OTHER]},
}
EVAL = f"""
cases: cases.jsonl
evaluators:
  - {{type: field_accuracy, fields: [{{path: invoice}}, {{path: safe}}, {{path: "lines[*].sku"}}, {{path: map.all}}]}}
  - {{type: field_confusion, fields: [{{path: invoice}}], example_values: true}}
  - {{type: json_schema, schema: {{properties: {{invoice: {{const: {NUMBER}}}}}}}}}
  - {{type: constraints, rules: ["invoice == {NUMBER}"]}}
"""  # fmt: skip
CASE = {"id": NUMBER, "expected": EXPECTED, "candidate": CANDIDATE}


@pytest.fixture
def run(folder, command):
    (folder / "cases.jsonl").write_text(json.dumps(CASE) + "\n", "utf-8")
    (folder / "a.eval.yaml").write_text(EVAL, "utf-8")
    done = command("eval", "a.eval.yaml", "--out", "runs/run")
    assert done.code in {0, 3}, done.err
    return "runs/run"


def check(text, *numbers):
    assert not [each for each in ROUNDED if each in text]
    assert not [each for each in numbers if str(each) not in text]


def test_stored_rows(run, folder):
    check(exported_text(folder / run / "results.jsonl"), NUMBER, OTHER, SAFE, SAFE + 1)


@pytest.mark.parametrize("output", ["table", "json", "csv", "markdown"])
def test_commands_that_show_a_run(run, command, output, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    case = command("show", run, NUMBER, "--format", output).out
    check(re.sub(r"\[-|-\]|{\+|\+}", "", case), NUMBER, OTHER, SAFE, SAFE + 1)
    check(command("show", run, "--format", output).out, NUMBER)
    check(command("improve", run, "--format", output).out, *([] if output == "csv" else [NUMBER]))
    check(command("diff", run, run, "--format", output, "--force").out)


@pytest.mark.parametrize("kind", KINDS)
def test_exports(run, command, folder, kind):
    out = folder / "report"
    done = command("report", run, "--as", kind, "--out", out)
    assert done.code == 0, done.err
    text = exported_text(out)
    check(text)
    if kind not in {"csv", "markdown", "markdown-short"}:  # these show no values
        check(text, NUMBER, OTHER)


def test_responses(run, folder):
    with live(folder) as server:
        for address in ("cases/1", "outcomes", "exports/html"):
            reply = server.client.get(f"/api/runs/run/{address}").text
            check(reply, NUMBER, OTHER, SAFE, SAFE + 1)
        for address in ("", "/cases", "/improve", "/attributes"):
            check(server.client.get(f"/api/runs/run{address}").text)
        body = f'{{"expected": {{"a": {NUMBER}}}, "candidate": {{"a": {OTHER}}}, "view": true}}'
        headers = {"Content-Type": "application/json"}
        reply = server.client.post("/api/evaluate", content=body, headers=headers)
        check(reply.text, NUMBER, OTHER)
