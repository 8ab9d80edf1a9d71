"""Conversion of AgentV files to native eval files."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, reject

from fieldmark.errors import ConfigError
from fieldmark.rules.agentv import import_agentv, yaml_text
from fieldmark.rules.config_files import MAX_BYTES, parse_json
from fieldmark.rules.yaml_parser import parse_yaml
from fieldmark.runs.eval_file import load_eval
from json_strategies import any_json
from unit.rules.agentv_files import DATA, EVAL_FILES, project


@given(any_json)
def test_yaml_round_trip(value):
    document = {"value": value}
    try:
        assert parse_json(json.dumps(document)).value == document
    except ConfigError:
        reject()  # keys with the same normalized form are duplicates
    back = parse_yaml(yaml_text(document)).value
    assert json.dumps(back) == json.dumps(document)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param("Acme Shipping", "Acme Shipping", id="plain-words"),
        pytest.param("007", '"007"', id="numeric-string-is-quoted"),
        pytest.param("2025-01-15", '"2025-01-15"', id="date-is-quoted"),
        pytest.param("no", '"no"', id="yaml-1.1-boolean-is-quoted"),
        pytest.param("null", '"null"', id="null-string-is-quoted"),
        pytest.param("a: b", '"a: b"', id="key-like-string-is-quoted"),
        pytest.param("", '""', id="empty-string-is-quoted"),
        pytest.param(None, "null", id="null"),
        pytest.param("one\ntwo", "|-\n  one\n  two", id="block-style"),
        pytest.param("Straße\nÅrhus\n", "|\n  Straße\n  Århus", id="non-ascii-lines"),
        pytest.param(
            "one\n\x7ftwo", '"one\\n\\x7Ftwo"', id="control-characters-in-lines-are-quoted"
        ),
        pytest.param("one\n two", '"one\\n two"', id="indented-lines-are-quoted"),
        pytest.param("\x1b[2J", '"\\e[2J"', id="control-characters-are-escaped"),
        pytest.param([1, {"a": 2.5}], "\n  - 1\n  - a: 2.5", id="lists-are-indented"),
    ],
)
def test_yaml_style(value, written):
    gap = "" if written.startswith("\n") else " "
    assert yaml_text({"key": value}) == f"key:{gap}{written}\n"


def test_no_aliases_are_written():
    shared = {"total": 1}
    assert "&" not in yaml_text({"a": shared, "b": shared})


def without_locations(members):
    """Return evaluators with their options, without locations."""
    return re.sub(r"Location\([^)]*\)", "", repr(members))


@pytest.mark.parametrize("file", EVAL_FILES)
def test_the_native_form_describes_the_same_evaluation(tmp_path, file):
    native = tmp_path / "native.yaml"
    native.write_text(import_agentv(DATA / file).text, "utf-8")
    ours, theirs = load_eval(native), load_eval(DATA / file)
    assert (ours.name, ours.description) == (theirs.name, theirs.description)
    assert without_locations(ours.evaluators) == without_locations(theirs.evaluators)
    for own, other in zip(ours.cases, theirs.cases, strict=True):
        for part in ("id", "expected", "candidate", "input", "metadata", "only_own", "tags"):
            assert getattr(own, part) == getattr(other, part), (own.id, part)
        assert without_locations(own.evaluators) == without_locations(other.evaluators)


def test_importing_a_native_file_is_rejected(tmp_path):
    path = tmp_path / "native.yaml"
    path.write_text("cases: []\n", "utf-8")
    with pytest.raises(ConfigError, match="not an AgentV eval file"):
        import_agentv(path)


def test_a_case_without_a_candidate_is_imported_with_a_warning(tmp_path):
    path = project(tmp_path, cases=[{"id": "a", "expected_output": {"total": 1}, "input": "Read."}])
    imported = import_agentv(path)
    assert ["has no prediction" in str(warning) for warning in imported.warnings] == [True]
    assert "candidate" not in parse_yaml(imported.text).value["cases"][0]


def test_a_converted_file_that_exceeds_the_limit_is_rejected(tmp_path):
    path = project(tmp_path, fixtures={"a.json": json.dumps({"text": "x" * (MAX_BYTES - 100)})})
    with pytest.raises(ConfigError, match="exceeds the limit of 1,000,000 bytes"):
        import_agentv(path)


def test_importing_a_script_warns_about_its_directory(tmp_path):
    judge = {"name": "own", "type": "code-grader", "command": ["python", "judge.py"]}
    path = project(tmp_path, graders=[judge])
    (path.parent / "judge.py").touch()
    warnings = [str(warning) for warning in import_agentv(path).warnings]
    assert any("save the new file in the same directory" in text for text in warnings)
