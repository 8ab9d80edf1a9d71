"""A built-in evaluator as a code judge: which requests have a ground truth."""

from __future__ import annotations

import json

import pytest

from fieldmark.analyses.judge import as_judge

OPTIONS = {"fields": [{"path": "total"}]}


def user(content):
    return {"role": "user", "content": content}


def assistant(content):
    return {"role": "assistant", "content": content}


@pytest.mark.parametrize(
    "truth",
    [
        pytest.param({}, id="no-key"),
        pytest.param({"expected": None}, id="null"),
        pytest.param({"expected_output": []}, id="no-messages"),
        pytest.param({"expected_output": [user("hello")]}, id="only-user-messages"),
        pytest.param({"expected_output": [user('{"total": 1}')]}, id="only-a-document-of-the-user"),
        pytest.param({"expected_output": [assistant("")]}, id="empty-message"),
        pytest.param({"expected_output": [assistant("Paris")]}, id="text-that-is-not-json"),
        pytest.param({"expected": "Paris"}, id="expected-text"),
        pytest.param({"expected": 7}, id="expected-number"),
        pytest.param({"reference_answer": ""}, id="empty-reference"),
        pytest.param({"reference_answer": "null"}, id="null-as-text"),
    ],
)
def test_request_without_a_ground_truth_is_an_error(truth):
    request = json.dumps({**truth, "candidate": {"total": 1}, "case_id": "a"}).encode()
    response = as_judge("field_accuracy", request, OPTIONS)
    assert (response["status"], response["score"], response["case_id"]) == ("error", None, "a")
    assert "no ground truth" in response["reasoning"]


def test_message_that_is_not_json_is_no_ground_truth_of_whole_documents():
    request = json.dumps({"expected_output": [assistant("Paris")], "candidate": "Paris"}).encode()
    assert as_judge("extraction_metrics", request)["status"] == "error"


@pytest.mark.parametrize(
    "truth",
    [
        pytest.param({"expected": {"total": 1}}, id="document"),
        pytest.param({"expected_output": [user("x"), assistant('{"total": 1}')]}, id="message"),
        pytest.param({"expected_output": [], "reference_answer": '{"total": 1}'}, id="first-that-has-one"),
        pytest.param({"expected_messages": [assistant({"total": 1})]}, id="early-messages"),
        pytest.param({"expected_output": [assistant([{"type": "text", "text": '{"total": 1}'}])]}, id="parts"),
    ],
)  # fmt: skip
def test_request_with_a_ground_truth_is_scored(truth):
    request = json.dumps({**truth, "candidate": {"total": 1}}).encode()
    assert as_judge("field_accuracy", request, OPTIONS)["score"] == 1.0


def test_text_is_a_ground_truth_of_evaluators_of_whole_documents():
    for candidate, score in (("Paris", 1.0), ("Rome", 0.0)):
        request = json.dumps({"expected": "Paris", "candidate": candidate}).encode()
        assert as_judge("field_accuracy", request, {"fields": [{"path": "$"}]})["score"] == score


def test_evaluator_of_candidates_needs_no_ground_truth():
    response = as_judge("json_schema", b'{"candidate": {"total": 1}}', {"schema": {}})
    assert response["score"] == 1.0
