"""`fieldmark judge`: a built-in evaluator responds like a code judge, or fails with an exit code."""

from __future__ import annotations

import io
import json
import sys

import pytest

from fieldmark.evaluators.base import Status
from fieldmark.judges.code_judge import CodeJudge
from fieldmark.model.case import Case
from published.command_line import COMMAND, fieldmark
from waiting import TIMEOUT

FIELDS = {"fields": [{"path": "total"}, {"path": "vendor", "match": "fuzzy"}]}
EXPECTED = {"total": 10, "vendor": "Acme Corp", "lines": [{"description": "Bolt", "amount": 2}]}
CANDIDATE = {"total": 10, "vendor": "Zenith", "lines": [{"description": "Bolt", "amount": 2}]}


@pytest.fixture
def run_judge(command, monkeypatch):
    """Return a function that runs the command with a request, in this process."""

    def run(name, request, *options):
        raw = request if isinstance(request, bytes) else json.dumps(request).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        return command("judge", name, *options)

    return run


OPTIONS = {
    "field_accuracy": (FIELDS, 0.5),
    "field_confusion": (FIELDS, 0.5),
    "line_items": ({"path": "lines", "match_fields": ["description"]}, 1.0),
    "extraction_metrics": ({}, None),
    "response_quality": ({}, None),
    "json_schema": ({"schema": {"type": "object", "required": ["total"]}}, 1.0),
    "constraints": ({"rules": ["sum(lines[].amount) == 2"]}, None),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_evaluator_responds(run_judge, name):
    options, score = OPTIONS[name]
    done = run_judge(name, {"expected": EXPECTED, "candidate": CANDIDATE, "config": options})
    assert done.code == 0, done.err
    response = json.loads(done.out)
    assert 0 <= response["score"] <= 1
    assert score is None or response["score"] == pytest.approx(score)
    assert set(response) >= {"score", "hits", "misses", "reasoning", "details", "verdict"}


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"expected": EXPECTED, "candidate": CANDIDATE}, id="values"),
        pytest.param(
            {"reference_answer": json.dumps(EXPECTED), "candidate_answer": json.dumps(CANDIDATE)},
            id="strings",
        ),
        pytest.param(
            {"expected": EXPECTED, "candidate_answer": f"```json\n{json.dumps(CANDIDATE)}\n```"},
            id="code-fence",
        ),
        pytest.param(
            {"expected": EXPECTED, "candidate": None, "candidate_answer": json.dumps(CANDIDATE)},
            id="string-and-null",
        ),
        pytest.param(
            {"expected_output": [{"role": "assistant", "content": EXPECTED}],
             "output": [{"role": "user", "content": "?"},
                        {"role": "assistant", "content": json.dumps(CANDIDATE)}]},
            id="messages",
        ),
        pytest.param(
            {"expected_output": [{"role": "assistant", "content": EXPECTED}],
             "output": json.dumps(CANDIDATE)}, id="messages-and-string",
        ),
    ],
)  # fmt: skip
def test_documents_are_read_from_all_supported_keys(run_judge, request_):
    done = run_judge("field_accuracy", {**request_, "config": FIELDS})
    assert done.code == 0, done.err
    assert json.loads(done.out)["hits"] == ["total"]


@pytest.mark.parametrize(
    ("candidate", "score"),
    [
        pytest.param({"candidate_answer": "no idea"}, 0.0, id="not-json"),
        pytest.param({"candidate": None, "candidate_answer": ""}, 0.0, id="empty-string"),
        pytest.param({}, 0.0, id="absent"),
    ],
)
def test_unreadable_candidate_is_a_result(run_judge, candidate, score):
    done = run_judge("field_accuracy", {"expected": EXPECTED, **candidate, "config": FIELDS})
    assert done.code == 0, done.err
    assert json.loads(done.out)["score"] == score


def test_config_of_a_request_overrides_the_options(run_judge, folder):
    (folder / "options.yaml").write_text("fields:\n  - {path: vendor}\n", "utf-8")
    request = {"expected": EXPECTED, "candidate": CANDIDATE}
    assert (
        json.loads(run_judge("field_accuracy", request, "--options", "options.yaml").out)["score"]
        == 0
    )
    request["config"] = {"fields": [{"path": "total"}]}
    assert (
        json.loads(run_judge("field_accuracy", request, "--options", "options.yaml").out)["score"]
        == 1
    )


@pytest.mark.parametrize(
    ("name", "request_", "message"),
    [
        pytest.param("field_acuracy", {"expected": 1}, "did you mean 'field_accuracy'?", id="unknown-evaluator"),
        pytest.param("field_accuracy", {"expected": 1}, "option 'fields' is required for field_accuracy", id="missing-option"),
        pytest.param("field_accuracy", {"expected": 1, "config": {"fields": [{"pth": "a"}]}}, "pth", id="unknown-key"),
        pytest.param("field_accuracy", {"expected": 1, "config": []}, "config must be an object", id="config-not-an-object"),
        pytest.param("field_accuracy", b"[]", "must be an object", id="not-an-object"),
        pytest.param("field_accuracy", b"", "request: invalid JSON: empty", id="empty-request"),
        pytest.param("field_accuracy", b'{"expected": NaN}', "not a finite number", id="nan"),
        pytest.param("field_accuracy", b'{"expected": 1, "expected": 2}', "duplicate key 'expected'", id="duplicate-key"),
    ],
)  # fmt: skip
def test_invalid_request_gets_no_response(run_judge, name, request_, message):
    done = run_judge(name, request_)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_request_without_ground_truth_is_an_evaluation_error(run_judge):
    done = run_judge("field_accuracy", {"candidate": 1, "config": FIELDS})
    assert (done.code, done.out) == (3, "")
    assert "the request has no ground truth" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param("{", "--options", id="invalid-json"),
        pytest.param("missing.yaml", "missing.yaml: file not found", id="missing-file"),
    ],
)
def test_invalid_options_are_rejected(run_judge, options, message):
    done = run_judge("field_accuracy", {"expected": 1}, "--options", options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_lines_are_judged_separately_and_an_invalid_line_has_no_score(run_judge):
    good = {"case_id": "a", "expected": EXPECTED, "candidate": CANDIDATE, "config": FIELDS}
    lines = b"\n".join([json.dumps(good).encode(), b"oops", json.dumps(good).encode()]) + b"\n"
    done = run_judge("field_accuracy", lines, "--lines")
    responses = [json.loads(line) for line in done.out.splitlines()]
    assert [response["score"] for response in responses] == [0.5, None, 0.5]
    assert [response["status"] for response in responses] == ["ok", "error", "ok"]
    assert responses[0]["case_id"] == "a"


@pytest.mark.parametrize("protocol", ["process", "lines"])
def test_command_works_as_a_code_judge(protocol):
    words = (str(COMMAND), "judge", "field_accuracy", *(["--lines"] * (protocol == "lines")))
    judge = CodeJudge(script=words, protocol=protocol, config=FIELDS, timeout=TIMEOUT)
    assert judge.unready() is None
    with judge.opened() as score_case:
        result = score_case(Case("a", EXPECTED, CANDIDATE))
        bad = score_case(Case("b", EXPECTED, "no JSON"))
    assert (result.score, result.hits) == (0.5, ("total",))
    assert (bad.status, bad.score) == (Status.OK, 0.0)


def test_command_reads_from_a_pipe():
    request = json.dumps({"expected": EXPECTED, "candidate": CANDIDATE, "config": FIELDS}).encode()
    done = fieldmark("judge", "field-accuracy", stdin=request)
    assert (done.code, json.loads(done.out)["score"], done.err) == (0, 0.5, "")
