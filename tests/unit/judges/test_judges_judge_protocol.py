"""The judge protocol: the request holds the whole case, and the reply is parsed strictly."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given

from fieldmark.judges.judge_protocol import encode_request, judge_request
from fieldmark.model.case import Case, CaseContext, CaseInput
from fieldmark.model.json import MISSING
from json_strategies import any_json
from unit.judges.lab import judged

CONTEXT = CaseContext(input={"file": "a.pdf"}, metadata={"source": "mail"})
CASE = Case("a-1", {"total": 1}, {"total": 2}, context=CONTEXT)


def test_the_keys_of_a_request():
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
        pytest.param(Case("a", {}, "plain"), "plain", "plain", id="text-stays-text"),
        pytest.param(Case("a", {}, None), None, "null", id="null-is-a-value"),
        pytest.param(Case("a", {}), None, "", id="none-is-no-text"),
        pytest.param(Case("a", {}, [1, True]), [1, True], "[1, true]", id="a-list-as-json"),
        pytest.param(
            Case("a", {}, {"x": 1}, context=CaseContext(text='```{"x":1}```')),
            {"x": 1}, '```{"x":1}```', id="text-as-it-was-written",
        ),
        pytest.param(
            Case("a", {}, MISSING, CaseInput.PARSE_ERROR, context=CaseContext(text="sorry")),
            None, "sorry", id="text-that-could-not-be-read",
        ),
    ],
)  # fmt: skip
def test_a_candidate_is_there_as_value_and_as_text(case, candidate, text):
    request = judge_request(case, {})
    assert (request["candidate"], request["candidate_answer"]) == (candidate, text)
    assert request["output"] == text


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        pytest.param(MISSING, "", id="nothing-was-asked"),
        pytest.param("What is the total?", "What is the total?", id="a-text"),
        pytest.param([{"role": "user", "content": "Hi"}], "Hi", id="a-message"),
        pytest.param(
            [{"role": "system", "content": "s"}, {"role": "user", "content": "a"},
             {"role": "user", "content": "b"}], "a\nb", id="what-the-user-says",
        ),
        pytest.param([1, 2], "[1, 2]", id="something-else"),
    ],
)  # fmt: skip
def test_the_question_is_text(asked, question):
    case = Case("a", {}, {}, context=CaseContext(input=asked))
    assert judge_request(case, {})["question"] == question


@given(any_json, any_json)
def test_a_request_is_one_line_of_strict_ascii_json(expected, candidate):
    request = judge_request(Case("é\ud800\n", expected, candidate), {"a": expected})
    raw = encode_request(request)
    assert b"\n" not in raw
    assert json.loads(raw.decode("ascii"), parse_constant=pytest.fail) == request


@pytest.mark.parametrize(
    ("number", "name"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")]
)
def test_a_number_that_json_does_not_have_is_written_as_its_name(number, name):
    request = json.loads(encode_request(judge_request(Case("a", {}, {"x": [number]}), {})))
    assert request["candidate"] == {"x": [name]}
    assert request["candidate_answer"] == f'{{"x": ["{name}"]}}'


def test_the_program_reads_what_was_asked():
    config = {"Max-Gap": 3, "fields": [{"path": "a.b", "Ünïcode": "\ud800"}]}
    said = judged("answer", case=CASE, config=config)
    assert said.details == judge_request(CASE, config)


@pytest.mark.parametrize(
    "name", ["; touch canary", "$(touch canary)", "`touch canary`", "-c", "../x"]
)
def test_nothing_of_a_case_becomes_part_of_the_command(name, tmp_path):
    case = Case(name, {name: name}, {name: name})
    said = judged("surroundings", case=case, cwd=tmp_path, config={name: name})
    assert said.details["argv"] == ["surroundings"]
    assert not list(tmp_path.iterdir())
