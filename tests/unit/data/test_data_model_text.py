"""The JSON value in model output, or a parse error."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.data.inputs import Role
from fieldmark.data.json_parser import JsonDialect
from fieldmark.data.model_text import parse_model_text
from fieldmark.errors import DataError

CANDIDATE = JsonDialect(role=Role.CANDIDATE)


@pytest.mark.parametrize(
    ("text", "value", "parsed_from"),
    [
        pytest.param('{"a": 1}', {"a": 1}, "", id="strict-json"),
        pytest.param(" 42 \n", 42, "", id="strict-scalar"),
        pytest.param('```json\n{"a": 1}\n```', {"a": 1}, "fence", id="fence"),
        pytest.param("Here:\n```\n[1]\n```\nDone.", [1], "fence", id="fence-amid-prose"),
        pytest.param('```JSON {"a": 1}```', {"a": 1}, "fence", id="fence-on-one-line"),
        pytest.param('Sure! {"a": {"b": "}"}} Bye', {"a": {"b": "}"}}, "text", id="bare-json"),
        pytest.param('I [sic] say {"a": "x:{y"}', {"a": "x:{y"}, "text", id="remarks-in-brackets"),
        pytest.param('{"a": "\\ud800"} ok', {"a": "\ud800"}, "text", id="lone-surrogate"),
        pytest.param('\ud800 {"a": 1}', {"a": 1}, "text", id="lone-surrogate-around-it"),
        pytest.param('```json\n{"a": "```"}\n```', {"a": "```"}, "fence", id="fence-in-a-text"),
        pytest.param('```json\n{"a": 1}', {"a": 1}, "text", id="unclosed-fence"),
        pytest.param('```json\n{"a": 1}\n', {"a": 1}, "text", id="unclosed-fence-and-whitespace"),
        pytest.param("```\n[1]\nDone. ```", [1], "text", id="prose-before-the-closing-fence"),
        pytest.param('{"a": 1}\n```', {"a": 1}, "text", id="unopened-fence"),
        pytest.param('```json\nHere: {"a": 1}\n```', {"a": 1}, "text", id="prose-in-a-fence"),
    ],
)
def test_one_value_is_found(text, value, parsed_from):
    assert parse_model_text(text, CANDIDATE) == (value, parsed_from)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("no json here", "no JSON object or array", id="prose"),
        pytest.param("", "no JSON object or array", id="nothing"),
        pytest.param('{"a": 1} and {"b": 2}', "2 JSON values", id="two-bare-values"),
        pytest.param('```json\n{"a":1}\n```\n```json\n{"a":2}\n```', "2 JSON", id="two-fences"),
        pytest.param('{"a":1}\n```json\n{"a":1}\n```', "2 JSON", id="one-bare-and-one-fenced"),
        pytest.param('x {"a": 1, "a": 2}', "duplicate key", id="duplicate-key"),
        pytest.param('{"a": 1, "a": 2}', "duplicate key", id="duplicate-key-in-strict-json"),
        pytest.param('{"items": [{"a": 1}, {"b"', "incomplete", id="truncated-output"),
        pytest.param('{"items": [{"a": 1}', "incomplete", id="incomplete-list"),
        pytest.param('x {"a": 1,}', "invalid JSON", id="trailing-comma"),
        pytest.param("x " + "[" * 300 + "]" * 300, "200 levels", id="too-deep"),
    ],
)
def test_other_text_is_a_parse_error(text, message):
    with pytest.raises(DataError, match=message):
        parse_model_text(text, CANDIDATE)


@pytest.mark.parametrize("text", ['```json\n{"a": 1}\n```', 'x {"a": 1}'])
def test_strict_accepts_only_json(text):
    with pytest.raises(DataError):
        parse_model_text(text, CANDIDATE, "strict")
    assert parse_model_text('{"a": 1}', CANDIDATE, "strict").value == {"a": 1}


@pytest.mark.parametrize("text", ["[" * 10**6, '{"' * 10**5, "[1] " * 10**5, '"' * 10**6 + "{"])
def test_hostile_text_is_parsed_quickly(text):
    start = time.process_time()
    with pytest.raises(DataError):
        parse_model_text(text, CANDIDATE)
    assert time.process_time() - start < 5


@given(st.text(st.sampled_from('[]{}",:\\ a1`\n'), max_size=60))
def test_any_text_is_parsed_or_a_data_error(text):
    with contextlib.suppress(DataError):
        parse_model_text(text, CANDIDATE)
