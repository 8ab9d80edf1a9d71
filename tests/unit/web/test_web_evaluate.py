"""Evaluation over HTTP gives the results of the library, and errors have stable codes."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from fieldmark.compare.providers import Recorded
from unit.evaluators.walk_through import CANDIDATE, EXPECTED
from unit.report.exported import rows_of
from unit.web.live_server import error_code, live

RECORDED = {
    "provider": {
        "type": "recorded",
        "scores": [
            {"expected": EXPECTED["name"], "candidate": CANDIDATE["name"], "similarity": 0.92},
            {"expected": EXPECTED["bio"], "candidate": CANDIDATE["bio"], "similarity": 0.88},
        ],
    },
    "fields": {"name": "FUZZY", "bio": "SEMANTIC"},
}
INVOICE = {"total": 100.0, "vendor": {"name": "Acme Ltd"}, "lines": [{"text": "Bolts", "n": 1}]}
OTHER = {"total": 100.02, "vendor": {"name": "Acme Ltd."}, "lines": [{"text": "Bolts", "n": 2}]}


@pytest.fixture
def evaluate(read_only_server):
    def send(**body):
        return read_only_server.client.post("/api/evaluate", json=body)

    return send


@pytest.mark.parametrize("convention", ["confusion", "taxonomy", "taxonomy_code", "four_phase"])
def test_results_equal_those_of_the_library(evaluate, convention):
    rules = {"total": {"match": "numeric_tolerance", "tolerance": 0.05}, "vendor.name": "FUZZY"}
    response = evaluate(expected=INVOICE, candidate=OTHER, rules=rules, convention=convention)
    library = fm.compare(INVOICE, OTHER, rules=rules, convention=convention)
    assert response.json()["result"] == json.loads(json.dumps(library.to_dict()))


@pytest.mark.parametrize(
    ("options", "f1"),
    [({}, 0.0), ({"f1_when_no_match": "undefined"}, None)],
    ids=["zero", "undefined"],
)
def test_f1_without_a_match(evaluate, options, f1):
    result = evaluate(expected={"a": 1}, candidate={"a": 2}, options=options).json()["result"]
    assert (result["f1"], result["score"]) == (f1, 0.0)


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        pytest.param({"field_strategies": {"name": "FUZZY"}}, "match", id="usual-threshold"),
        pytest.param({"field_strategies": {"name": "FUZZY"}, "fuzzy_threshold": 0.92}, "match", id="threshold-of-the-request"),
        pytest.param({"field_strategies": {"name": "FUZZY"}, "fuzzy_threshold": 0.93}, "wrong_value", id="higher-threshold-of-the-request"),
        pytest.param({"field_strategies": {"name": {"match": "FUZZY", "threshold": 0.91}}}, "match", id="threshold-of-the-field"),
        pytest.param({"field_strategies": {"name": "FUZZY", "fuzzy_threshold": 0.95}}, "wrong_value", id="threshold-of-the-file"),
        pytest.param({"rules": {"fields": [{"path": "name", "match": "SEMANTIC", "threshold": 0.92}]}}, "match", id="semantic"),
        pytest.param({"semantic_threshold": 0.95, "convention": "four_phase"}, "wrong_value", id="detected-type"),
    ],
)  # fmt: skip
def test_thresholds_never_change_the_provider(tmp_path, body, outcome):
    pair = {"expected": {"name": EXPECTED["name"]}, "candidate": {"name": CANDIDATE["name"]}}
    provider = Recorded(scores={(EXPECTED["name"], CANDIDATE["name"]): 0.92})
    with live(tmp_path, provider=provider) as server:
        assert server.client.get("/api/health").json()["provider"] == "recorded"
        response = server.client.post("/api/evaluate", json={**pair, **body}).json()
    (field,) = response["result"]["outcomes"]
    assert (field["similarity"], field["outcome"]) == (0.92, outcome)


@pytest.mark.parametrize(
    ("body", "convention", "depth"),
    [
        pytest.param({}, "confusion", "leaf", id="default"),
        pytest.param({"rules": {"convention": "four_phase"}}, "four_phase", "top", id="of-the-rules"),
        pytest.param({"rules": {"convention": "four_phase", "depth": "leaf"}}, "four_phase", "leaf", id="depth-of-the-rules"),
        pytest.param({"rules": {"convention": "four_phase"}, "convention": "taxonomy"}, "taxonomy", "leaf", id="of-the-request"),
    ],
)  # fmt: skip
def test_response_names_its_convention(evaluate, body, convention, depth):
    response = evaluate(expected=INVOICE, candidate=OTHER, **body).json()
    assert (response["convention"], response["depth"]) == (convention, depth)


NOTHING_IN_COMMON = "ground truth and predictions have no attribute in common"


@pytest.mark.parametrize(
    ("expected", "candidate", "warnings"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 3}, [], id="common-attribute"),
        pytest.param({"a": 1}, {"b": 1}, [f"{NOTHING_IN_COMMON} (ground truth: a; predictions: b)"], id="no-common-attribute"),
        pytest.param(
            {"a": 1, "b": 2}, {"result": {"a": 1, "b": 2}, "ms": 3},
            [f"{NOTHING_IN_COMMON} (ground truth: a, b; predictions: result.a, result.b, ms); compare the candidate value of 'result'"],
            id="wrapper-with-siblings",
        ),
        pytest.param(
            {"data": {"a": 1}}, {"a": 1},
            [f"{NOTHING_IN_COMMON} (ground truth: data.a; predictions: a); compare the expected value of 'data'"],
            id="wrapped-ground-truth",
        ),
        pytest.param({"a": 1}, "no document", [], id="unparseable"),
    ],
)  # fmt: skip
def test_structurally_wrong_documents_are_a_warning(evaluate, expected, candidate, warnings):
    assert evaluate(expected=expected, candidate=candidate).json()["warnings"] == warnings
    several = evaluate(expected=expected, candidates=[candidate, candidate]).json()
    assert several["warnings"] == warnings


def test_ranking_of_several_predictions_equals_that_of_the_library(evaluate):
    candidates = [{"total": 6}, {"total": 5}, {"total": 5}]
    response = evaluate(expected={"total": 5}, candidates=candidates)
    assert response.json()["ranking"] == json.loads(
        json.dumps(fm.compare_many({"total": 5}, candidates).to_dict())
    )


def test_view_contains_the_data_of_the_tabs(evaluate):
    response = evaluate(
        expected=EXPECTED, candidate=CANDIDATE, rules=RECORDED, convention="four_phase", view=True
    )
    assert response.json()["result"]["quality"]["rqs"] == pytest.approx(0.7375)
    (view,) = response.json()["views"]
    metrics = view["metrics"]
    assert metrics["keys"]["aio_missing_or_null"] == ["status"]
    compared = {field["path"]: field for field in rows_of(metrics["fields"])}
    measured = [
        (compared[path]["similarity"], compared[path]["threshold"]) for path in ("name", "bio")
    ]
    assert measured == [(0.92, 0.85), (0.88, 0.8)]
    email = compared["email"]
    assert metrics["strategies"][email["strategy"]]["strategy"] == "exact_text"
    assert email["detected"] is True
    assert (metrics["rqs"], metrics["rqs_max"]) == pytest.approx((0.7375, 0.85))
    patterns = {recommendation["pattern"] for recommendation in view["recommendations"]}
    assert patterns >= {"missing_key", "extra_key"}
    assert rows_of(view["documents"]["tree"])[0]["key"] == "name"


@pytest.mark.parametrize(
    ("body", "status", "code", "message"),
    [
        pytest.param(b"{", 400, "bad_json", "Cannot read the request body: ", id="not-json"),
        pytest.param(b'{"expected": NaN, "candidate": 1}', 400, "bad_json", "NaN is not a finite number.", id="nan"),
        pytest.param(b'{"expected": 1, "expected": 2, "candidate": 1}', 400, "bad_json", "duplicate key 'expected'.", id="duplicate-key"),
        pytest.param(b"\xff\xfe{", 400, "bad_json", "", id="wrong-encoding"),
        pytest.param(b'{"expected":' + b"[" * 300 + b"]" * 300 + b',"candidate":1}', 422, "limit_exceeded", "", id="too-deep"),
        pytest.param(b'{"expected": "{\\"a\\": 1", "candidate": {"a": 1}}', 422, "invalid_data", "expected: ", id="unreadable-expected-text"),
        pytest.param(b'{"expected": 1, "candidate": 1, "surprise": 1}', 422, "invalid_request", "surprise", id="unknown-key"),
        pytest.param(b'{"expected": 1, "candidate": 1, "candidates": [1]}', 422, "invalid_request", "", id="candidate-and-candidates"),
        pytest.param(b'{"expected": 1, "candidate": 1, "rules": {"a": "EXACT"}, "field_strategies": {}}', 422, "invalid_request", "only one of rules and field_strategies is allowed", id="two-rules"),
        pytest.param(b'{"expected": 1, "candidate": 1, "view": 1}', 422, "invalid_request", "", id="option-of-another-type"),
        pytest.param(b'{"expected": 1, "candidate": 1, "options": {"zero": "maybe"}}', 422, "invalid_rules", "zero", id="option-of-a-convention"),
        pytest.param(b'{"expected": 1, "candidate": 1, "rules": [{"path": "a", "match": "fuzy"}]}', 422, "invalid_rules", "did you mean 'fuzzy'?", id="unknown-comparator"),
        pytest.param(b'{"expected": 1, "candidate": 1, "rules": "/etc/passwd"}', 422, "invalid_rules", "", id="file-name"),
    ],
)  # fmt: skip
def test_invalid_request_has_an_error_code(read_only_server, body, status, code, message):
    headers = {"Content-Type": "application/json"}
    response = read_only_server.client.post("/api/evaluate", content=body, headers=headers)
    assert (response.status_code, error_code(response)) == (status, code)
    assert message in response.text
    assert "Traceback" not in response.text


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param({"provider": {"type": "openai", "endpoint": "http://169.254.169.254"}}, id="endpoint"),
        pytest.param({"provider": "openai"}, id="endpoint-by-name"),
        pytest.param({"provider": {"type": "openai-embeddings"}}, id="alternative-spelling"),
        pytest.param({"provider": {"type": "python", "function": "os:system"}}, id="python-function"),
        pytest.param({"provider": {"type": "model2vec", "model": "/etc"}}, id="model-directory"),
        pytest.param({"provider": {"type": "recorded", "file": "/etc/passwd"}}, id="file"),
        pytest.param({"fields": [{"path": "a", "match": "semantic", "provider": {"type": "python", "function": "os:system"}}]}, id="in-a-field"),
        pytest.param({"a": {"match": {"type": "semantic", "provider": "openai"}}}, id="in-a-match"),
        pytest.param({"defaults": {"match": "auto", "provider": {"type": "openai"}}}, id="in-the-defaults"),
    ],
)  # fmt: skip
def test_request_cannot_select_a_non_local_provider(evaluate, rules):
    response = evaluate(expected={"a": "x"}, candidate={"a": "y"}, rules=rules)
    assert (response.status_code, error_code(response)) == (403, "provider_not_allowed")


def test_field_named_provider_is_a_field(evaluate):
    response = evaluate(
        expected={"provider": "Acme"}, candidate={"provider": "ACME"}, rules={"provider": "FUZZY"}
    )
    assert response.json()["result"]["hits"] == ["provider"]


def test_all_problems_of_rules_are_listed(evaluate):
    rules = [{"path": "a", "match": "fuzy"}, {"path": "b", "match": "fuzzy", "threshold": 2}]
    problems = evaluate(expected=1, candidate=1, rules=rules).json()["error"]["problems"]
    assert ("did you mean 'fuzzy'?" in problems[0]["hint"], len(problems)) == (True, 2)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("9007199254740993", id="beyond-double-precision"),
        pytest.param("123456789012345678901234567890", id="beyond-64-bits"),
        pytest.param('"\\ud800"', id="lone-surrogate"),
        pytest.param('"</script>\\u2028"', id="script-end-tag"),
    ],
)
def test_values_are_returned_unchanged(read_only_server, text):
    body = f'{{"expected": {{"a": {text}}}, "candidate": {{"a": {text}}}}}'.encode()
    headers = {"Content-Type": "application/json"}
    response = read_only_server.client.post("/api/evaluate", content=body, headers=headers)
    (outcome,) = response.json()["result"]["outcomes"]
    assert outcome["outcome"] == "match"
    assert outcome["expected"] == json.loads(text)
