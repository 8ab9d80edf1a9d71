"""The judge protocol: the request contains the whole case, and the response is parsed strictly."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given

from fieldmark.judges.judge_protocol import encode_request, judge_request
from fieldmark.model.case import Case, CaseContext, CaseInput
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
        "input": {"file": "a.pdf"},
        "metadata": {"source": "mail"},
        "config": {"max gap": 3, "Fields": [{"PATH": "x"}]},
        "output": '{"total": 2}',
        "expected_output": [{"role": "assistant", "content": {"total": 1}}],
    }


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
    assert request["output"] == text


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
