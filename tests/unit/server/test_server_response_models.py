"""Responses have the shape that the OpenAPI document describes."""

from __future__ import annotations

import jsonschema_rs
import pytest

from unit.server.live_server import FOUND, TRUTH, reading  # noqa: F401

PAIR = {"expected": TRUTH[0], "candidate": FOUND[1]}
RANKED = {"expected": TRUTH[0], "candidates": [FOUND[0], FOUND[1]]}


@pytest.fixture(scope="module")
def run(reading):  # noqa: F811
    return reading.run()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("post", "/api/evaluate", PAIR, id="a-pair"),
        pytest.param("post", "/api/evaluate", RANKED, id="several-candidates"),
        pytest.param("post", "/api/infer", {"truth": TRUTH}, id="infer"),
        pytest.param("post", "/api/flatten", {"document": TRUTH[0]}, id="flatten"),
        pytest.param("get", "/api/jobs", None, id="jobs"),
        pytest.param("get", "/api/files", None, id="roots"),
        pytest.param("get", "/api/files?path=data", None, id="files"),
        pytest.param("get", "/api/runs", None, id="runs"),
        pytest.param("get", "/api/runs/{run}", None, id="a-run"),
        pytest.param("get", "/api/runs/{run}/attributes", None, id="attributes"),
        pytest.param("get", "/api/runs/{run}/cases", None, id="cases"),
        pytest.param("get", "/api/runs/{run}/cases/1", None, id="a-case"),
        pytest.param("get", "/api/runs/{run}/outcomes", None, id="outcomes"),
        pytest.param("get", "/api/trend", None, id="trend"),
        pytest.param("get", "/api/diff?a={run}&b={run}", None, id="diff"),
        pytest.param("get", "/api/strategies", None, id="strategies"),
        pytest.param("get", "/api/prompts", None, id="prompts"),
        pytest.param("get", "/api/health", None, id="health"),
    ],
)
def test_a_response_has_the_described_shape(reading, run, method, path, body):  # noqa: F811
    answer = reading.ask.request(method, path.format(run=run), json=body)
    assert answer.status_code == 200, answer.text
    document = reading.ask.get("/api/openapi.json").json()
    described = path.partition("?")[0].replace("/cases/1", "/cases/{case}")
    content = document["paths"][described][method]["responses"]["200"]["content"]
    schema = {**content["application/json"]["schema"], "components": document["components"]}
    jsonschema_rs.validate(schema, answer.json())
