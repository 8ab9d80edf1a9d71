"""Which files are opened, how far they are read, and what they may be encoded in."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fieldmark.config import files
from fieldmark.config.files import MAX_BYTES, load_file, load_table
from fieldmark.errors import ConfigError


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
def test_files_that_are_read(tmp_path, name, content, value):
    (tmp_path / name).write_bytes(content)
    assert load_file(tmp_path / name).value == value


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        pytest.param("a.yaml", "a: ü".encode("latin-1"), ":1: Not UTF-8 text. Save", id="latin-1"),
        pytest.param("a.yaml", "a: 1".encode("utf-16"), ":1: Not UTF-8 text.", id="utf-16"),
        pytest.param("a.yaml", b"a: 1\nb: \xff", ":2: Not UTF-8 text.", id="the-line-is-named"),
        pytest.param("a.json", b"a: 1", ":1:1: A JSON value", id="yaml-in-a-json-file"),
        pytest.param(
            "a.yaml", b"#" * (MAX_BYTES + 1), ": Larger than 1,000,000 bytes.", id="large"
        ),
    ],
)
def test_files_that_are_refused(tmp_path, name, content, complaint):
    place = tmp_path / name
    place.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_file(place)
    assert str(caught.value).startswith(f"{place}{complaint}")


def test_the_largest_file_is_read(tmp_path):
    place = tmp_path / "a.yaml"
    place.write_bytes(b"#" * MAX_BYTES)
    assert load_file(place).value is None


def test_no_more_is_read_than_the_limit(tmp_path):
    place = tmp_path / "a.yaml"
    with place.open("wb") as stream:
        stream.truncate(10**12)
    with pytest.raises(ConfigError, match="Larger than"):
        load_file(place)


@pytest.mark.parametrize("name", ["missing.yaml", ".", "nul\0.yaml"])
def test_what_cannot_be_opened_is_named(tmp_path, name):
    with pytest.raises(ConfigError, match="Cannot be read: "):
        load_file(f"{tmp_path}/{name}")


def test_tables_may_be_larger_than_configuration(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 10)
    place = tmp_path / "scores.json"
    place.write_text("[" + "1, " * 500 + "1]")
    assert len(load_table(place).items) == 501
    monkeypatch.setattr(files, "MAX_TABLE_NODES", 100)
    with pytest.raises(ConfigError, match="More than 100 values"):
        load_table(place)
    monkeypatch.setattr(files, "MAX_TABLE_BYTES", 1_000)
    with pytest.raises(ConfigError, match="Larger than 1,000 bytes"):
        load_table(place)


def test_tables_in_yaml_keep_to_the_limits_of_configuration(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 10)
    place = tmp_path / "scores.yaml"
    place.write_text("[1, 2, 3, 4, 5]")
    with pytest.raises(ConfigError, match="Larger than 10 bytes"):
        load_table(place)


def test_reading_json_needs_no_yaml():
    code = "import sys; import fieldmark.config.rules_file; print('ruamel.yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
