"""The rules of the workspace are read, checked and saved."""

from __future__ import annotations

import json
from io import BytesIO
from zipfile import ZipFile

import pytest

from edges.llm_server import serving
from fieldmark.judges.openai_providers import OpenAi
from fieldmark.web.routes.strategies import load_default_rules
from fieldmark.web.server_options import Models
from unit.web.live_server import error_code, live

FLAT = {"customer_name": "FUZZY", "address.line_1": "SEMANTIC", "phone": "EXACT", "notes": "IGNORE"}
NESTED = {
    "customer_name": "FUZZY",
    "address": {"line_1": "SEMANTIC"},
    "phone": "EXACT",
    "notes": "IGNORE",
}
ROWS = [{"path": path, "match": word} for path, word in FLAT.items()]


def test_strategies_are_saved_in_one_file(writable_server, tmp_path):
    empty = writable_server.client.get("/api/strategies").json()
    assert (empty["rules"], empty["revision"], empty["writable"]) == ({}, "none", True)
    file = {
        "convention": {"name": "four_phase", "rqs_form": "complement"},
        "depth": "leaf",
        "fuzzy_threshold": 0.9,
        "fields": ROWS,
        "gates": {"min": {"quality.rqs": 0.7}},
    }
    response = writable_server.client.put("/api/strategies?revision=none", json=file).json()
    assert response["rules"] == file
    assert json.loads((tmp_path / "strategies.json").read_text("utf-8")) == file
    assert writable_server.client.get("/api/strategies").json() == response
    assert writable_server.client.get("/api/strategies/export").json() == file


def test_change_to_an_outdated_revision_is_a_conflict(writable_server):
    put = writable_server.client.put
    assert put("/api/strategies?revision=none", json=FLAT).status_code == 200
    again = put("/api/strategies?revision=none", json=FLAT)
    assert put("/api/strategies", json=FLAT).status_code == 200
    assert (again.status_code, error_code(again)) == (409, "conflict")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({"a": {"match": "fuzzy", "threshold": 1.01}}, "invalid_rules", id="threshold-above-one"),
        pytest.param({"a": "FUZY"}, "invalid_rules", id="unknown-strategy"),
        pytest.param([{"path": "a", "match": "exact"}, {"path": "a", "match": "date"}], "invalid_rules", id="duplicate-field"),
        pytest.param({"gates": {"min": {"macro_f2": 1}}}, "invalid_rules", id="unknown-metric"),
        pytest.param({"provider": "openai"}, "provider_not_allowed", id="provider"),
        pytest.param("rules.json", "invalid_rules", id="file-name"),
    ],
)  # fmt: skip
def test_invalid_strategies_are_not_saved(writable_server, tmp_path, body, expected):
    assert error_code(writable_server.client.put("/api/strategies", json=body)) == expected
    assert error_code(writable_server.client.post("/api/strategies/check", json=body)) == expected
    assert not (tmp_path / "strategies.json").exists()


def test_read_only_server_does_not_save_strategies(read_only_server):
    assert error_code(read_only_server.client.put("/api/strategies", json=FLAT)) == "read_only"
    assert read_only_server.client.post("/api/strategies/check", json=FLAT).json()["valid"] is True


def test_plain_strategy_file_is_read(tmp_path):
    (tmp_path / "strategies.json").write_text(json.dumps(NESTED), "utf-8")
    with live(tmp_path) as server:
        rules = server.client.get("/api/strategies").json()["rules"]
    assert rules == {"defaults": {"match": "auto"}, "fields": ROWS}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"value": FLAT}, id="value"),
        pytest.param({"text": json.dumps(NESTED)}, id="json-text"),
        pytest.param({"text": "customer_name: FUZZY\naddress: {line_1: SEMANTIC}\nphone: EXACT\nnotes: IGNORE\n"}, id="yaml-text"),
    ],
)  # fmt: skip
def test_strategy_files_are_imported_as_rows(read_only_server, body):
    response = read_only_server.client.post("/api/strategies/import", json=body).json()
    assert response == {"rules": {"defaults": {"match": "auto"}, "fields": ROWS}}


def test_invalid_import_lists_its_problems(read_only_server):
    for text in ("a: FUZY\n", "a: &x [*x]"):
        response = read_only_server.client.post("/api/strategies/import", json={"text": text})
        assert error_code(response) == "invalid_rules"
        assert ("FUZZY" in response.json()["error"]["message"]) is ("FUZY" in text)


def test_rules_are_proposed_from_data_with_reasons(read_only_server):
    truth = [{"issued": f"2024-05-{n:02}", "total": n + 0.5} for n in range(1, 9)]
    response = read_only_server.client.post("/api/infer", json={"truth": truth}).json()
    assert response["text"].startswith("# Proposed from 8 cases")
    assert response["rules"]["fields"][0] == {"path": "issued", "match": "date"}
    assert list(response["reasons"]) == [field["path"] for field in response["rules"]["fields"]]
    assert response["reasons"]["issued"] == "8 dates, compared by day (8 values)"


def test_each_run_has_its_own_budget_and_usage(tmp_path):
    rules = {"a": "SEMANTIC"}
    with serving(lambda e: e.succeed(0.9)) as model:
        provider = OpenAi(model="m", base_url=model.url, max_calls=1, cache=False)
        with live(tmp_path, provider=provider, write=True) as server:
            runs = [
                server.run([{"a": f"car {n}"}], [{"a": f"vehicle {n}"}], rules=rules)
                for n in range(2)
            ]
    for run in runs:
        summary = json.loads((tmp_path / "runs" / run / "summary.json").read_text("utf-8"))
        assert summary["cases"]["errors"] == 0
        assert summary["usage"]["calls"] == 1


