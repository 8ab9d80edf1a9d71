"""The whole server: its command, concurrent clients and generated requests."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error

from proving import PROVING
from published.command_line import COMMAND, ENVIRONMENT
from unit.web.live_server import (
    NO_CERTIFICATES,
    PREDICTIONS,
    TRUTH,
    read_only_server,  # noqa: F401
    write_jsonl,
)
from waiting import TIMEOUT, eventually

ADDRESS = re.compile(r"http://\S+\?token=([\w-]{43})")


@contextmanager
def served(directory, *options):
    """Run `fieldmark serve`; yield the process and its first line of output."""
    process = subprocess.Popen(
        [COMMAND, "serve", "--port", "0", "--no-browser", *options],
        cwd=directory,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, process.stderr.readline()
    finally:
        process.kill()
        process.communicate()


def test_server_prints_its_address_in_one_line_and_stops_on_interrupt(tmp_path):
    with served(tmp_path) as (process, line):
        found = ADDRESS.search(line)
        assert line == f"serving on {found[0]}\n"
        assert httpx.get(found[0], follow_redirects=True, timeout=TIMEOUT).status_code == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, out, err) == (0, "", "")


def test_token_is_only_in_the_printed_address(tmp_path):
    write_jsonl(tmp_path / "truth.jsonl", TRUTH)
    write_jsonl(tmp_path / "candidate.jsonl", PREDICTIONS)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with served(tmp_path, "--write", "--root", f"data={tmp_path}") as (process, line):
        address, token = ADDRESS.search(line)[0], ADDRESS.search(line)[1]
        base = address.split("?")[0].rstrip("/")
        with httpx.Client(
            base_url=base,
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT,
            # The server closes idle connections, perhaps while the next request is sent.
            limits=httpx.Limits(max_keepalive_connections=0),
        ) as client:
            texts = [client.get(path).text for path in ("/", "/rules", "/api/docs", "/nowhere")]
            body = {
                "truth": {"path": "data/truth.jsonl"},
                "candidate": {"path": "data/candidate.jsonl"},
            }
            job = client.post("/api/batch", json=body).json()["id"]
            with client.stream("GET", f"/api/jobs/{job}/events") as stream:
                texts.append("".join(stream.iter_text()))
            client.put("/api/strategies", json={"rules": {"a": "FUZZY"}})
            texts.append(client.get(f"/x?token={token}").headers["location"])
            texts += [client.get(f"/runs/{token}").text.replace(f"/runs/{token}", "")]
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=TIMEOUT)
    written = [path.read_text("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file()]
    assert (tmp_path / "strategies.json").is_file()
    assert not [text for text in [*texts, out, err, *written] if token in text]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(["--host", "0.0.0.0"], "--accept-remote", id="public-ipv4-address"),  # noqa: S104
        pytest.param(["--host", "::"], "--accept-remote", id="public-ipv6-address"),
        pytest.param(["--root", "none"], "--root: directory 'none' not found", id="missing-root"),
        pytest.param(["--root", "a=.", "--root", "a=.."], "--root: duplicate name 'a'", id="duplicate-root-name"),
        pytest.param(["--rules", "rules.yaml"], "unknown key 'surprise'", id="invalid-rules"),
        pytest.param(["--workspace", "none"], "does not exist", id="missing-workspace"),
    ],
)  # fmt: skip
def test_invalid_options_are_reported_without_a_traceback(folder, command, options, message):
    (folder / "rules.yaml").write_text("scope: union\nsurprise: 1\n", "utf-8")
    done = command("serve", "--port", "0", "--no-browser", *options)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_provider_of_the_rules_file_is_used(tmp_path):
    rules = {
        "provider": {
            "type": "recorded",
            "scores": [{"expected": "car", "candidate": "vehicle", "similarity": 0.93}],
        },
        "scope": "union",
    }
    (tmp_path / "rules.json").write_text(json.dumps(rules), "utf-8")
    with served(tmp_path, "--rules", "rules.json") as (_, line):
        base, token = line.split()[-1].split("?token=")
        body = {"expected": {"a": "car"}, "candidate": {"a": "vehicle"}, "convention": "four_phase"}
        response = httpx.post(
            f"{base}api/evaluate",
            json=body,
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT,
        )
        assert response.json()["result"]["outcomes"][0]["similarity"] == 0.93


RULES = """
convention: four_phase
fuzzy_threshold: 0.5
fields:
  - {path: name, match: FUZZY}
  - {path: note, match: ignore}
