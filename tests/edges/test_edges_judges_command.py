"""`fieldmark judge`: a built-in evaluator answers like a code judge, or fails with an exit code."""

from __future__ import annotations

import io
import json
import sys

import pytest

from fieldmark.evaluators.base import Status
from fieldmark.judges.code_judge import CodeJudge
from fieldmark.model.case import Case
from published.command_line import COMMAND, fieldmark

FIELDS = {"fields": [{"path": "total"}, {"path": "vendor", "match": "fuzzy"}]}
EXPECTED = {"total": 10, "vendor": "Acme Corp", "lines": [{"description": "Bolt", "amount": 2}]}
CANDIDATE = {"total": 10, "vendor": "Zenith", "lines": [{"description": "Bolt", "amount": 2}]}


@pytest.fixture
def ask(command, monkeypatch):
    """Gives a request to the command and reads its reply, in this process."""

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
def test_each_evaluator_answers(ask, name):
    options, score = OPTIONS[name]
    done = ask(name, {"expected": EXPECTED, "candidate": CANDIDATE, "config": options})
    assert done.code == 0, done.err
    reply = json.loads(done.out)
    assert 0 <= reply["score"] <= 1
    assert score is None or reply["score"] == pytest.approx(score)
    assert set(reply) >= {"score", "hits", "misses", "reasoning", "details", "verdict"}


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"expected": EXPECTED, "candidate": CANDIDATE}, id="values"),
        pytest.param(
            {"reference_answer": json.dumps(EXPECTED), "candidate_answer": json.dumps(CANDIDATE)},
            id="texts",
        ),
        pytest.param(
            {"expected": EXPECTED, "candidate_answer": f"```json\n{json.dumps(CANDIDATE)}\n```"},
            id="a-fenced-text",
        ),
        pytest.param(
            {"expected": EXPECTED, "candidate": None, "candidate_answer": json.dumps(CANDIDATE)},
            id="a-text-beside-null",
        ),
        pytest.param(
            {"expected_output": [{"role": "assistant", "content": EXPECTED}],
             "output": [{"role": "user", "content": "?"},
                        {"role": "assistant", "content": json.dumps(CANDIDATE)}]},
            id="messages",
        ),
        pytest.param(
            {"expected_output": [{"role": "assistant", "content": EXPECTED}],
             "output": json.dumps(CANDIDATE)}, id="messages-and-a-text",
        ),
    ],
)  # fmt: skip
def test_both_sides_are_found_by_the_names_that_hosts_use(ask, request_):
    done = ask("field_accuracy", {**request_, "config": FIELDS})
    assert done.code == 0, done.err
    assert json.loads(done.out)["hits"] == ["total"]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        pytest.param({"candidate_answer": "no idea"}, 0.0, id="text-that-is-no-json"),
        pytest.param({"candidate": None, "candidate_answer": ""}, 0.0, id="nothing"),
        pytest.param({}, 0.0, id="nothing-said-at-all"),
    ],
)
def test_a_candidate_that_cannot_be_read_is_a_result(ask, answer, outcome):
    done = ask("field_accuracy", {"expected": EXPECTED, **answer, "config": FIELDS})
    assert done.code == 0, done.err
    assert json.loads(done.out)["score"] == outcome


def test_the_config_of_a_request_wins_over_the_options(ask, folder):
    (folder / "options.yaml").write_text("fields:\n  - {path: vendor}\n", "utf-8")
    request = {"expected": EXPECTED, "candidate": CANDIDATE}
    assert json.loads(ask("field_accuracy", request, "--options", "options.yaml").out)["score"] == 0
    request["config"] = {"fields": [{"path": "total"}]}
    assert json.loads(ask("field_accuracy", request, "--options", "options.yaml").out)["score"] == 1


@pytest.mark.parametrize(
    ("name", "request_", "said"),
    [
        pytest.param("field_acuracy", {"expected": 1}, "Did you mean field_accuracy?", id="no-such-evaluator"),
        pytest.param("field_accuracy", {"expected": 1}, "needs the option fields", id="an-option-is-missing"),
        pytest.param("field_accuracy", {"expected": 1, "config": {"fields": [{"pth": "a"}]}}, "pth", id="a-key-nobody-knows"),
        pytest.param("field_accuracy", {"expected": 1, "config": []}, "config of a request", id="a-config-that-is-none"),
        pytest.param("field_accuracy", {"candidate": 1, "config": FIELDS}, "holds no expected", id="no-truth"),
        pytest.param("field_accuracy", b"[]", "must be an object", id="no-object"),
        pytest.param("field_accuracy", b"", "not JSON", id="no-request"),
        pytest.param("field_accuracy", b'{"expected": NaN}', "not a finite number", id="not-a-number"),
        pytest.param("field_accuracy", b'{"expected": 1, "expected": 2}', "twice", id="a-key-twice"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_has_no_reply(ask, name, request_, said):
    done = ask(name, request_)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param("{", "--options", id="half-an-object"),
        pytest.param("missing.yaml", "missing.yaml: Cannot be read", id="a-missing-file"),
    ],
)
def test_options_that_cannot_be_read_are_refused(ask, options, said):
    done = ask("field_accuracy", {"expected": 1}, "--options", options)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_lines_are_answered_one_by_one_and_a_bad_one_has_no_score(ask):
    good = {"case_id": "a", "expected": EXPECTED, "candidate": CANDIDATE, "config": FIELDS}
    lines = b"\n".join([json.dumps(good).encode(), b"oops", json.dumps(good).encode()]) + b"\n"
    done = ask("field_accuracy", lines, "--lines")
    replies = [json.loads(line) for line in done.out.splitlines()]
    assert [reply["score"] for reply in replies] == [0.5, None, 0.5]
    assert [reply["status"] for reply in replies] == ["ok", "error", "ok"]
    assert replies[0]["case_id"] == "a"


@pytest.mark.parametrize("protocol", ["process", "lines"])
def test_the_command_is_a_code_judge(protocol):
    words = (str(COMMAND), "judge", "field_accuracy", *(["--lines"] * (protocol == "lines")))
    judge = CodeJudge(script=words, protocol=protocol, config=FIELDS)
    assert judge.unready() is None
    with judge.opened() as judging:
        said = judging(Case("a", EXPECTED, CANDIDATE))
        bad = judging(Case("b", EXPECTED, "no JSON"))
    assert (said.score, said.hits) == (0.5, ("total",))
    assert (bad.status, bad.score) == (Status.OK, 0.0)


def test_the_command_reads_a_pipe():
    request = json.dumps({"expected": EXPECTED, "candidate": CANDIDATE, "config": FIELDS}).encode()
    done = fieldmark("judge", "field-accuracy", stdin=request)
    assert (done.code, json.loads(done.out)["score"], done.err) == (0, 0.5, "")
