"""The rules of the workspace: read, checked, written, and in every form that people use."""

from __future__ import annotations

import json

import pytest

from edges.llm_server import serving
from fieldmark.compare.providers import Recorded
from fieldmark.errors import ConfigError
from fieldmark.judges.providers.openai import OpenAi
from fieldmark.server.strategies import (
    count_strategies,
    flat_strategies,
    nested_strategies,
    strategy_rows,
)
from unit.server.live_server import code, live, reading, writing  # noqa: F401

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
        pytest.param(FLAT, ROWS, id="a-flat-strategy-file"),
        pytest.param(NESTED, ROWS, id="a-nested-strategy-file"),
        pytest.param({"scope": "union", "fields": FLAT}, ROWS, id="fields-as-a-mapping"),
        pytest.param({"fields": [{"path": "a", "match": "date"}]}, [{"path": "a", "match": "date"}], id="fields-as-a-list"),
        pytest.param([{"path": "a", "match": "date"}], [{"path": "a", "match": "date"}], id="a-list-of-fields"),
        pytest.param({"lines": [{"amount": "EXACT"}]}, [{"path": "lines[*].amount", "match": "EXACT"}], id="items-of-a-list"),
        pytest.param({"a": {"match": "fuzzy", "threshold": 0.9}}, [{"path": "a", "match": "fuzzy", "threshold": 0.9}], id="settings-of-a-field"),
        pytest.param({"a": {"weight": 2}}, [{"path": "a", "weight": 2}], id="settings-without-a-match"),
        pytest.param({"scope": "EXACT", "fields": "FUZZY"}, [{"path": "scope", "match": "EXACT"}, {"path": "fields", "match": "FUZZY"}], id="fields-named-like-keys-of-rules"),
        pytest.param({"scope": "truth"}, [], id="rules-without-fields"),
        pytest.param({}, [], id="nothing"),
        pytest.param(None, [], id="none"),
    ],
)  # fmt: skip
def test_rules_in_every_form_are_the_same_table(rules, rows):
    assert strategy_rows(rules) == rows


def test_a_table_is_written_flat_and_nested():
    assert flat_strategies(ROWS) == FLAT
    assert nested_strategies(ROWS) == NESTED
    assert strategy_rows(nested_strategies(ROWS)) == ROWS
    assert count_strategies(ROWS) == {"FUZZY": 1, "SEMANTIC": 1, "EXACT": 1, "IGNORE": 1}


def test_what_cannot_be_nested_says_so():
    with pytest.raises(ConfigError, match="Export it flat"):
        nested_strategies([{"path": "a", "match": "EXACT"}, {"path": "a.b", "match": "EXACT"}])
    with pytest.raises(ConfigError, match="Export it flat"):
        nested_strategies([{"path": "a.b", "match": "EXACT"}, {"path": "a", "match": "EXACT"}])


def test_strategies_are_kept_in_one_file(writing, tmp_path):  # noqa: F811
    empty = writing.ask.get("/api/strategies").json()
    assert (empty["rows"], empty["revision"], empty["writable"]) == ([], "none", True)
    body = {
        "convention": "four_phase",
        "rules": {"scope": "union", "fields": FLAT},
        "options": {"rqs_form": "complement"},
        "gates": {"min": {"rqs": 0.7}},
    }
    said = writing.ask.put("/api/strategies", json={**body, "revision": "none"}).json()
    assert said["rows"] == ROWS
    assert said["counts"]["FUZZY"] == 1
    stored = json.loads((tmp_path / "strategies.json").read_text("utf-8"))
    assert stored == {**body, "gates": {"min": {"rqs": 0.7}, "max": {}}}
    assert writing.ask.get("/api/strategies").json() == said


def test_a_change_that_somebody_else_made_is_a_conflict(writing):  # noqa: F811
    body = {"rules": {"scope": "union", "fields": FLAT}}
    assert writing.ask.put("/api/strategies", json={**body, "revision": "none"}).status_code == 200
    again = writing.ask.put("/api/strategies", json={**body, "revision": "none"})
    assert (again.status_code, code(again)) == (409, "conflict")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({"rules": {"a": {"match": "fuzzy", "threshold": 1.01}}}, "invalid_rules", id="a-threshold-above-one"),
        pytest.param({"rules": {"a": {"match": "exact", "weight": -1}}}, "invalid_rules", id="a-negative-weight"),
        pytest.param({"rules": {"a": "FUZY"}}, "invalid_rules", id="no-such-strategy"),
        pytest.param({"rules": [{"path": "a", "match": "exact"}, {"path": "a", "match": "date"}]}, "invalid_rules", id="a-field-twice"),
        pytest.param({"options": {"rqs_weights": {"accuracy": "much"}}}, "invalid_rules", id="a-weight-that-is-no-number"),
        pytest.param({"gates": {"min": {"macro_f2": 1}}}, "invalid_rules", id="a-gate-on-nothing"),
        pytest.param({"gates": {"min": {"rqs": "high"}}}, "invalid_request", id="a-limit-that-is-no-number"),
        pytest.param({"gates": {"least": {}}}, "invalid_request", id="an-unknown-key"),
        pytest.param({"rules": {"provider": "openai"}}, "provider_not_allowed", id="a-judge-of-meaning"),
    ],
)  # fmt: skip
def test_strategies_are_checked_before_they_are_written(writing, tmp_path, body, expected):  # noqa: F811
    assert code(writing.ask.put("/api/strategies", json=body)) == expected
    assert code(writing.ask.post("/api/strategies/check", json=body)) == expected
    assert not (tmp_path / "strategies.json").exists()


