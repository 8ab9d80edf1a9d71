"""`/api/runs/{run}/review`: queues, decisions on fields, and their effect."""

from __future__ import annotations

import json
import re
import shutil

import pytest

import fieldmark as fm
from unit.web.live_server import error_code, live, write_jsonl

TRUTH = [{"id": "a", "vendor": "Acme", "total": 5}, {"id": "b", "vendor": "Bolt", "total": 7}]
ONE = [{"id": "a", "vendor": "ACME Ltd", "total": 6}, {"id": "b", "vendor": "Bolt", "total": 7}]
TWO = [{"id": "a", "vendor": "Acme", "total": 6}, {"id": "b", "vendor": "Bolt", "total": 8}]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """A workspace with two runs over the same truth."""
    folder = tmp_path_factory.mktemp("workspace")
    write_jsonl(folder / "truth.jsonl", TRUTH)
    for name, rows in (("one", ONE), ("two", TWO)):
        write_jsonl(folder / f"{name}.jsonl", rows)
        fm.score(folder / "truth.jsonl", folder / f"{name}.jsonl", out=folder / "runs" / name)
    return folder


@pytest.fixture(scope="module")
def server(workspace):
    with live(workspace, write=True) as server:
        yield server


def queue(server, run="one", **query):
    return server.get(f"/api/runs/{run}/review", **query)


def decision(field, decided="accept_candidate", **changes):
    keys = ("case", "path", "candidate_path", "values_hash")
    seen = {"replaces": field["review"]["id"] if field["review"] else ""}
    return {**{key: field[key] for key in keys}, "decision": decided, **seen, **changes}


def test_fields_are_decided_withdrawn_and_exported(server, workspace):
    url = "/api/runs/one/review"
    vendor, total = sorted(queue(server)["fields"], key=lambda review: review["path"])[::-1]
    assert (vendor["path"], vendor["shown"], vendor["decided"]) == ("vendor", {"expected": "Acme", "candidate": "ACME Ltd"}, False)  # fmt: skip
    made = server.client.post(url, json=decision(vendor, "ambiguous", comment="both names")).json()
    assert made["values"] == ["Acme", "ACME Ltd"]
    corrected = server.client.post(url, json=decision(total, "correction", value=10**20)).json()
    review = queue(server)
    assert (review["decided"], [field["decided"] for field in review["fields"]]) == (
        2,
        [True, True],
    )
    effect = server.get(f"{url}/effect")
    assert effect["decisions"]["ambiguous"] == effect["decisions"]["correction"] == 1
    assert effect["effect"]["after"]["micro_f1"] > effect["effect"]["before"]["micro_f1"]
    truth = server.client.get(f"{url}/export/truth.jsonl")
    assert "attachment" in truth.headers["content-disposition"]
    assert json.loads(truth.text.splitlines()[0]) == {
        "id": "a", "expected": {"vendor": ["Acme", "ACME Ltd"], "total": 10**20},
    }  # fmt: skip
    rules = server.get(f"{url}/export/rules.json")
    assert rules["fields"] == [{"path": "vendor", "any_of": True}]
    label = json.loads(server.client.get(f"{url}/export/labels.jsonl").text)
    assert (label["path"], label["verdict"]) == ("vendor", True)
    for review in (made, corrected):
        assert server.client.delete(f"{url}/{review['id']}").status_code == 200
    assert queue(server)["decided"] == 0
    server.get(f"{url}/export/rules.json", 404)
    assert json.loads((workspace / "truth.jsonl").read_text().splitlines()[0]) == TRUTH[0]


def test_queues_have_their_own_order_and_parameters(server):
    assert [field["path"] for field in queue(server, attribute="total")["fields"]] == ["total"]
    drawn = queue(server, queue="random", number=2, seed=3)
    assert (len(drawn["fields"]), drawn["total"]) == (2, 4)
    differing = queue(server, queue="disagreement", other="two")["fields"]
    assert {(field["case_id"], field["path"]) for field in differing} == {("a", "vendor"), ("b", "total")}  # fmt: skip
    votes = next(field["votes"] for field in differing if field["path"] == "total")
    assert votes == [{"run": "one", "value": 7}, {"run": "two", "value": 8}]
    for wrong in ({"queue": "confidence"}, {"queue": "disagreement"}, {"number": 0}):
        server.get("/api/runs/one/review", 422, **wrong)
    server.get("/api/runs/none/review", 404)


