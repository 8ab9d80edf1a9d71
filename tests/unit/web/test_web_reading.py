"""Options for reading rows, in requests as on the command line."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import openpyxl
import pytest

from fieldmark.data.inputs import Inputs
from fieldmark.web.request_models import ReadingOptions
from row_files import lines
from unit.web.live_server import error_code, live

EXPORTS = Path(__file__).parents[2] / "data" / "tool-exports"
NOT_IN_REQUESTS = {"cell_rules", "confidences", "context", "format_in", "limits"}


def test_requests_have_the_options_of_the_library():
    names = {field.name for field in fields(Inputs)} - NOT_IN_REQUESTS
    assert set(ReadingOptions.model_fields) == names
    defaults = Inputs()
    for name, option in ReadingOptions.model_fields.items():
        assert option.default == getattr(defaults, name)


def text(rows):
    return {"text": lines(rows), "name": "rows.jsonl"}


SAMPLE = {"id": "a", "truth": {"total": 1}, "sample": {"output_text": '{"total": 1}'}}
LINES = "invoice,item,n\n7,pen,1\n7,ink,2\n8,cap,3\n"


@pytest.mark.parametrize(
    ("body", "inputs", "cases"),
    [
        pytest.param({"truth": text([SAMPLE])}, {"expected_key": "truth", "candidate_key": "sample.output_text"}, 1, id="nested-keys"),
        pytest.param({"truth": {"text": LINES, "name": "a.csv"}, "candidate": {"text": LINES, "name": "b.csv"}}, {"group_by": "invoice"}, 2, id="group-by"),
        pytest.param({"truth": text([{"id": "a", "expected": {"total": 1}, "output": "{'total': 1,}"}])}, {"repair": True}, 1, id="repair"),
    ],
)  # fmt: skip
def test_rows_are_read_as_on_the_command_line(read_only_server, body, inputs, cases):
    done = read_only_server.batch(**body, inputs=inputs)
    assert done["state"] == "done", done
    summary = done["result"]["summary"]
    assert summary["cases"]["total"] == summary["cases"]["perfect"] == cases
    assert any("repaired" in warning for warning in summary["warnings"]) is ("repair" in inputs)


EXPECTED = {"total": 12.5}
CITED = {"total": {"value": 12.5, "citations": [{"page": 1}]}}
METADATA = "predictions with metadata, which is not compared (the value is in 'value')"


def test_documents_of_a_batch_are_read_without_metadata(read_only_server):
    truth, rows = text([{"id": "a", **EXPECTED}]), text([{"id": "a", **CITED}])
    done = read_only_server.batch(truth, rows)
    assert done["result"]["summary"]["micro"]["f1"] == 1.0
    assert any(note.startswith(METADATA) for note in done["result"]["notes"])
    kept = read_only_server.batch(truth, rows, inputs={"envelopes": "keep"})
    assert kept["result"]["summary"]["micro"]["f1"] == 0.0


def test_documents_of_a_pair_are_read_without_metadata(read_only_server):
    def send(door="evaluate", **body):
        return read_only_server.client.post(f"/api/{door}", json={"expected": EXPECTED, **body})

    evaluated = send(candidate=CITED).json()
    assert evaluated["result"]["score"] == 1.0
    assert [text for text in evaluated["warnings"] if text.startswith(METADATA)]
    assert send(candidate=CITED, envelopes="keep").json()["result"]["score"] == 0.0
    assert send(candidates=[CITED, EXPECTED]).json()["ranking"]["mean"] == 1.0
    assert error_code(send(candidate=CITED, envelopes="drop")) == "invalid_request"
    for envelopes, wrong in (("unwrap", "0"), ("keep", "1")):
        exported = send("evaluate/export", candidate=CITED, kind="json", envelopes=envelopes).json()
        assert str(exported["summary"]["errors_by_type"]["format_error"]) == wrong


def test_exports_and_sheets_below_a_root_are_read(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    book = openpyxl.Workbook()
    book.active.append(["nothing"])
    sheet = book.create_sheet("Invoices")
    for row in (["id", "total"], ["a", 1], ["b", 2]):
        sheet.append(row)
    book.save(root / "truth.xlsx")
    export = EXPORTS / "mindee" / "receipt-v3.json"
    (root / "mindee.json").write_bytes(export.read_bytes())
    with live(tmp_path, roots={"root": root}) as server:
        for name, inputs, perfect in (
            ("truth.xlsx", {"sheet": "Invoices"}, 2),
            ("mindee.json", {"preset": "mindee"}, 1),
        ):
            path = {"path": f"root/{name}"}
            done = server.batch(path, path, inputs=inputs)
            assert done["result"]["summary"]["cases"]["perfect"] == perfect, name


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        pytest.param({"preset": "langsmit"}, "invalid_request", id="unknown-tool"),
        pytest.param({"candidate_json": "first"}, "invalid_request", id="unknown-word"),
        pytest.param({"group_by": ""}, "invalid_request", id="empty-column"),
        pytest.param({"limits": {}}, "invalid_request", id="limits-cannot-be-set"),
        pytest.param({"preset": "mindee", "group_by": "id"}, "invalid_rules", id="conflict"),
        pytest.param({"parse": "strict", "repair": True}, "invalid_rules", id="strict-repair"),
    ],
)
def test_invalid_options_are_rejected_before_a_job_starts(read_only_server, inputs, code):
    body = {"truth": text([{"id": 1, "total": 1}]), "inputs": inputs}
    assert error_code(read_only_server.client.post("/api/batch", json=body)) == code


@pytest.mark.parametrize("path", ["/api/evaluate", "/api/batch", "/api/strategies/check"])
@pytest.mark.parametrize("key", ["match", "normalize"])
def test_functions_are_never_run_over_http(read_only_server, path, key, tmp_path, monkeypatch):
    (tmp_path / "canary_rules.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    rules = {"a": {key: "canary_rules:f"}}
    body = {
        "/api/evaluate": {"expected": {"a": 1}, "candidate": {"a": 1}, "rules": rules},
        "/api/batch": {"truth": text([{"a": 1}]), "rules": rules},
        "/api/strategies/check": rules,
    }[path]
    response = read_only_server.client.post(path, json=body)
    assert error_code(response) == "invalid_rules"
    assert "never over HTTP" in response.text
    assert not (tmp_path / "canary").exists()
