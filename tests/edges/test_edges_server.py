"""The server as a whole: the command that starts it, many clients at once, and hostile ones."""

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

from published.command_line import COMMAND, ENVIRONMENT, fieldmark
from unit.server.live_server import FOUND, PATIENCE, TRUTH, lines, reading  # noqa: F401

ADDRESS = re.compile(r"http://\S+\?token=([\w-]{43})")


@contextmanager
def served(folder, *words):
    """`fieldmark serve`, from its first line to its end; yields the process and its address."""
    process = subprocess.Popen(
        [COMMAND, "serve", "--port", "0", "--no-browser", *words],
        cwd=folder,
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


def test_it_starts_says_its_address_in_one_line_and_ends_when_told(tmp_path):
    with served(tmp_path) as (process, line):
        found = ADDRESS.search(line)
        assert line == f"fieldmark serves {found[0]}\n"
        assert httpx.get(found[0], follow_redirects=True, timeout=PATIENCE).status_code == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out, err) == (0, "", "")


def test_the_token_is_nowhere_but_in_the_first_line(tmp_path):
    lines(tmp_path / "truth.jsonl", TRUTH)
    lines(tmp_path / "candidate.jsonl", FOUND)
    home = tmp_path / "temporary"
    home.mkdir()
    with served(tmp_path, "--write", "--root", f"data={tmp_path}") as (process, line):
        address, token = ADDRESS.search(line)[0], ADDRESS.search(line)[1]
        base = address.split("?")[0].rstrip("/")
        with httpx.Client(
            base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE
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
        out, err = process.communicate(timeout=PATIENCE)
    written = [path.read_text("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file()]
    assert (tmp_path / "strategies.json").is_file()
    assert not [text for text in [*texts, out, err, *written] if token in text]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--host", "0.0.0.0"], "--accept-remote", id="an-address-that-others-can-reach"),  # noqa: S104
        pytest.param(["--host", "::"], "--accept-remote", id="the-same-in-the-newer-form"),
        pytest.param(["--root", "none"], "no such folder", id="a-root-that-is-not-there"),
        pytest.param(["--root", "a=.", "--root", "a=.."], "Two roots are called a", id="two-roots-of-one-name"),
        pytest.param(["--rules", "rules.yaml"], "Unknown key", id="rules-that-cannot-be-read"),
        pytest.param(["--workspace", "none"], "does not exist", id="a-workspace-that-is-not-there"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_said_in_one_line(tmp_path, words, said):
    (tmp_path / "rules.yaml").write_text("scope: union\nsurprise: 1\n", "utf-8")
    done = fieldmark("serve", "--port", "0", "--no-browser", *words, cwd=tmp_path)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_rules_name_who_judges_meaning(tmp_path):
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
        answer = httpx.post(
            f"{base}api/evaluate",
            json=body,
            headers={"Authorization": f"Bearer {token}"},
            timeout=PATIENCE,
        )
        assert answer.json()["result"]["outcomes"][0]["similarity"] == 0.93


def test_two_hundred_clients_at_once_never_see_each_other(reading):  # noqa: F811
    def one(number):
        marker = f"marker-{number:04}-{os.urandom(4).hex()}"
        document = {
            "id": marker,
            "inner": {marker: number},
            "lines": [{"text": marker, "n": n} for n in range(5)],
        }
        other = {**document, "total": number}
        body = {"expected": document, "candidate": other, "view": True}
        headers = {"Authorization": f"Bearer {reading.options.secrets.token}"}
        answer = httpx.post(
            f"{reading.url}/api/evaluate", json=body, headers=headers, timeout=PATIENCE
        )
        found = set(re.findall(r"marker-[0-9]{4}-[0-9a-f]{8}", answer.text))
        return answer.status_code, found == {marker}, answer.json()["result"]["counts"]["fp"]

    with ThreadPoolExecutor(40) as pool:
        results = list(pool.map(one, range(200)))
    assert set(results) == {(200, True, 1)}


def test_jobs_at_once_never_mix(reading):  # noqa: F811
    def one(number):
        rows = [{"id": f"{number}-{n}", "own": f"job {number}"} for n in range(30)]
        run = reading.run(rows, rows)
        cases = reading.ask.get(f"/api/runs/{run}/cases?limit=100").json()["cases"]
        return {case["id"].split("-")[0] for case in cases} == {str(number)} and len(cases) == 30

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(12)))


# --- the description, and requests made from it ---


def test_every_operation_is_described_with_its_refusals(reading):  # noqa: F811
    described = reading.ask.get("/api/openapi.json").json()
    operations = [
        (path, method, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    assert len(operations) >= 29
    for path, method, operation in operations:
        assert operation["description"], (path, method)
        assert "401" in operation["responses"], (path, method)
        if "requestBody" in operation:
            name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit(
                "/", 1
            )[-1]
            assert described["components"]["schemas"][name]["examples"], (path, method)
            assert described["components"]["schemas"][name]["additionalProperties"] is False


def test_every_example_of_the_description_works(reading):  # noqa: F811
    described = reading.ask.get("/api/openapi.json").json()
    schemas = described["components"]["schemas"]
    tried = 0
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody")
            if body is None or "{" in path:
                continue
            name = body["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[-1]
            for example in schemas[name]["examples"]:
                answer = reading.ask.request(method, path, json=example)
                assert answer.status_code in {200, 202, 403}, (path, answer.text)
                tried += 1
    assert tried >= 10


@pytest.fixture(scope="module")
def described(reading):  # noqa: F811
    run = reading.run()
    schema = schemathesis.openapi.from_dict(reading.ask.get("/api/openapi.json").json())
    return reading, schema, run


def test_requests_made_from_the_description_never_break_the_server(described):
    server, schema, run = described
    operations = [found.ok() for found in schema.get_all_operations()]
    streams = [each for each in operations if each.path.endswith("/events")]
    for operation in operations:
        if operation in streams:
            continue
        _tried(server, operation, run)


def _tried(server, operation, run):
    examples = 12 if not os.environ.get("FIELDMARK_PROVE") else 400
    careful = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]

    @given(case=operation.as_strategy())
    @settings(max_examples=examples, deadline=None, suppress_health_check=careful, database=None)
    def attempt(case):
        if "run" in case.path_parameters and len(str(case.path_parameters["run"])) % 2:
            case.path_parameters["run"] = run
        answer = case.call(
            base_url=server.url, headers={"Authorization": f"Bearer {server.options.secrets.token}"}
        )
        case.validate_response(answer, checks=[not_a_server_error])
        if answer.status_code >= 400:
            assert set(answer.json()) == {"error"}, operation.label
            assert "Traceback" not in answer.text

    attempt()
