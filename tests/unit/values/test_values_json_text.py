"""JSON text that every parser accepts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from fieldmark.values.json_text import (
    finite_json,
    pretty_json,
    read_document,
    read_json,
    strict_json,
)
from json_strategies import any_json


@given(any_json)
def test_every_value_is_read_as_it_was_written(value):
    """Also the types of numbers and the order of keys."""
    for write in (strict_json, finite_json, pretty_json):
        assert json.dumps(read_json(write(value))) == json.dumps(value)


@pytest.mark.parametrize(
    "number",
    [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, -(2**64), 10**30, 1e19, 1e30, 0.1234567890123456789],
)  # fmt: skip
@pytest.mark.parametrize("place", ["{}", "[{}]", "[1,{}]", '{{"a":{}}}', '{{"a": {}}}', "[ {} ]"])
def test_numbers_are_exact_wherever_they_are(number, place):
    text = place.format(json.dumps(number))
    assert json.dumps(read_json(text.encode())) == json.dumps(json.loads(text))


@pytest.mark.parametrize("value", [{"a": [1]}, {"a": [10**30]}], ids=["plain", "long-integer"])
def test_pretty_json_is_indented_and_ends_with_a_newline(value):
    assert pretty_json(value).decode("ascii") == json.dumps(value, indent=2) + "\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("{", "invalid JSON: ", id="invalid"),
        pytest.param("[1]", "expected a JSON object", id="list"),
        pytest.param('{"a":' * 101 + "1" + "}" * 101, "nested more than 100 levels", id="deep"),
    ],
)
def test_document_that_cannot_be_read(text, problem):
    with pytest.raises(ValueError, match=problem):
        read_document(text.encode())


def test_deepest_document_is_read():
    text = '{"a":' * 100 + "1" + "}" * 100
    assert read_document(text.encode()) == json.loads(text)


def test_non_finite_numbers_are_named():
    assert json.loads(finite_json([float("nan"), float("-inf")])) == ["NaN", "-Infinity"]
