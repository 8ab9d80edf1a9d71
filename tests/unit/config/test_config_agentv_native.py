"""The native form of AgentV's files: YAML that reads well, and reads back as what was written."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, reject

from fieldmark.config.agentv.native import import_agentv, yaml_text
from fieldmark.config.eval_file import load_eval
from fieldmark.config.files import MAX_BYTES
from fieldmark.config.json_parser import parse_json
from fieldmark.config.yaml_parser import parse_yaml
from fieldmark.errors import ConfigError
from json_strategies import any_json
from unit.config.agentv_files import DATA, EVAL_FILES, project


@given(any_json)
def test_whatever_is_written_is_read_as_it_was(value):
    document = {"value": value}
    try:
        assert parse_json(json.dumps(document)).value == document
    except ConfigError:
        reject()  # keys that look alike cannot be read from any file
    back = parse_yaml(yaml_text(document)).value
    assert json.dumps(back) == json.dumps(document)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param("Acme Shipping", "Acme Shipping", id="words-stand-bare"),
        pytest.param("007", '"007"', id="digits-that-are-text-are-quoted"),
        pytest.param("2025-01-15", '"2025-01-15"', id="a-date-is-quoted"),
        pytest.param("no", '"no"', id="a-word-that-others-take-for-false-is-quoted"),
        pytest.param("null", '"null"', id="the-text-null-is-quoted"),
        pytest.param("a: b", '"a: b"', id="what-looks-like-a-key-is-quoted"),
        pytest.param("", '""', id="an-empty-text-is-quoted"),
        pytest.param(None, "null", id="nothing-is-spelled-out"),
        pytest.param("one\ntwo", "|-\n  one\n  two", id="lines-stand-below-each-other"),
        pytest.param("Straße\nÅrhus\n", "|\n  Straße\n  Århus", id="in-other-languages-too"),
        pytest.param("one\n\x7ftwo", '"one\\n\\x7Ftwo"', id="lines-that-cannot-be-seen-are-quoted"),
        pytest.param("one\n two", '"one\\n two"', id="lines-with-indents-are-quoted"),
        pytest.param("\x1b[2J", '"\\e[2J"', id="control-characters-are-escaped"),
        pytest.param([1, {"a": 2.5}], "\n  - 1\n  - a: 2.5", id="lists-are-indented"),
    ],
)
def test_a_value_is_written_as_a_person_would(value, written):
    gap = "" if written.startswith("\n") else " "
    assert yaml_text({"key": value}) == f"key:{gap}{written}\n"


def test_one_document_twice_is_written_twice():
    shared = {"total": 1}
    assert "&" not in yaml_text({"a": shared, "b": shared})


def placeless(members):
    """Evaluators with their options, wherever these were written."""
    return re.sub(r"Location\([^)]*\)", "", repr(members))


@pytest.mark.parametrize("file", EVAL_FILES)
def test_the_native_form_describes_the_same_evaluation(tmp_path, file):
    native = tmp_path / "native.yaml"
    native.write_text(import_agentv(DATA / file).text, "utf-8")
    ours, theirs = load_eval(native), load_eval(DATA / file)
    assert (ours.name, ours.description) == (theirs.name, theirs.description)
    assert placeless(ours.evaluators) == placeless(theirs.evaluators)
    for own, other in zip(ours.cases, theirs.cases, strict=True):
        for part in ("id", "expected", "candidate", "input", "metadata", "only_own", "tags"):
            assert getattr(own, part) == getattr(other, part), (own.id, part)
        assert placeless(own.evaluators) == placeless(other.evaluators)


def test_the_native_form_of_a_native_file_is_refused(tmp_path):
    path = tmp_path / "native.yaml"
    path.write_text("cases: []\n", "utf-8")
    with pytest.raises(ConfigError, match="Not an eval file of AgentV"):
        import_agentv(path)


def test_a_case_without_a_candidate_is_imported_and_told(tmp_path):
    path = project(tmp_path, cases=[{"id": "a", "expected_output": {"total": 1}, "input": "Read."}])
    imported = import_agentv(path)
    assert ["has no candidate" in str(warning) for warning in imported.warnings] == [True]
    assert "candidate" not in parse_yaml(imported.text).value["cases"][0]


def test_a_form_that_could_not_be_read_again_is_not_written(tmp_path):
    path = project(tmp_path, fixtures={"a.json": json.dumps({"text": "x" * (MAX_BYTES - 100)})})
    with pytest.raises(ConfigError, match="larger than 1,000,000 bytes"):
        import_agentv(path)


def test_whoever_imports_a_judge_is_told_where_its_script_is_looked_for(tmp_path):
    judge = {"name": "own", "type": "code-grader", "command": ["python", "judge.py"]}
    path = project(tmp_path, graders=[judge])
    (path.parent / "judge.py").touch()
    warnings = [str(warning) for warning in import_agentv(path).warnings]
    assert any("Keep the new file beside the old one" in text for text in warnings)
