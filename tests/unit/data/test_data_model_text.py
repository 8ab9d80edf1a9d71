"""Model text: the one JSON value in it, or a parse error."""

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
        pytest.param(" 42 \n", 42, "", id="a-strict-scalar"),
        pytest.param('```json\n{"a": 1}\n```', {"a": 1}, "fence", id="a-fence"),
        pytest.param("Here:\n```\n[1]\n```\nDone.", [1], "fence", id="a-fence-amid-prose"),
        pytest.param('```JSON {"a": 1}```', {"a": 1}, "fence", id="a-fence-on-one-line"),
        pytest.param('Sure! {"a": {"b": "}"}} Bye', {"a": {"b": "}"}}, "text", id="bare-json"),
        pytest.param('I [sic] say {"a": "x:{y"}', {"a": "x:{y"}, "text", id="remarks-in-brackets"),
        pytest.param('{"a": "\\ud800"} ok', {"a": "\ud800"}, "text", id="a-lone-surrogate"),
        pytest.param('\ud800 {"a": 1}', {"a": 1}, "text", id="a-lone-surrogate-around-it"),
        pytest.param('```json\n{"a": "```"}\n```', {"a": "```"}, "fence", id="a-fence-in-a-text"),
        pytest.param('```json\n{"a": 1}', {"a": 1}, "text", id="an-unclosed-fence"),
        pytest.param('```json\n{"a": 1}\n', {"a": 1}, "text", id="an-unclosed-fence-and-a-blank"),
        pytest.param("```\n[1]\nDone. ```", [1], "text", id="prose-before-the-closing-fence"),
        pytest.param('{"a": 1}\n```', {"a": 1}, "text", id="an-unopened-fence"),
        pytest.param('```json\nHere: {"a": 1}\n```', {"a": 1}, "text", id="prose-in-a-fence"),
    ],
)
def test_one_value_is_found(text, value, parsed_from):
    assert parse_model_text(text, CANDIDATE) == (value, parsed_from)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("no json here", "no JSON object or array", id="prose"),
        pytest.param("", "no JSON object or array", id="nothing"),
        pytest.param('{"a": 1} and {"b": 2}', "2 JSON values", id="two-bare-values"),
        pytest.param('```json\n{"a":1}\n```\n```json\n{"a":2}\n```', "2 JSON", id="two-fences"),
        pytest.param('{"a":1}\n```json\n{"a":1}\n```', "2 JSON", id="one-bare-and-one-fenced"),
        pytest.param('x {"a": 1, "a": 2}', "occurs twice", id="a-duplicate-key"),
        pytest.param('{"a": 1, "a": 2}', "occurs twice", id="a-duplicate-key-in-strict-json"),
        pytest.param('{"items": [{"a": 1}, {"b"', "too early", id="a-truncated-answer"),
        pytest.param('{"items": [{"a": 1}', "too early", id="no-part-of-a-truncated-answer"),
        pytest.param('x {"a": 1,}', "not JSON", id="a-trailing-comma"),
        pytest.param("x " + "[" * 300 + "]" * 300, "200 levels", id="too-deep"),
    ],
)
def test_anything_else_is_a_parse_error(text, said):
    with pytest.raises(DataError, match=said):
        parse_model_text(text, CANDIDATE)


@pytest.mark.parametrize("text", ['```json\n{"a": 1}\n```', 'x {"a": 1}'])
def test_strict_takes_only_json(text):
    with pytest.raises(DataError):
        parse_model_text(text, CANDIDATE, "strict")
    assert parse_model_text('{"a": 1}', CANDIDATE, "strict").value == {"a": 1}


@pytest.mark.parametrize("text", ["[" * 10**6, '{"' * 10**5, "[1] " * 10**5, '"' * 10**6 + "{"])
def test_hostile_text_takes_no_long_time(text):
    start = time.process_time()
    with pytest.raises(DataError):
        parse_model_text(text, CANDIDATE)
    assert time.process_time() - start < 5


@given(st.text(st.sampled_from('[]{}",:\\ a1`\n'), max_size=60))
def test_any_text_gives_a_value_or_a_data_error(text):
    with contextlib.suppress(DataError):
        parse_model_text(text, CANDIDATE)
