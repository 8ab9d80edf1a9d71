"""Files, their encodings and limits."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldmark.errors import ConfigError, Location
from fieldmark.rules import config_files
from fieldmark.rules.config_files import MAX_BYTES, load_file, load_table, parse_json


@pytest.mark.parametrize(
    ("name", "content", "value"),
    [
        pytest.param("a.yaml", b"a: NO", {"a": "NO"}, id="yaml"),
        pytest.param("a.json", b'{"a": 1}', {"a": 1}, id="json"),
        pytest.param("rules", b"a: 1", {"a": 1}, id="anything-else-is-yaml"),
        pytest.param("a.yaml", b"\xef\xbb\xbfa: 1", {"a": 1}, id="byte-order-mark"),
        pytest.param("a.json", b'\xef\xbb\xbf{"a": 1}', {"a": 1}, id="byte-order-mark-in-json"),
        pytest.param("a.yaml", "ä: ü".encode(), {"ä": "ü"}, id="utf-8"),
    ],
)
def test_supported_files(tmp_path, name, content, value):
    (tmp_path / name).write_bytes(content)
    assert load_file(tmp_path / name).value == value


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("a.yaml", "a: ü".encode("latin-1"), ":1: invalid UTF-8; save", id="latin-1"),
        pytest.param("a.yaml", "a: 1".encode("utf-16"), ":1: invalid UTF-8", id="utf-16"),
        pytest.param("a.yaml", b"a: 1\nb: \xff", ":2: invalid UTF-8", id="invalid-byte-on-line-2"),
        pytest.param("a.json", b"a: 1", ":1:1: expected a JSON value", id="yaml-in-json-file"),
        pytest.param(
            "a.yaml",
            b"#" * (MAX_BYTES + 1),
            ": file exceeds the limit of 1,000,000 bytes",
            id="large",
        ),
    ],
)
def test_rejected_files(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_file(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_the_largest_file_is_accepted(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"#" * MAX_BYTES)
    assert load_file(path).value is None


def test_files_are_not_read_beyond_the_limit(tmp_path):
    path = tmp_path / "a.yaml"
    with path.open("wb") as stream:
        stream.truncate(10**12)
    with pytest.raises(ConfigError, match="exceeds the limit"):
        load_file(path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("missing.yaml", "missing.yaml: file not found$", id="missing"),
        pytest.param(".", "cannot read file: ", id="directory"),
        pytest.param("nul\0.yaml", "cannot read file: ", id="invalid-name"),
    ],
)
def test_unreadable_files(tmp_path, name, message):
    with pytest.raises(ConfigError, match=message):
        load_file(f"{tmp_path}/{name}")


def test_json_tables_can_be_larger_than_configuration_files(tmp_path, monkeypatch):
    monkeypatch.setattr(config_files, "MAX_BYTES", 10)
    path = tmp_path / "scores.json"
    path.write_text("[" + "1, " * 500 + "1]")
    assert len(load_table(path).items) == 501
    monkeypatch.setattr(config_files, "MAX_TABLE_NODES", 100)
    with pytest.raises(ConfigError, match=r"too many values \(limit 100\)"):
        load_table(path)
    monkeypatch.setattr(config_files, "MAX_TABLE_BYTES", 1_000)
    with pytest.raises(ConfigError, match="exceeds the limit of 1,000 bytes"):
        load_table(path)


def test_yaml_tables_have_the_limits_of_configuration_files(tmp_path, monkeypatch):
    monkeypatch.setattr(config_files, "MAX_BYTES", 10)
    path = tmp_path / "scores.yaml"
    path.write_text("[1, 2, 3, 4, 5]")
    with pytest.raises(ConfigError, match="exceeds the limit of 10 bytes"):
        load_table(path)


def test_json_files_do_not_import_yaml():
    code = "import sys; import fieldmark.rules.rules_file; print('ruamel.yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# --- strict JSON with locations -------------------------------------------------------------------

json_values = st.recursive(
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
@given(json_values, st.booleans(), st.sampled_from([None, 2]))
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
def test_problems_of_json_have_locations(text, message, line, column):
    with pytest.raises(ConfigError) as caught:
        parse_json(text, file="rules.json")
    assert str(caught.value).startswith(f"rules.json:{line}:{column}: {message}")


def test_values_and_keys_have_locations():
    located = parse_json('{"a": 1,\n "b": [{"c": "x"}]}', file="f.json")
    assert located.entries["b"].items[0].entries["c"].location == Location("f.json", 2, 14)
    assert located.entries["b"].items[0].key_location("c") == Location("f.json", 2, 9)
