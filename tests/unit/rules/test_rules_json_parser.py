"""Strict JSON with locations."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldmark.errors import ConfigError, Location
from fieldmark.rules.config_files import parse_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def _has_equivalent_keys(text: str) -> bool:
    try:
        parse_json(text)
    except ConfigError as error:
        return all("duplicate key" in problem.message for problem in error.problems)
    return False


@settings(max_examples=60)
@given(values, st.booleans(), st.sampled_from([None, 2]))
def test_json_round_trip(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert _has_equivalent_keys(text) or parse_json(text).value == value


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        pytest.param("", "expected a JSON value", 1, 1, id="empty"),
        pytest.param('{"a": 1,\n "a": 2}', "duplicate key 'a'; first defined at line 1", 2, 2,
                     id="duplicate-key"),
        pytest.param("{a: 1}", "expected a key in double quotes", 1, 2, id="bare-key"),
        pytest.param('{"a" 1}', "expected ':'", 1, 6, id="no-colon"),
        pytest.param('{"a": 1\n"b": 2}', "expected ',' or '}'", 2, 1, id="no-comma"),
        pytest.param("[1,\n2,]", "trailing comma before ']'", 2, 3,
                     id="trailing-comma"),
        pytest.param("[1] 2", "unexpected text after the JSON value", 1, 5, id="more-text"),
        pytest.param('["a\nb"]', "invalid JSON: invalid control character", 1, 4,
                     id="newline-in-string"),
        pytest.param('["a', "invalid JSON: unterminated string", 1, 2, id="unterminated-string"),
        pytest.param("[NaN]", "expected a JSON value", 1, 2, id="not-number"),
        pytest.param("[1e999]", "number out of range", 1, 2, id="infinity"),
        pytest.param("[012]", "expected ',' or ']'", 1, 3, id="leading-zero"),
        pytest.param(f"[{'9' * 1001}]", "number has too many digits (limit 1,000)", 1, 2, id="huge"),
        pytest.param("[" * 51, "nesting exceeds the limit of 50 levels", 1, 51, id="too-deep"),
        pytest.param("[" + "1," * 100_001 + "1]", "too many values (limit 100,000)", 1, 200_000,
                     id="too-many-values"),
        pytest.param("# no\n{}", "expected a JSON value", 1, 1, id="comment"),
    ],
)  # fmt: skip
def test_problems_have_locations(text, message, line, column):
    with pytest.raises(ConfigError) as caught:
        parse_json(text, file="rules.json")
    assert str(caught.value).startswith(f"rules.json:{line}:{column}: {message}")


def test_values_and_keys_have_locations():
    located = parse_json('{"a": 1,\n "b": [{"c": "x"}]}', file="f.json")
    assert located.entries["b"].items[0].entries["c"].location == Location("f.json", 2, 14)
    assert located.entries["b"].items[0].key_location("c") == Location("f.json", 2, 9)
