"""Responses match the schemas of the OpenAPI document."""

from __future__ import annotations

import jsonschema_rs
import pytest

from unit.web.live_server import PREDICTIONS, TRUTH

PAIR = {"expected": TRUTH[0], "candidate": PREDICTIONS[1]}
RANKED = {"expected": TRUTH[0], "candidates": [PREDICTIONS[0], PREDICTIONS[1]]}


@pytest.fixture(scope="module")
def run(read_only_server):
    return read_only_server.run()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("post", "/api/evaluate", PAIR, id="one-prediction"),
        pytest.param("post", "/api/evaluate", RANKED, id="several-predictions"),
        pytest.param("post", "/api/infer", {"truth": TRUTH}, id="infer"),
        pytest.param("post", "/api/flatten", {"document": TRUTH[0]}, id="flatten"),
        pytest.param("get", "/api/jobs", None, id="jobs"),
        pytest.param("get", "/api/files", None, id="roots"),
        pytest.param("get", "/api/files?path=data", None, id="files"),
        pytest.param("get", "/api/runs", None, id="runs"),
        pytest.param("get", "/api/runs/{run}", None, id="run"),
        pytest.param("get", "/api/runs/{run}/attributes", None, id="attributes"),
        pytest.param("get", "/api/runs/{run}/cases", None, id="cases"),
        pytest.param("get", "/api/runs/{run}/cases/1", None, id="case"),
        pytest.param("get", "/api/runs/{run}/outcomes", None, id="outcomes"),
        pytest.param("get", "/api/trend", None, id="trend"),
        pytest.param("get", "/api/diff?a={run}&b={run}", None, id="diff"),
        pytest.param("get", "/api/strategies", None, id="strategies"),
        pytest.param("get", "/api/prompts", None, id="prompts"),
        pytest.param("get", "/api/health", None, id="health"),
    ],
)
def test_response_matches_its_schema(read_only_server, run, method, path, body):
    response = read_only_server.client.request(method, path.format(run=run), json=body)
    assert response.status_code == 200, response.text
    document = read_only_server.client.get("/api/openapi.json").json()
    template = path.partition("?")[0].replace("/cases/1", "/cases/{case}")
    content = document["paths"][template][method]["responses"]["200"]["content"]
    schema = {**content["application/json"]["schema"], "components": document["components"]}
    jsonschema_rs.validate(schema, response.json())