def test_file_with_only_a_provider_leaves_the_default_rules_to_the_workspace(tmp_path):
    file = tmp_path / "models.json"
    file.write_text(json.dumps({"provider": {"type": "openai", "model": "m"}}), "utf-8")
    assert load_default_rules(file, Models()) is None
    with live(tmp_path, provider=OpenAi(model="m"), write=True) as server:
        found = server.client.put("/api/strategies?revision=none", json=FLAT).json()
        assert (found["rules"]["fields"], found["writable"], found["file"]) == (ROWS, True, "")


def test_exported_rules_name_the_provider_and_are_imported_beside_it(tmp_path):
    provider = OpenAi(
        model="judge-1", base_url="https://models.test/v1", aspect="form", headers={"X-Team": "t"}
    )
    with live(tmp_path, provider=provider, write=True) as server:
        server.client.put("/api/strategies", json=FLAT)
        exported = server.client.get("/api/strategies/export").json()
        assert exported.pop("provider") == {
            "type": "openai",
            "model": "judge-1",
            "base_url": "https://models.test/v1",
            "aspect": "form",
        }
        named = {"provider": server.options.provider_rules, **exported}
        imported = server.client.post("/api/strategies/import", json={"value": named}).json()
        assert imported["rules"] == exported
        other = {**named, "provider": {"type": "openai", "model": "judge-2"}}
        refused = server.client.post("/api/strategies/import", json={"value": other})
        assert error_code(refused) == "provider_not_allowed"


@pytest.mark.parametrize("kind", ["html", "markdown", "xlsx", "json"])
def test_exports_of_a_comparison_name_their_provider(tmp_path, kind):
    body = {"expected": {"a": "car"}, "candidate": {"a": "vehicle"}, "rules": {"a": "SEMANTIC"}}
    with serving() as model:
        provider = OpenAi(model="judge-1", base_url=model.url, cache=False)
        with live(tmp_path, provider=provider) as server:
            assert server.client.post("/api/evaluate", json=body).json()["providers"] == [
                "openai judge-1"
            ]
            file = server.client.post("/api/evaluate/export", json={**body, "kind": kind})
    content = file.content
    if kind == "xlsx":
        with ZipFile(BytesIO(content)) as book:
            content = b"".join(map(book.read, book.namelist()))
    assert b"judge-1" in content


def test_prompts_are_listed(read_only_server):
    prompts = read_only_server.client.get("/api/prompts").json()["prompts"]
    assert [prompt["name"] for prompt in prompts] == ["meaning", "form", "rubric", "safety"]
    assert {len(prompt["sha256"]) for prompt in prompts} == {64}
    assert {prompt["messages"][0]["role"] for prompt in prompts} == {"system"}


def test_rule_sets_are_saved_beside_the_default_rules(writable_server, tmp_path):
    client = writable_server.client
    listed = client.get("/api/rule-sets").json()
    assert listed["sets"] == []
    saved = client.put("/api/rule-sets/My invoices?revision=none", json=FLAT).json()
    assert (saved["name"], saved["writable"]) == ("My invoices", True)
    assert saved["rules"]["fields"] == ROWS
    assert (tmp_path / "rule-sets" / "My invoices.json").is_file()
    assert client.get("/api/rule-sets/My invoices").json() == saved
    assert client.get("/api/rule-sets").json()["sets"] == [{"name": "My invoices", "fields": 4}]
    assert client.get("/api/strategies").json()["rules"] == {}
    for outdated in ("none", "0123456789abcdef"):
        refused = client.put(f"/api/rule-sets/My invoices?revision={outdated}", json={})
        assert (refused.status_code, error_code(refused)) == (409, "conflict")
    revision = saved["revision"]
    assert client.put(f"/api/rule-sets/My invoices?revision={revision}", json={}).status_code == 200
    assert client.delete("/api/rule-sets/My invoices").json() == {"removed": "My invoices"}
    assert client.delete("/api/rule-sets/My invoices").status_code == 404
    assert client.get("/api/rule-sets/My invoices").status_code == 404


@pytest.mark.parametrize(
    "name", ["..%2Fruns", "%2Fetc%2Fpasswd", ".hidden", "a%00", "-x", " x", "x.", "a" * 61, "a%2Fb"]
)
def test_names_of_rule_sets_are_never_paths(writable_server, tmp_path, name):
    for method in ("get", "put", "delete"):
        body = {"json": {}} if method == "put" else {}
        response = getattr(writable_server.client, method)(f"/api/rule-sets/{name}", **body)
        assert response.status_code in (404, 405, 422), method
    assert not (tmp_path / "rule-sets").exists()
    page = writable_server.client.get(f"/rules?rules={name}")
    assert page.status_code == 200


def test_rule_sets_of_a_read_only_server_cannot_be_changed(read_only_server):
    for method, body in (("put", {"json": {}}), ("delete", {})):
        response = getattr(read_only_server.client, method)("/api/rule-sets/x", **body)
        assert (response.status_code, error_code(response)) == (403, "read_only")


def test_presets_are_valid_rules_with_a_reason_for_each_rule(read_only_server):
    presets = read_only_server.client.get("/api/rule-sets").json()["presets"]
    assert [preset["name"] for preset in presets][:2] == ["exact", "by-type"]
    for preset in presets:
        checked = read_only_server.client.post("/api/strategies/check", json=preset["rules"])
        assert checked.status_code == 200, preset["name"]
        paths = [field["path"] for field in preset["rules"].get("fields", [])]
        assert list(preset["reasons"]) == paths
        assert preset["reason"]
        assert all(preset["reasons"].values())
