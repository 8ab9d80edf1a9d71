"""`/api/runs/{run}/rules`, `/preview` and `/rescore`."""

from __future__ import annotations

import pytest

from unit.web.live_server import TRUTH, live

RULES = {"fields": [{"path": "total", "match": "numeric_tolerance", "tolerance": 1}]}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with write access."""
    with live(tmp_path_factory.mktemp("workspace"), write=True) as server:
        yield server


def test_a_run_is_previewed_rescored_and_undone(server):
    run = server.run(rules={"vendor.name": {"match": "fuzzy"}})
    path = server.options.runs / run
    before = {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
    response = server.client.get(f"/api/runs/{run}/rules").json()
    assert response["problem"] == ""
    assert response["rules"]["fields"] == [{"path": "vendor.name", "match": "fuzzy"}]
    rules = {**response["rules"], "fields": [*response["rules"]["fields"], *RULES["fields"]]}
    preview = server.client.post(f"/api/runs/{run}/preview", json={"rules": rules}).json()
    wrong = sum(row["total"] % 2 == 0 for row in TRUTH)
    assert (preview["changed_fields"], preview["changed_cases"]) == (wrong, wrong)
    assert preview["metrics"]["micro_f1"] == {"before": 0.75, "after": 1.0}
    assert preview["examples"][0]["before"]["outcome"] == "wrong_value"
    small = server.client.post(f"/api/runs/{run}/preview", json={"rules": rules, "limit": 4}).json()
    assert (small["sample"], small["compared"], small["cases"]) == (True, 4, 8)

    body = {"rules": rules, "title": "tolerant"}
    started = server.client.post(f"/api/runs/{run}/rescore", json=body)
    assert started.status_code == 202
    job = server.wait_for_job(started.json()["id"])
    assert (job["state"], job["cases"]) == ("done", len(TRUTH))
    new = job["result"]["run"]
    listed = {item["id"]: item for item in server.client.get("/api/runs").json()["runs"]}
    assert (listed[new]["rescored_from"], listed[new]["name"]) == (run, "tolerant")
    described = server.client.get(f"/api/runs/{new}").json()
    assert described["manifest"]["rescored_from"]["run"] == run
    assert described["summary"]["micro"]["f1"] == 1.0

    assert server.client.delete(f"/api/runs/{new}").status_code == 200
    assert server.client.get(f"/api/runs/{new}").status_code == 404
    assert {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()} == before


def test_the_rules_of_the_run_are_the_default(server):
    run = server.run(rules=RULES)
    same = server.client.post(f"/api/runs/{run}/preview", json={}).json()
    assert same["changed_fields"] == 0
    counted = {"convention": "taxonomy_code"}
    other = server.client.post(f"/api/runs/{run}/preview", json=counted).json()
    assert other["changed_fields"] == 0


REFUSED = {
    "comparator": ({"rules": {"total": {"match": "fuzy"}}}, 422, "Invalid match type: fuzy"),
    "provider": ({"rules": {"provider": "openai"}}, 403, "A request can select only the providers"),
    "limit": ({"limit": 0}, 422, "limit"),
    "unknown": ({"rule": {}}, 422, "rule"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_requests_are_refused(server, name):
    body, status, text = REFUSED[name]
    run = server.run()
    for operation in ("preview",) if name == "limit" else ("preview", "rescore"):
        response = server.client.post(f"/api/runs/{run}/{operation}", json=body)
        assert (operation, response.status_code) == (operation, status)
        assert text in response.text
    assert server.client.get("/api/jobs").json()["jobs"][0]["result"]["run"] == run


def test_a_run_without_values_says_why_its_rules_cannot_be_changed(server):
    run = server.run(values=False)
    problem = server.client.get(f"/api/runs/{run}/rules").json()["problem"]
    assert "was saved without values" in problem
    for operation in ("preview", "rescore"):
        response = server.client.post(f"/api/runs/{run}/{operation}", json={"rules": RULES})
        assert (operation, response.status_code) == (operation, 422)
        assert "was saved without values" in response.text


def test_a_cancelled_job_leaves_no_run(server, monkeypatch):
    run = server.run()

    def cancel(job, *_):
        server.client.delete(f"/api/jobs/{job.id}")
        return report(job, 0, 0, None)

    from fieldmark.web.jobs import BackgroundJob

    report = BackgroundJob.report_progress
    monkeypatch.setattr(BackgroundJob, "report_progress", cancel)
    before = server.client.get("/api/runs").json()["total"]
    job = server.client.post(f"/api/runs/{run}/rescore", json={"rules": RULES}).json()
    assert server.wait_for_job(job["id"])["state"] == "cancelled"
    assert server.client.get("/api/runs").json()["total"] == before
    assert not [file for file in server.options.runs.iterdir() if file.name.startswith(".tmp")]
