"""Strict JSON with places."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldmark.config.json_parser import parse_json
from fieldmark.errors import ConfigError, Location

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def _has_look_alikes(text: str) -> bool:
    try:
        parse_json(text)
    except ConfigError as error:
        return all("Duplicate key" in problem.message for problem in error.problems)
    return False


@settings(max_examples=60)
@given(values, st.booleans(), st.sampled_from([None, 2]))
def test_what_json_writes_is_read_back(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert _has_look_alikes(text) or parse_json(text).value == value


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        pytest.param("", "A JSON value is expected here.", 1, 1, id="nothing"),
        pytest.param('{"a": 1,\n "a": 2}', "Duplicate key: a. It is first given on line 1.", 2, 2,
                     id="a-key-twice"),
        pytest.param("{a: 1}", "A key in double quotes is expected here.", 1, 2, id="a-bare-key"),
        pytest.param('{"a" 1}', "A colon is expected here.", 1, 6, id="no-colon"),
        pytest.param('{"a": 1\n"b": 2}', "A comma or } is expected here.", 2, 1, id="no-comma"),
        pytest.param("[1,\n2,]", "Nothing stands between the comma and ].", 2, 3,
                     id="a-comma-too-many"),
        pytest.param("[1] 2", "More text after the value.", 1, 5, id="more-text"),
        pytest.param('["a\nb"]', "Not valid JSON: Invalid control character", 1, 4,
                     id="a-line-break-in-text"),
        pytest.param('["a', "Not valid JSON: Unterminated string", 1, 2, id="an-open-text"),
        pytest.param("[NaN]", "A JSON value is expected here.", 1, 2, id="not-a-number"),
        pytest.param("[1e999]", "A number out of range.", 1, 2, id="infinity"),
        pytest.param("[012]", "A comma or ] is expected here.", 1, 3, id="a-leading-zero"),
        pytest.param(f"[{'9' * 1001}]", "A number of more than 1000 digits.", 1, 2, id="huge"),
        pytest.param("[" * 51, "Nested more than 50 deep.", 1, 51, id="too-deep"),
        pytest.param("[" + "1," * 100_001 + "1]", "More than 100,000 values.", 1, 200_000,
                     id="too-many-values"),
        pytest.param("# no\n{}", "A JSON value is expected here.", 1, 1, id="a-comment"),
    ],
)  # fmt: skip
def test_refusals_name_the_place(text, message, line, column):
    with pytest.raises(ConfigError) as caught:
        parse_json(text, file="rules.json")
    assert str(caught.value).startswith(f"rules.json:{line}:{column}: {message}")


def test_every_value_and_key_knows_its_place():
    located = parse_json('{"a": 1,\n "b": [{"c": "x"}]}', file="f.json")
    assert located.entries["b"].items[0].entries["c"].location == Location("f.json", 2, 14)
    assert located.entries["b"].items[0].key_location("c") == Location("f.json", 2, 9)
