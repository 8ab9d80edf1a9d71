"""The judge protocol: the request contains the whole case, and the response is parsed strictly."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given

from fieldmark.evaluators.base import Status
from fieldmark.judges.judge_protocol import (
    InvalidResponseError,
    encode_request,
    judge_request,
    parse_response,
)
from fieldmark.model.case import Case, CaseContext, CaseInput, Verdict
from fieldmark.model.json import MISSING
from json_strategies import any_json
from unit.judges.judge_processes import judge_case

CONTEXT = CaseContext(input={"file": "a.pdf"}, metadata={"source": "mail"})
CASE = Case("a-1", {"total": 1}, {"total": 2}, context=CONTEXT)


def test_request_contains_all_keys():
    assert judge_request(CASE, {"max gap": 3, "Fields": [{"PATH": "x"}]}) == {
        "candidate_answer": '{"total": 2}',
        "reference_answer": '{"total": 1}',
        "expected": {"total": 1},
        "candidate": {"total": 2},
        "question": '{"file": "a.pdf"}',
        "case_id": "a-1",
        "input": [{"role": "user", "content": '{"file": "a.pdf"}'}],
        "metadata": {"source": "mail"},
        "config": {"max gap": 3, "Fields": [{"PATH": "x"}]},
        "answer": '{"total": 2}',
        "output": [{"role": "assistant", "content": '{"total": 2}'}],
        "expected_output": [{"role": "assistant", "content": '{"total": 1}'}],
        "expected_messages": [{"role": "assistant", "content": {"total": 1}}],
        "input_messages": [{"role": "user", "content": {"file": "a.pdf"}}],
        "input_files": [],
        "guideline_files": [],
        "criteria": "",
        "expected_outcome": "",
    }


@pytest.mark.parametrize(
    ("metadata", "criteria"),
    [
        pytest.param({"criteria": "All totals."}, "All totals.", id="criteria"),
        pytest.param({"expected_outcome": "All totals."}, "All totals.", id="expected-outcome"),
        pytest.param({"criteria": ["a"]}, "", id="not-a-string"),
        pytest.param(None, "", id="no-metadata"),
    ],
)
def test_criteria_are_sent_under_both_names(metadata, criteria):
    request = judge_request(Case("a", {}, {}, context=CaseContext(metadata=metadata)), {})
    assert (request["criteria"], request["expected_outcome"]) == (criteria, criteria)


CONVERSATION = [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}]


@pytest.mark.parametrize(
    ("case_input", "messages"),
    [
        pytest.param(MISSING, [], id="no-input"),
        pytest.param("Read.", [{"role": "user", "content": "Read."}], id="string"),
        pytest.param(CONVERSATION, CONVERSATION, id="messages"),
        pytest.param(
            [{"role": "user"}, 1],
            [{"role": "user", "content": '[{"role": "user"}, 1]'}],
            id="mixed",
        ),
        pytest.param({"a": 1}, [{"role": "user", "content": {"a": 1}}], id="object"),
        pytest.param([{"a": 1}], [{"role": "user", "content": [{"a": 1}]}], id="objects"),
        pytest.param(7, [{"role": "user", "content": "7"}], id="number"),
        pytest.param([], [{"role": "user", "content": "[]"}], id="empty-list"),
    ],
)
def test_input_is_sent_as_messages(case_input, messages):
    case = Case("a", {}, {}, context=CaseContext(input=case_input))
    assert judge_request(case, {})["input_messages"] == messages


PARTS = [
    {"type": "file", "value": "a.json"},
    {"type": "text", "value": "Read."},
    {"type": "image", "path": "a.png"},
    {"type": "text", "text": "All."},
]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("Read.", "Read.", id="string"),
        pytest.param(PARTS, "Read.\nAll.", id="parts"),
        pytest.param(PARTS[:1], "", id="only-a-file"),
        pytest.param([{"type": "video"}], '[{"type": "video"}]', id="unknown-part"),
        pytest.param([{"type": "text"}], "", id="part-without-text"),
        pytest.param({"type": "text"}, '{"type": "text"}', id="object"),
        pytest.param(None, "null", id="null"),
    ],
)
def test_messages_are_also_sent_as_text(content, text):
    messages = [{"role": "user", "content": content, "name": "n"}, {"role": "tool"}]
    request = judge_request(Case("a", {}, {}, context=CaseContext(input=messages)), {})
    assert request["input"] == [{"role": "user", "content": text}, {"role": "tool", "content": ""}]
    assert request["input_messages"] == messages
    assert request["question"] == text


@pytest.mark.parametrize(
    ("key", "metadata", "case_input", "names"),
    [
        pytest.param("input_files", {}, "a.json", [], id="no-files"),
        pytest.param("input_files", {"input_files": ["a.json", 1]}, MISSING, ["a.json"], id="metadata"),
        pytest.param("input_files", {"input_files": "a.json"}, MISSING, [], id="no-list"),
        pytest.param(
            "input_files", {"input_files": ["b.json", "a.json"]}, [{"role": "user", "content": PARTS}],
            ["a.json", "b.json"], id="messages",
        ),
        pytest.param("guideline_files", {"guideline_files": ["g.md"]}, MISSING, ["g.md"], id="guidelines"),
        pytest.param("guideline_files", {}, [{"role": "user", "content": PARTS}], [], id="no-guidelines"),
    ],
)  # fmt: skip
def test_names_of_files_are_sent(key, metadata, case_input, names):
    context = CaseContext(input=case_input, metadata=metadata)
    assert judge_request(Case("a", {}, {}, context=context), {})[key] == names


def test_missing_documents_are_no_messages():
    request = judge_request(Case("a", None), {})
    assert [request[key] for key in ("output", "expected_output", "expected_messages")] == [[]] * 3


@pytest.mark.parametrize(
    ("case", "candidate", "text"),
    [
        pytest.param(Case("a", {}, "plain"), "plain", "plain", id="string"),
        pytest.param(Case("a", {}, None), None, "null", id="null"),
        pytest.param(Case("a", {}), None, "", id="absent"),
        pytest.param(Case("a", {}, [1, True]), [1, True], "[1, true]", id="array"),
        pytest.param(
            Case("a", {}, {"x": 1}, context=CaseContext(text='```{"x":1}```')),
            {"x": 1}, '```{"x":1}```', id="original-text",
        ),
        pytest.param(
            Case("a", {}, MISSING, CaseInput.PARSE_ERROR, context=CaseContext(text="sorry")),
            None, "sorry", id="unreadable-text",
        ),
    ],
)  # fmt: skip
def test_candidate_is_sent_as_value_and_as_string(case, candidate, text):
    request = judge_request(case, {})
    assert (request["candidate"], request["candidate_answer"]) == (candidate, text)
    assert request["answer"] == text
    is_missing = case.candidate is MISSING and not text
    assert request["output"] == ([] if is_missing else [{"role": "assistant", "content": text}])


@pytest.mark.parametrize(
    ("case_input", "question"),
    [
        pytest.param(MISSING, "", id="no-input"),
        pytest.param("What is the total?", "What is the total?", id="string"),
        pytest.param([{"role": "user", "content": "Hi"}], "Hi", id="message"),
        pytest.param(
            [{"role": "system", "content": "s"}, {"role": "user", "content": "a"},
             {"role": "user", "content": "b"}], "a\nb", id="only-user-messages",
        ),
        pytest.param([1, 2], "[1, 2]", id="other-json"),
    ],
)  # fmt: skip
def test_question_is_a_string(case_input, question):
    case = Case("a", {}, {}, context=CaseContext(input=case_input))
    assert judge_request(case, {})["question"] == question


@given(any_json, any_json)
def test_request_is_one_line_of_strict_ascii_json(expected, candidate):
    request = judge_request(Case("é\ud800\n", expected, candidate), {"a": expected})
    raw = encode_request(request)
    assert b"\n" not in raw
    assert json.loads(raw.decode("ascii"), parse_constant=pytest.fail) == request


@pytest.mark.parametrize(
    ("number", "name"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")]
)
def test_non_finite_number_is_sent_as_a_string(number, name):
    request = json.loads(encode_request(judge_request(Case("a", {}, {"x": [number]}), {})))
    assert request["candidate"] == {"x": [name]}
    assert request["candidate_answer"] == f'{{"x": ["{name}"]}}'


def test_program_receives_the_request():
    config = {"Max-Gap": 3, "fields": [{"path": "a.b", "Ünïcode": "\ud800"}]}
    result = judge_case("echo", case=CASE, config=config)
    assert result.details == judge_request(CASE, config)


@pytest.mark.parametrize(
    "name", ["; touch canary", "$(touch canary)", "`touch canary`", "-c", "../x"]
)
def test_case_data_never_becomes_part_of_the_command(name, tmp_path):
    case = Case(name, {name: name}, {name: name})
    result = judge_case("environment", case=case, cwd=tmp_path, config={name: name})
    assert result.details["argv"] == ["environment"]
    assert not list(tmp_path.iterdir())


# --- responses ------------------------------------------------------------------------------------


def encoded(response):
    return response.encode() if isinstance(response, str) else response


@pytest.mark.parametrize(
    ("response", "score"),
    [
        pytest.param('{"score": 0}', 0.0, id="score-zero"),
        pytest.param('{"score": -0.0}', 0.0, id="negative-zero"),
        pytest.param('{"score": 5e-1}', 0.5, id="exponent"),
        pytest.param(' \n\t{"score": 1}\r\n\n', 1.0, id="surrounding-whitespace"),
        pytest.param('{\n  "score":\n 1\n}', 1.0, id="several-lines"),
        pytest.param('{"score": 1, "verdict": "fail", "x": [1]}', 1.0, id="unknown-keys"),
    ],
)  # fmt: skip
def test_valid_response_is_a_score(response, score):
    found = parse_response(encoded(response), 0.8)
    assert (found.score, found.status) == (score, Status.OK)
    assert found.verdict is (Verdict.PASS if score >= 0.8 else Verdict.FAIL)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        pytest.param(" \n \n", "no response on standard output", id="only-whitespace"),
        pytest.param("1.0", "must be an object, got a number", id="number"),
        pytest.param("[1]", "must be an object, got an array", id="array"),
        pytest.param('"score: 1"', "must be an object, got a string", id="string"),
        pytest.param('{"score": 1', "incomplete JSON", id="incomplete"),
        pytest.param('{"score": 1} // fine', "single JSON object without other text", id="comment"),
        pytest.param('```json\n{"score": 1}\n```', "not valid JSON", id="code-fence"),
        pytest.param('Score:\n{"score": 1}', "not valid JSON", id="text-before"),
        pytest.param('{"score": 1}\ndone', "single JSON object without other text", id="text-after"),
        pytest.param('{"score": 1}{"score": 1}', "single JSON object without other text", id="two-objects"),
        pytest.param(b'{"score": 1}\0', "single JSON object without other text", id="trailing-nul"),
        pytest.param('{"score": 01}', "not valid JSON", id="leading-zero"),
        pytest.param('{"score": 1, "details": {"a": 1, "a": 2}}', "duplicate key", id="duplicate-nested-key"),
        pytest.param('{"score": 1}'.encode("utf-16"), "not UTF-8", id="utf-16"),
        pytest.param('\ufeff{"score": 1}'.encode(), "starts with a byte order mark", id="byte-order-mark"),
        pytest.param('{"score": 1, "reasoning": "a\nb"}', "not valid JSON", id="line-break-in-string"),
        pytest.param("{}", "no score", id="no-score"),
        pytest.param('{"score": null}', "score must be a number, got null", id="score-null"),
        pytest.param('{"score": "0.9"}', "score must be a number, got a string", id="score-string"),
        pytest.param('{"score": true}', "score must be a number, got a boolean", id="score-true"),
        pytest.param('{"score": -0.1}', "score must be between 0 and 1", id="negative-score"),
        pytest.param('{"score": NaN}', "NaN, which is not a finite number", id="nan"),
        pytest.param('{"score": Infinity}', "Infinity, which is not", id="infinity"),
        pytest.param('{"score": 1e999}', "1e999, which is not", id="overflow"),
        pytest.param('{"score": 1, "details": {"x": -Infinity}}', "-Infinity, which", id="nested-infinity"),
        pytest.param('{"score": 1, "details": {"x": 1' + "0" * 1000 + "}}", "an integer with more than 1,000 digits", id="huge-integer"),
        pytest.param('{"score": 1, "hits": ["a", 1]}', "hits must contain only strings, got a number", id="hits-with-a-number"),
        pytest.param('{"score": 1, "reasoning": 7}', "reasoning must be a string", id="reasoning-number"),
        pytest.param('{"score": 1, "details": []}', "details must be an object, got an array", id="details-array"),
        pytest.param('{"score": 1, "details": null}', "details must be an object, got null", id="details-null"),
    ],
)  # fmt: skip
def test_invalid_response_is_an_error_with_the_reason(response, message):
    with pytest.raises(InvalidResponseError, match=message):
        parse_response(encoded(response), 0.8)


# --- responses with checks ------------------------------------------------------------------------

PASSED, FAILED = {"text": "total", "passed": True}, {"text": "date", "passed": False}


def parse(**response):
    return parse_response(json.dumps(response).encode(), 0.8)


@pytest.mark.parametrize(
    ("response", "score", "hits", "misses"),
    [
        pytest.param({"assertions": [PASSED, FAILED]}, 0.5, ("total",), ("date",), id="assertions"),
        pytest.param({"checks": [PASSED, FAILED]}, 0.5, ("total",), ("date",), id="checks"),
        pytest.param(
            {"checks": [{"text": "total", "pass": True, "reason": "equal"},
                        {"text": "date", "pass": False, "reason": "a year off"}]},
            0.5, ("total",), ("date (a year off)",), id="checks-with-pass-and-reason",
        ),
        pytest.param(
            {"checks": [{**PASSED, "score": 0.9}, {**FAILED, "score": 0.3}]},
            0.6, ("total",), ("date",), id="checks-with-scores",
        ),
        pytest.param(
            {"assertions": [{**FAILED, "evidence": "2024"}]}, 0, (), ("date (2024)",), id="evidence"
        ),
        pytest.param({"assertions": [PASSED, FAILED], "score": 0.9}, 0.9, ("total",), ("date",), id="own-score"),
        pytest.param({"assertions": [PASSED, FAILED], "misses": []}, 0.5, ("total",), (), id="own-misses"),
        pytest.param({"assertions": [], "score": 0.9}, 0.9, (), (), id="no-assertions-with-score"),
        pytest.param({"pass": True}, 1, (), (), id="only-pass"),
        pytest.param({"pass": False}, 0, (), (), id="only-fail"),
    ],
)  # fmt: skip
def test_checks_are_hits_misses_and_a_score(response, score, hits, misses):
    found = parse(**response)
    assert (found.score, found.hits, found.misses) == (pytest.approx(score), hits, misses)
    assert found.verdict is (Verdict.PASS if score >= 0.8 else Verdict.FAIL)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        pytest.param({"assertions": []}, "the response has no score", id="no-assertions"),
        pytest.param({"checks": [], "hits": ["a"]}, "the response has no score", id="no-checks"),
        pytest.param({"assertions": {"a": True}}, "assertions must be a list of objects, got an object", id="object"),
        pytest.param({"assertions": None}, "assertions must be a list of objects, got null", id="null"),
        pytest.param({"assertions": ["total"]}, "assertions must contain only objects, got a string", id="strings"),
        pytest.param({"assertions": [{"passed": True}]}, "assertions must contain objects with text and passed", id="no-text"),
        pytest.param({"checks": [{"text": "a"}]}, "checks must contain objects with text and passed", id="no-result"),
        pytest.param({"assertions": [{"text": 1, "passed": True}]}, "text must be a string, got a number", id="text-number"),
        pytest.param({"assertions": [{"text": "a", "passed": 1}]}, "passed must be true or false, got a number", id="passed-number"),
        pytest.param({"assertions": [{**PASSED, "evidence": []}]}, "evidence must be a string, got an array", id="evidence-array"),
        pytest.param({"checks": [{**PASSED, "score": 2}]}, "score in checks must be a number from 0 to 1", id="score-of-check"),
        pytest.param({"assertions": [PASSED], "checks": []}, "assertions and checks cannot be combined", id="both"),
        pytest.param({"assertions": [{"text": "a"}], "score": 1}, "assertions must contain objects with", id="invalid-with-score"),
        pytest.param({"score": 1, "pass": "yes"}, "pass must be true or false, got a string", id="pass-string"),
        pytest.param({"score": 1, "vacuous": 1}, "vacuous must be true or false, got a number", id="vacuous-number"),
        pytest.param({"score": 1, "reason": 1}, "reason must be a string, got a number", id="reason-number"),
    ],
)  # fmt: skip
def test_invalid_checks_are_an_error(response, message):
    with pytest.raises(InvalidResponseError, match=message):
        parse(**response)


@pytest.mark.parametrize(
    ("response", "verdict"),
    [
        pytest.param({"score": 0.9, "pass": False}, Verdict.FAIL, id="fail-above-threshold"),
        pytest.param({"score": 0.5, "pass": True}, Verdict.PASS, id="pass-below-threshold"),
    ],
)
def test_pass_decides_the_verdict(response, verdict):
    assert parse(**response).verdict is verdict


def test_reason_and_vacuous_are_read():
    assert parse(score=1, reason="all equal").reasoning == "all equal"
    assert parse(score=1, vacuous=True).vacuous
    assert not parse(score=1).vacuous
