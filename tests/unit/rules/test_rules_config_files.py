"""Files, their encodings and limits."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fieldmark.errors import ConfigError
from fieldmark.rules import config_files
from fieldmark.rules.config_files import MAX_BYTES, load_file, load_table


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
