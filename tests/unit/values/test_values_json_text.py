"""JSON text that every parser accepts."""

from __future__ import annotations

import json

import pytest

from fieldmark.values.json_text import finite_json, pretty_json, read_json, strict_json


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"a": [1, "ü"]}, id="plain"),
        pytest.param({"a": 10**30}, id="long-integer"),
        pytest.param(["\ud800"], id="lone-surrogate"),
    ],
)
def test_written_values_are_read_again(value):
    for write in (strict_json, finite_json, pretty_json):
        assert json.loads(write(value)) == value


def test_numbers_and_strings_are_read_again():
    value = {"a": [1, 0.1, None, True, "ü\ud800"]}
    assert read_json(strict_json(value)) == value


@pytest.mark.parametrize("value", [{"a": [1]}, {"a": [10**30]}], ids=["plain", "long-integer"])
def test_pretty_json_is_indented_and_ends_with_a_newline(value):
    assert pretty_json(value).decode("ascii") == json.dumps(value, indent=2) + "\n"


def test_non_finite_numbers_are_named():
    assert json.loads(finite_json([float("nan"), float("-inf")])) == ["NaN", "-Infinity"]
