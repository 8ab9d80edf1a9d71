"""Strict JSON: rejected and reported violations, and agreement with the standard parser."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from fieldmark.values.json_text import (
    StrictJsonError,
    Violation,
    all_finite,
    nesting_exceeds,
    parse_strict,
    values_exceed,
)
from json_strategies import any_json


@pytest.mark.parametrize(
    ("text", "violation", "detail"),
    [
        pytest.param('{"a": 1, "b": 2, "a": 3}', Violation.DUPLICATE_KEY, "a", id="repeated-key"),
        pytest.param("[NaN]", Violation.NON_FINITE, "NaN", id="nan"),
        pytest.param("-Infinity", Violation.NON_FINITE, "-Infinity", id="infinity"),
        pytest.param("1e999", Violation.NON_FINITE, "1e999", id="out-of-range"),
        pytest.param("-1234", Violation.INTEGER_LENGTH, "-1234", id="long-integer"),
        pytest.param("[[[[]]]]", Violation.DEPTH, "", id="deep"),
    ],
)
def test_violation_is_rejected_or_reported(text: str, violation: Violation, detail: str) -> None:
    with pytest.raises(StrictJsonError) as caught:
        parse_strict(text, max_depth=3, max_digits=3)
    assert (caught.value.violation, caught.value.detail) == (violation, detail)
    seen = []
    parse_strict(text, max_depth=3, max_digits=3, report=lambda *found: seen.append(found))
    assert seen == [(violation, detail)]


def test_sign_does_not_count_as_a_digit() -> None:
    assert parse_strict("-123", max_digits=3) == -123


def test_syntax_error_keeps_its_position() -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        parse_strict('{"a": }')
    assert caught.value.pos == 6


def test_text_too_deep_for_the_stack_is_a_depth_violation() -> None:
    with pytest.raises(StrictJsonError) as caught:
        parse_strict("[" * 200_000 + "]" * 200_000)
    assert caught.value.violation is Violation.DEPTH


def test_brackets_in_strings_do_not_nest() -> None:
    assert not nesting_exceeds('["[[[\\"[[["]', 1)


@given(any_json)
def test_standard_json_is_parsed_as_by_the_standard_parser(value: object) -> None:
    text = json.dumps(value)
    assert parse_strict(text, max_depth=1_000) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("1", 1, id="scalar"),
        pytest.param("[]", 1, id="empty-list"),
        pytest.param('{"a": [1, 2], "b": { }}', 5, id="nested"),
        pytest.param('["a,b", "[,]", "\\","]', 4, id="commas-and-brackets-in-strings"),
    ],
)
def test_values_are_counted_without_parsing(text: str, count: int) -> None:
    assert not values_exceed(text, count)
    assert values_exceed(text, count - 1)


@pytest.mark.parametrize(
    ("value", "finite"),
    [
        pytest.param({"a": [1, 2.5, "NaN", None, True]}, True, id="finite"),
        pytest.param({"a": [{"b": float("nan")}]}, False, id="nan"),
        pytest.param([1, float("-inf")], False, id="infinite"),
    ],
)
def test_all_finite_looks_at_every_depth(value: object, finite: bool) -> None:  # noqa: FBT001
    assert all_finite(value) is finite
