"""One pair over HTTP: the numbers of the library, and a code for every refusal."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from unit.evaluators.walk_through import CANDIDATE, EXPECTED
from unit.server.live_server import code, reading  # noqa: F401

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
def evaluate(reading):  # noqa: F811
    def ask(**body):
        return reading.ask.post("/api/evaluate", json=body)

    return ask


@pytest.mark.parametrize("convention", ["confusion", "taxonomy", "taxonomy_code", "four_phase"])
def test_the_numbers_are_those_of_the_library(evaluate, convention):
    rules = {"total": {"match": "numeric_tolerance", "tolerance": 0.05}, "vendor.name": "FUZZY"}
    answer = evaluate(expected=INVOICE, candidate=OTHER, rules=rules, convention=convention)
    library = fm.compare(INVOICE, OTHER, rules=rules, convention=convention)
    assert answer.json()["result"] == json.loads(json.dumps(library.to_dict()))


def test_the_walk_through_with_recorded_judgements(evaluate):
    answer = evaluate(
        expected=EXPECTED, candidate=CANDIDATE, rules=RECORDED, convention="four_phase"
    )
    quality = answer.json()["result"]["quality"]
    assert quality["completeness"] == 0.75
    assert quality["hallucination"] == pytest.approx(1 / 3, abs=1e-9)
    assert quality["accuracy"] == 1.0
    assert quality["rqs"] == pytest.approx(0.7375, abs=1e-9)


def test_several_candidates_are_ranked_as_the_library_ranks_them(evaluate):
    candidates = [{"total": 6}, {"total": 5}, {"total": 5}]
    answer = evaluate(expected={"total": 5}, candidates=candidates)
    assert answer.json()["ranking"] == json.loads(
        json.dumps(fm.compare_many({"total": 5}, candidates).to_dict())
    )


def test_a_view_holds_what_the_tabs_show(evaluate):
    answer = evaluate(
        expected=EXPECTED, candidate=CANDIDATE, rules=RECORDED, convention="four_phase", view=True
    )
    (view,) = answer.json()["views"]
    assert view["buckets"]["aio_missing_or_null"] == ["status"]
    assert view["buckets"]["extra_keys"] == ["extra_field"]
    assert view["buckets"]["gt_null_aio_has_value"] == ["internal_id"]
    compared = {each["path"]: each for each in view["fields"]}
    assert (compared["name"]["similarity"], compared["name"]["threshold"]) == (0.92, 0.85)
    assert (compared["bio"]["similarity"], compared["bio"]["threshold"]) == (0.88, 0.8)
    assert compared["email"]["strategy"] == "exact_text"
    assert compared["email"]["detected"] is True
    assert {each["pattern"] for each in view["recommendations"]} >= {"left_out", "unknown_key"}
    assert view["documents"]["tree"][0][0] == "name"


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        pytest.param(b"{", 400, "bad_json", id="no-json"),
        pytest.param(b'{"expected": NaN, "candidate": 1}', 400, "bad_json", id="nan"),
        pytest.param(b'{"expected": 1e999, "candidate": 1}', 400, "bad_json", id="infinity"),
        pytest.param(b'{"expected": 1, "expected": 2, "candidate": 1}', 400, "bad_json", id="a-key-twice"),
        pytest.param(b"\xff\xfe{", 400, "bad_json", id="another-encoding"),
        pytest.param(b'{"expected":' + b"[" * 300 + b"]" * 300 + b',"candidate":1}', 422, "limit_exceeded", id="too-deep"),
        pytest.param(b'{"expected": 1, "candidate": 1, "surprise": 1}', 422, "invalid_request", id="an-unknown-key"),
        pytest.param(b'{"expected": 1}', 422, "invalid_request", id="no-candidate"),
        pytest.param(b'{"expected": 1, "candidate": 1, "candidates": [1]}', 422, "invalid_request", id="one-and-several"),
        pytest.param(b'{"expected": 1, "candidates": []}', 422, "invalid_request", id="no-candidates"),
        pytest.param(b'{"expected": 1, "candidate": 1, "convention": "confusing"}', 422, "invalid_request", id="no-such-convention"),
        pytest.param(b'{"expected": 1, "candidate": 1, "view": 1}', 422, "invalid_request", id="a-number-for-a-boolean"),
        pytest.param(b'{"expected": 1, "candidate": 1, "options": {"zero": "maybe"}}', 422, "invalid_rules", id="no-such-option"),
        pytest.param(b'{"expected": 1, "candidate": 1, "options": {"rqs_weights": {"accuracy": -1}}}', 422, "invalid_rules", id="a-negative-weight"),
        pytest.param(b'{"expected": 1, "candidate": 1, "rules": {"a": {"match": "fuzzy", "threshold": 1.5}}}', 422, "invalid_rules", id="a-threshold-above-one"),
        pytest.param(b'{"expected": 1, "candidate": 1, "rules": [{"path": "a", "match": "fuzy"}]}', 422, "invalid_rules", id="no-such-comparator"),
        pytest.param(b'{"expected": 1, "candidate": 1, "rules": "/etc/passwd"}', 422, "invalid_rules", id="the-name-of-a-file"),
        pytest.param(b'{"expected": 1, "candidate": 1, "rules": 7}', 422, "invalid_rules", id="a-number-for-rules"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_request_has_a_code(reading, body, status, expected):  # noqa: F811
    headers = {"Content-Type": "application/json"}
    answer = reading.ask.post("/api/evaluate", content=body, headers=headers)
    assert (answer.status_code, code(answer)) == (status, expected)
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param({"provider": {"type": "openai", "endpoint": "http://169.254.169.254"}}, id="an-endpoint"),
        pytest.param({"provider": "openai"}, id="an-endpoint-by-name-alone"),
        pytest.param({"provider": {"type": "openai-embeddings"}}, id="another-spelling"),
        pytest.param({"provider": {"type": "python", "function": "os:system"}}, id="a-function"),
        pytest.param({"provider": {"type": "model2vec", "model": "/etc"}}, id="a-folder"),
        pytest.param({"provider": {"type": "recorded", "file": "/etc/passwd"}}, id="a-file"),
        pytest.param({"fields": [{"path": "a", "match": "semantic", "provider": {"type": "python", "function": "os:system"}}]}, id="inside-a-field"),
        pytest.param({"a": {"match": {"type": "semantic", "provider": "openai"}}}, id="inside-a-match"),
        pytest.param({"defaults": {"match": "auto", "provider": {"type": "openai"}}}, id="inside-the-defaults"),
    ],
)  # fmt: skip
def test_a_request_cannot_make_the_server_reach_outside(evaluate, rules):
    answer = evaluate(expected={"a": "x"}, candidate={"a": "y"}, rules=rules)
    assert (answer.status_code, code(answer)) == (403, "provider_not_allowed")


def test_a_field_that_is_called_provider_is_a_field(evaluate):
    answer = evaluate(
        expected={"provider": "Acme"}, candidate={"provider": "ACME"}, rules={"provider": "FUZZY"}
    )
    assert answer.json()["result"]["hits"] == ["provider"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('{"expected": NaN}', "NaN is not a finite number", id="nan"),
        pytest.param(
            '{"a": 1, "a": 2}', "the key 'a' occurs twice in one object", id="a-key-twice"
        ),
    ],
)
def test_a_body_that_cannot_be_read_is_told_in_a_sentence(reading, text, message):  # noqa: F811
    headers = {"Content-Type": "application/json"}
    said = reading.ask.post("/api/evaluate", content=text, headers=headers).json()["error"]
    assert said == {"code": "bad_json", "message": f"The body cannot be read: {message}."}


def test_every_problem_of_rules_is_named(evaluate):
    rules = [{"path": "a", "match": "fuzy"}, {"path": "b", "match": "fuzzy", "threshold": 2}]
    problems = evaluate(expected=1, candidate=1, rules=rules).json()["error"]["problems"]
    assert ["Did you mean fuzzy?" in problems[0]["hint"], len(problems)] == [True, 2]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("9007199254740993", id="beyond-what-scripts-can-count"),
        pytest.param("123456789012345678901234567890", id="beyond-64-bits"),
        pytest.param('"\\ud800"', id="a-lone-surrogate"),
        pytest.param('"</script>\\u2028"', id="text-that-could-end-a-page"),
    ],
)
def test_values_come_back_as_they_were_sent(reading, text):  # noqa: F811
    body = f'{{"expected": {{"a": {text}}}, "candidate": {{"a": {text}}}}}'.encode()
    headers = {"Content-Type": "application/json"}
    answer = reading.ask.post("/api/evaluate", content=body, headers=headers)
    (outcome,) = answer.json()["result"]["outcomes"]
    assert outcome["outcome"] == "match"
    assert outcome["expected"] == json.loads(text)
