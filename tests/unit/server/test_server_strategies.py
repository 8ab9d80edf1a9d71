"""The rules of the workspace are read, checked, saved and converted."""

from __future__ import annotations

import json

import pytest

from edges.llm_server import serving
from fieldmark.compare.providers import Recorded
from fieldmark.errors import ConfigError
from fieldmark.judges.providers.openai import OpenAi
from fieldmark.server.strategies import (
    flat_strategies,
    nested_strategies,
    strategy_rows,
    strategy_table,
)
from unit.server.live_server import error_code, live, read_only_server, writable_server  # noqa: F401

FLAT = {"customer_name": "FUZZY", "address.line_1": "SEMANTIC", "phone": "EXACT", "notes": "IGNORE"}
NESTED = {
    "customer_name": "FUZZY",
    "address": {"line_1": "SEMANTIC"},
    "phone": "EXACT",
    "notes": "IGNORE",
}
ROWS = [{"path": path, "match": word} for path, word in FLAT.items()]


@pytest.mark.parametrize(
    ("rules", "rows"),
    [
        pytest.param(FLAT, ROWS, id="flat-strategy-file"),
        pytest.param(NESTED, ROWS, id="nested-strategy-file"),
        pytest.param({"scope": "union", "fields": FLAT}, ROWS, id="fields-as-a-mapping"),
        pytest.param({"fields": [{"path": "a", "match": "date"}]}, [{"path": "a", "match": "date"}], id="fields-as-a-list"),
        pytest.param([{"path": "a", "match": "date"}], [{"path": "a", "match": "date"}], id="list-of-fields"),
        pytest.param({"lines": [{"amount": "EXACT"}]}, [{"path": "lines[*].amount", "match": "EXACT"}], id="list-items"),
        pytest.param({"a": {"match": "fuzzy", "threshold": 0.9}}, [{"path": "a", "match": "fuzzy", "threshold": 0.9}], id="field-settings"),
        pytest.param({"a": {"weight": 2}}, [{"path": "a", "weight": 2}], id="settings-without-match"),
        pytest.param({"scope": "EXACT", "fields": "FUZZY"}, [{"path": "scope", "match": "EXACT"}, {"path": "fields", "match": "FUZZY"}], id="fields-named-like-rules-keys"),
        pytest.param({"scope": "truth"}, [], id="rules-without-fields"),
        pytest.param({}, [], id="empty"),
        pytest.param(None, [], id="null"),
    ],
)  # fmt: skip
def test_rules_in_any_form_give_the_same_rows(rules, rows):
    assert strategy_rows(rules) == rows


def test_rows_are_converted_to_flat_and_nested_files():
    assert flat_strategies(ROWS) == FLAT
    assert nested_strategies(ROWS) == NESTED
    assert strategy_rows(nested_strategies(ROWS)) == ROWS
    counts = {"FUZZY": 1, "SEMANTIC": 1, "EXACT": 1, "IGNORE": 1}
    assert strategy_table(FLAT) == {"rows": ROWS, "counts": counts}


def test_strategies_that_cannot_be_nested_raise_an_error():
    with pytest.raises(ConfigError, match="export in flat form, which supports both"):
        nested_strategies([{"path": "a", "match": "EXACT"}, {"path": "a.b", "match": "EXACT"}])
    with pytest.raises(ConfigError, match="export in flat form, which supports both"):
        nested_strategies([{"path": "a.b", "match": "EXACT"}, {"path": "a", "match": "EXACT"}])


def test_strategies_are_saved_in_one_file(writable_server, tmp_path):  # noqa: F811
    empty = writable_server.client.get("/api/strategies").json()
    assert (empty["rows"], empty["revision"], empty["writable"]) == ([], "none", True)
    body = {
        "convention": "four_phase",
        "rules": {"scope": "union", "fields": FLAT},
        "options": {"rqs_form": "complement"},
        "gates": {"min": {"rqs": 0.7}},
    }
    response = writable_server.client.put(
        "/api/strategies", json={**body, "revision": "none"}
    ).json()
    assert response["rows"] == ROWS
    assert response["counts"]["FUZZY"] == 1
    stored = json.loads((tmp_path / "strategies.json").read_text("utf-8"))
    assert stored == {**body, "gates": {"min": {"rqs": 0.7}, "max": {}}}
    assert writable_server.client.get("/api/strategies").json() == response