gates:
  min: {rqs: 0.99}
provider: {type: recorded, scores: [{expected: Anna, candidate: Hanna, similarity: 0.6}]}
"""


def test_rules_file_has_the_default_rules_of_all_requests(tmp_path):
    (tmp_path / "rules.yaml").write_text(RULES, "utf-8")
    (tmp_path / "strategies.json").write_text('{"fields": [{"path": "name", "match": "exact"}]}')
    with served(tmp_path, "--rules", "rules.yaml", "--write") as (_, line):
        base, token = line.split()[-1].split("?token=")
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=base, headers=headers, timeout=TIMEOUT) as client:
            strategies = client.get("api/strategies").json()
            assert (strategies["file"], strategies["writable"]) == ("rules.yaml", False)
            assert strategies["provider"] == "recorded"
            assert strategies["rules"] == {
                "convention": "four_phase",
                "fuzzy_threshold": 0.5,
                "fields": [{"path": "name", "match": "FUZZY"}, {"path": "note", "match": "ignore"}],
                "gates": {"min": {"rqs": 0.99}},
            }
            pair = {
                "expected": {"name": "Anna", "note": "x"},
                "candidate": {"name": "Hanna", "note": "y"},
            }
            for rules in ({}, {"rules": strategies["rules"]}):
                found = client.post("api/evaluate", json={**pair, **rules}).json()
                assert found["convention"] == "four_phase"
                outcomes = {each["path"]: each["outcome"] for each in found["result"]["outcomes"]}
                assert outcomes == {"name": "match", "note": "ignored"}
            stricter = client.post("api/evaluate", json={**pair, "fuzzy_threshold": 0.7}).json()
            assert stricter["result"]["outcomes"][0]["outcome"] == "wrong_value"
            other = client.post("api/evaluate", json={**pair, "rules": {"note": "exact"}}).json()
            assert other["convention"] == "confusion"
            rows = {
                "truth": {"rows": [pair["expected"]]},
                "candidate": {"rows": [pair["candidate"]]},
            }
            job = client.post("api/batch", json=rows).json()["id"]
            assert eventually(lambda: client.get(f"api/jobs/{job}").json()["state"] == "done")
            result = client.get(f"api/jobs/{job}").json()["result"]
            assert result["summary"]["convention"]["name"] == "four_phase"
            assert [gate["name"] for gate in result["summary"]["gates"]] == ["rqs"]
            refused = client.put("api/strategies", json=strategies["rules"])
            assert refused.status_code == 403
            assert "The rules come from rules.yaml." in refused.json()["error"]["message"]


def test_file_with_only_a_provider_leaves_the_default_rules_to_the_workspace(tmp_path):
    (tmp_path / "models.yaml").write_text(
        "provider: {type: recorded, scores: [{expected: Anna, candidate: Hanna, similarity: 0.9}]}\n"
    )
    with served(tmp_path, "--rules", "models.yaml", "--write") as (_, line):
        base, token = line.split()[-1].split("?token=")
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=base, headers=headers, timeout=TIMEOUT) as client:
            saved = client.put("api/strategies?revision=none", json={"name": "FUZZY"}).json()
            assert (saved["file"], saved["writable"], saved["provider"]) == ("", True, "recorded")
            pair = {"expected": {"name": "Anna"}, "candidate": {"name": "Hanna"}}
            found = client.post("api/evaluate", json={**pair, "rules": saved["rules"]}).json()
            assert found["result"]["outcomes"][0]["similarity"] == 0.9
            assert found["providers"] == ["recorded"]
    assert (tmp_path / "strategies.json").is_file()


def test_concurrent_clients_get_only_their_own_results(read_only_server):  # noqa: F811
    def evaluate(number):
        marker = f"marker-{number:04}-{os.urandom(4).hex()}"
        document = {
            "id": marker,
            "inner": {marker: number},
            "lines": [{"text": marker, "n": n} for n in range(5)],
        }
        other = {**document, "total": number}
        body = {"expected": document, "candidate": other, "view": True}
        headers = {"Authorization": f"Bearer {read_only_server.options.secrets.token}"}
        response = httpx.post(
            f"{read_only_server.url}/api/evaluate",
            json=body,
            headers=headers,
            timeout=TIMEOUT,
            verify=NO_CERTIFICATES,
        )
        found = set(re.findall(r"marker-[0-9]{4}-[0-9a-f]{8}", response.text))
        return response.status_code, found == {marker}, response.json()["result"]["counts"]["fp"]

    with ThreadPoolExecutor(40) as pool:
        results = list(pool.map(evaluate, range(200)))
    assert set(results) == {(200, True, 1)}


def test_concurrent_jobs_do_not_mix_their_data(read_only_server):  # noqa: F811
    def run_job(number):
        rows = [{"id": f"{number}-{n}", "own": f"job {number}"} for n in range(30)]
        run = read_only_server.run(rows, rows)
        cases = read_only_server.client.get(f"/api/runs/{run}/cases?limit=100").json()["cases"]
        return {case["id"].split("-")[0] for case in cases} == {str(number)} and len(cases) == 30

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run_job, range(12)))


# --- the OpenAPI document, and requests generated from it ---


def test_every_operation_has_a_description_and_error_responses(read_only_server):  # noqa: F811
    document = read_only_server.client.get("/api/openapi.json").json()
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = document["components"]["schemas"]
    assert len(operations) >= 28
    for path, method, operation in operations:
        assert operation["description"], (path, method)
        assert "401" in operation["responses"], (path, method)
        if "requestBody" in operation:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            assert _resolve(schema, schemas)["examples"], (path, method)
            assert _resolve(schema, schemas).get("additionalProperties", False) is False


def _resolve(schema, schemas):
    """Return the schema of a body; a rules file in any form has no named schema."""
    return schemas[schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else schema


def test_every_example_of_the_api_reference_works(read_only_server):  # noqa: F811
    document = read_only_server.client.get("/api/openapi.json").json()
    schemas = document["components"]["schemas"]
    run = read_only_server.run()
    tried = 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody")
            if body is None or "{" in path:
                continue
            schema = _resolve(body["content"]["application/json"]["schema"], schemas)
            for example in schema["examples"]:
                if "runs" in example:  # the ids of an example are not those of this server
                    example["runs"] = [run for _ in example["runs"]]
                response = read_only_server.client.request(method, path, json=example)
                assert response.status_code in {200, 202, 403}, (path, response.text)
                tried += 1
    assert tried >= 10


@pytest.fixture(scope="module")
def document(read_only_server):  # noqa: F811
    run = read_only_server.run()
    schema = schemathesis.openapi.from_dict(read_only_server.client.get("/api/openapi.json").json())
    return read_only_server, schema, run


def test_generated_requests_never_cause_a_server_error(document):
    server, schema, run = document
    operations = [found.ok() for found in schema.get_all_operations()]
    streams = [each for each in operations if each.path.endswith("/events")]
    for operation in operations:
        if operation in streams:
            continue
        _try_operation(server, operation, run)


def _try_operation(server, operation, run):
    examples = 400 if PROVING else 12
    suppressed = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]

    @given(case=operation.as_strategy())
    @settings(max_examples=examples, deadline=None, suppress_health_check=suppressed, database=None)
    def attempt(case):
        if "run" in case.path_parameters and len(str(case.path_parameters["run"])) % 2:
            case.path_parameters["run"] = run
        response = case.call(
            base_url=server.url,
            headers={"Authorization": f"Bearer {server.options.secrets.token}"},
            timeout=TIMEOUT,
        )
        case.validate_response(response, checks=[not_a_server_error])
        if response.status_code >= 400:
            assert set(response.json()) == {"error"}, operation.label
            assert "Traceback" not in response.text

    attempt()