def test_a_reading_server_keeps_the_file_as_it_is(reading):  # noqa: F811
    assert code(reading.ask.put("/api/strategies", json={"rules": FLAT})) == "read_only"
    assert reading.ask.post("/api/strategies/check", json={"rules": FLAT}).json()["fine"] is True


def test_a_strategy_file_written_by_hand_is_read(tmp_path):
    (tmp_path / "strategies.json").write_text(json.dumps(NESTED), "utf-8")
    with live(tmp_path) as server:
        assert server.ask.get("/api/strategies").json()["rows"] == ROWS
        for form, value in (("flat", FLAT), ("nested", NESTED), ("rules", NESTED)):
            found = server.ask.get("/api/strategies/export", params={"form": form}).json()
            assert found == value


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"value": FLAT}, id="a-value"),
        pytest.param({"text": json.dumps(NESTED)}, id="the-text-of-json"),
        pytest.param({"text": "customer_name: FUZZY\naddress: {line_1: SEMANTIC}\nphone: EXACT\nnotes: IGNORE\n"}, id="the-text-of-yaml"),
    ],
)  # fmt: skip
def test_strategy_files_are_imported_as_rows(reading, body):  # noqa: F811
    assert reading.ask.post("/api/strategies/import", json=body).json()["rows"] == ROWS


def test_an_import_says_what_is_wrong(reading):  # noqa: F811
    answer = reading.ask.post("/api/strategies/import", json={"text": "a: FUZY\n"})
    assert code(answer) == "invalid_rules"
    assert "FUZZY" in answer.json()["error"]["message"]
    assert (
        code(reading.ask.post("/api/strategies/import", json={"text": "a: &x [*x]"}))
        == "invalid_rules"
    )


def test_rules_that_are_sent_along_come_back_in_another_form(reading):  # noqa: F811
    answer = reading.ask.post(
        "/api/strategies/export?form=nested", json={"value": {"scope": "union", "fields": FLAT}}
    )
    assert answer.json() == NESTED


def test_rules_are_proposed_from_data(reading):  # noqa: F811
    truth = [{"issued": f"2024-05-{n:02}", "total": n + 0.5} for n in range(1, 9)]
    said = reading.ask.post("/api/infer", json={"truth": truth}).json()
    assert said["text"].startswith("# Proposed from 8 cases")
    assert said["rows"][0] == {"path": "issued", "match": "date"}


def test_whoever_starts_the_server_decides_who_judges_meaning(tmp_path):
    judge = Recorded(scores={("car", "vehicle"): 0.93})
    body = {"expected": {"a": "car"}, "candidate": {"a": "vehicle"}, "convention": "four_phase"}
    with live(tmp_path, provider=judge) as server:
        assert server.ask.get("/api/health").json()["provider"] == "recorded"
        for rules in (
            None,
            {"a": "SEMANTIC"},
            {"a": "FUZZY"},
            {"fields": [{"path": "b", "match": "exact"}]},
        ):
            said = server.ask.post("/api/evaluate", json={**body, "rules": rules}).json()
            assert said["result"]["outcomes"][0]["similarity"] == 0.93, rules


def test_every_run_has_a_budget_and_books_of_its_own(tmp_path):
    rules = {"a": "SEMANTIC"}
    with serving(lambda e: e.well(0.9)) as model:
        judge = OpenAi(model="m", base_url=model.url, max_calls=1, cache=False)
        with live(tmp_path, provider=judge, write=True) as server:
            runs = [
                server.run([{"a": f"car {n}"}], [{"a": f"vehicle {n}"}], rules=rules)
                for n in range(2)
            ]
    for run in runs:
        summary = json.loads((tmp_path / "runs" / run / "summary.json").read_text("utf-8"))
        assert summary["cases"]["errors"] == 0
        assert summary["usage"]["calls"] == 1


def test_the_prompts_in_use_are_shown_word_by_word(reading):  # noqa: F811
    prompts = reading.ask.get("/api/prompts").json()["prompts"]
    assert [each["name"] for each in prompts] == ["meaning", "form", "rubric", "safety"]
    assert all(
        len(each["sha256"]) == 64 and each["messages"][0]["role"] == "system" for each in prompts
    )