def test_change_to_an_outdated_revision_is_a_conflict(writable_server):  # noqa: F811
    body = {"rules": {"scope": "union", "fields": FLAT}}
    assert (
        writable_server.client.put("/api/strategies", json={**body, "revision": "none"}).status_code
        == 200
    )
    again = writable_server.client.put("/api/strategies", json={**body, "revision": "none"})
    assert (again.status_code, error_code(again)) == (409, "conflict")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({"rules": {"a": {"match": "fuzzy", "threshold": 1.01}}}, "invalid_rules", id="threshold-above-one"),
        pytest.param({"rules": {"a": {"match": "exact", "weight": -1}}}, "invalid_rules", id="negative-weight"),
        pytest.param({"rules": {"a": "FUZY"}}, "invalid_rules", id="unknown-strategy"),
        pytest.param({"rules": [{"path": "a", "match": "exact"}, {"path": "a", "match": "date"}]}, "invalid_rules", id="duplicate-field"),
        pytest.param({"options": {"rqs_weights": {"accuracy": "much"}}}, "invalid_rules", id="weight-not-a-number"),
        pytest.param({"gates": {"min": {"macro_f2": 1}}}, "invalid_rules", id="unknown-metric"),
        pytest.param({"gates": {"min": {"rqs": "high"}}}, "invalid_request", id="limit-not-a-number"),
        pytest.param({"gates": {"least": {}}}, "invalid_request", id="unknown-key"),
        pytest.param({"rules": {"provider": "openai"}}, "provider_not_allowed", id="provider"),
    ],
)  # fmt: skip
def test_invalid_strategies_are_not_saved(writable_server, tmp_path, body, expected):  # noqa: F811
    assert error_code(writable_server.client.put("/api/strategies", json=body)) == expected
    assert error_code(writable_server.client.post("/api/strategies/check", json=body)) == expected
    assert not (tmp_path / "strategies.json").exists()


def test_read_only_server_does_not_save_strategies(read_only_server):  # noqa: F811
    assert (
        error_code(read_only_server.client.put("/api/strategies", json={"rules": FLAT}))
        == "read_only"
    )
    assert (
        read_only_server.client.post("/api/strategies/check", json={"rules": FLAT}).json()["valid"]
        is True
    )


def test_plain_strategy_file_is_read(tmp_path):
    (tmp_path / "strategies.json").write_text(json.dumps(NESTED), "utf-8")
    with live(tmp_path) as server:
        assert server.client.get("/api/strategies").json()["rows"] == ROWS
        for form, value in (("flat", FLAT), ("nested", NESTED), ("rules", NESTED)):
            found = server.client.get("/api/strategies/export", params={"form": form}).json()
            assert found == value


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"value": FLAT}, id="value"),
        pytest.param({"text": json.dumps(NESTED)}, id="json-text"),
        pytest.param({"text": "customer_name: FUZZY\naddress: {line_1: SEMANTIC}\nphone: EXACT\nnotes: IGNORE\n"}, id="yaml-text"),
    ],
)  # fmt: skip
def test_strategy_files_are_imported_as_rows(read_only_server, body):  # noqa: F811
    assert read_only_server.client.post("/api/strategies/import", json=body).json()["rows"] == ROWS


def test_invalid_import_lists_its_problems(read_only_server):  # noqa: F811
    response = read_only_server.client.post("/api/strategies/import", json={"text": "a: FUZY\n"})
    assert error_code(response) == "invalid_rules"
    assert "FUZZY" in response.json()["error"]["message"]
    assert (
        error_code(
            read_only_server.client.post("/api/strategies/import", json={"text": "a: &x [*x]"})
        )
        == "invalid_rules"
    )


def test_rules_of_a_request_are_converted(read_only_server):  # noqa: F811
    response = read_only_server.client.post(
        "/api/strategies/export?form=nested", json={"value": {"scope": "union", "fields": FLAT}}
    )
    assert response.json() == NESTED


def test_rules_are_proposed_from_data(read_only_server):  # noqa: F811
    truth = [{"issued": f"2024-05-{n:02}", "total": n + 0.5} for n in range(1, 9)]
    response = read_only_server.client.post("/api/infer", json={"truth": truth}).json()
    assert response["text"].startswith("# Proposed from 8 cases")
    assert response["rows"][0] == {"path": "issued", "match": "date"}


def test_provider_of_the_server_compares_strings(tmp_path):
    provider = Recorded(scores={("car", "vehicle"): 0.93})
    body = {"expected": {"a": "car"}, "candidate": {"a": "vehicle"}, "convention": "four_phase"}
    with live(tmp_path, provider=provider) as server:
        assert server.client.get("/api/health").json()["provider"] == "recorded"
        for rules in (
            None,
            {"a": "SEMANTIC"},
            {"a": "FUZZY"},
            {"fields": [{"path": "b", "match": "exact"}]},
        ):
            response = server.client.post("/api/evaluate", json={**body, "rules": rules}).json()
            assert response["result"]["outcomes"][0]["similarity"] == 0.93, rules


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


def test_prompts_are_listed(read_only_server):  # noqa: F811
    prompts = read_only_server.client.get("/api/prompts").json()["prompts"]
    assert [each["name"] for each in prompts] == ["meaning", "form", "rubric", "safety"]
    assert all(
        len(each["sha256"]) == 64 and each["messages"][0]["role"] == "system" for each in prompts
    )