def test_decision_on_other_values_or_after_another_tab_is_a_conflict(server):
    url = "/api/runs/two/review"
    field = queue(server, "two")["fields"][0]
    for changed in ({"values_hash": "0" * 16}, {"path": "other"}):
        response = server.client.post(url, json={**decision(field), **changed})
        assert (response.status_code, error_code(response)) == (409, "conflict")
    first = server.client.post(url, json=decision(field)).json()
    response = server.client.post(url, json=decision(field, "accept_truth"))
    assert (response.status_code, error_code(response)) == (409, "conflict")
    assert "nothing was saved" in response.json()["error"]["message"]
    changed = decision(field, "accept_truth", replaces=first["id"])
    assert server.client.post(url, json=changed).status_code == 200
    invalid = decision(field, "correction", replaces=None)
    assert server.client.post(url, json=invalid).status_code == 422
    assert server.client.post(url, json=decision(field, case=99)).status_code == 404
    assert server.client.delete(f"{url}/unknown").status_code == 422


def test_read_only_server_shows_the_review_and_refuses_decisions(workspace):
    with live(workspace) as server:
        field = queue(server)["fields"][0]
        response = server.client.post("/api/runs/one/review", json=decision(field))
        assert (response.status_code, error_code(response)) == (403, "read_only")
        assert server.client.delete("/api/runs/one/review/x").status_code == 403
        # A run of this server is temporary, and its review too.
        run = server.run(TRUTH, ONE)
        mine = queue(server, run)["fields"][0]
        made = server.client.post(f"/api/runs/{run}/review", json=decision(mine))
        assert made.status_code == 200


def test_effect_uses_the_rules_that_were_saved_and_reads_no_file(tmp_path):
    write_jsonl(tmp_path / "truth.jsonl", TRUTH)
    write_jsonl(tmp_path / "one.jsonl", ONE)
    rules, out = tmp_path / "rules.json", tmp_path / "runs" / "run"
    rules.write_text('{"fields": [{"path": "vendor", "match": "fuzzy"}]}', "utf-8")
    fm.score(tmp_path / "truth.jsonl", tmp_path / "one.jsonl", rules=rules, out=out)
    rules.unlink()
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    with live(tmp_path) as server:
        result = server.get("/api/runs/run/review/effect")
        assert result["effect"]["before"] == result["effect"]["after"]
        # The manifest of a run is not trusted: a file that it names could be any file.
        secret = tmp_path / "secret.yaml"
        secret.write_text("password: hunter2", "utf-8")
        del manifest["rules"]
        manifest["options"]["rules"] = str(secret)
        (out / "manifest.json").write_text(json.dumps(manifest), "utf-8")
        response = server.client.get("/api/runs/run/review/effect")
        assert response.json()["effect"] is None
        assert "were not saved with it" in response.json()["note"]
        assert "hunter2" not in response.text


def test_only_runs_over_the_same_cases_can_be_compared_with(server, workspace):
    write_jsonl(workspace / "more.jsonl", [*TRUTH, {"id": "c", "vendor": "Cord", "total": 1}])
    options = {"rules": {"total": "exact"}}
    runs = {"strict": ("truth", options), "other": ("more", {})}
    for name, (truth, options) in runs.items():
        out = workspace / "runs" / name
        fm.score(workspace / f"{truth}.jsonl", workspace / "one.jsonl", out=out, **options)
    server.client.get("/api/runs")
    text = server.client.get("/runs/one/review").text
    others = json.loads(re.search(r'id="page">(.*?)</script>', text)[1])["others"]
    assert {other["id"]: other["comparable"] for other in others} == {"two": True, "strict": False}
    for name in runs:
        shutil.rmtree(workspace / "runs" / name)
