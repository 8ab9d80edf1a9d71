"""Responses never contain the locations of local directories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fieldmark.web.api_errors import ApiError, ErrorCode
from fieldmark.web.app_state import PathRedactor


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        pytest.param("/srv/data/a.jsonl: not JSON", "a.jsonl: not JSON", id="file"),
        pytest.param("nothing in /srv/data.", "nothing in .", id="directory-at-the-end"),
        pytest.param("'/srv/data'", "''", id="quoted-directory"),
        pytest.param("/srv/database/a", "/srv/database/a", id="longer-name"),
        pytest.param("/srv/data.old/a", "/srv/data.old/a", id="name-with-suffix"),
        pytest.param("unit/srv/data", "unit/srv/data", id="part-of-a-value"),
        pytest.param(r"\srv\data\a.jsonl: not JSON", "a.jsonl: not JSON", id="backslashes"),
        pytest.param(r"'\\srv\\data\\a.jsonl'", "'a.jsonl'", id="quoted-backslashes"),
    ],
)
def test_only_known_directories_are_removed(tmp_path, text, redacted):
    assert PathRedactor(tmp_path, [Path("/srv/data")]).redact_text(text) == redacted


def test_case_is_ignored_where_files_ignore_it(tmp_path, monkeypatch):
    text = "/SRV/data/a.jsonl"
    assert PathRedactor(tmp_path, [Path("/srv/data")]).redact_text(text) == text
    monkeypatch.setattr(os.path, "normcase", str.lower)
    assert PathRedactor(tmp_path, [Path("/srv/data")]).redact_text(text) == "a.jsonl"


def test_relative_directory_does_not_remove_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    redactor = PathRedactor(tmp_path / "scratch", [Path(), Path("data")])
    assert redactor.redact_text("metadata.total differs.") == "metadata.total differs."
    assert redactor.redact_text(f"{tmp_path}/data/a.jsonl") == "a.jsonl"


def test_keys_are_not_changed(tmp_path):
    redacted = PathRedactor(tmp_path, [Path("/app")]).redact(
        {"attributes": {"/app/total": {"f1": 1.0}}}
    )
    assert redacted == {"attributes": {"/app/total": {"f1": 1.0}}}


def test_errors_are_redacted_with_their_problems(tmp_path):
    problem = {"message": "bad", "where": "/srv/data/rules.yaml:4", "hint": ""}
    error = ApiError(ErrorCode.INVALID_RULES, "/srv/data/rules.yaml: bad", problems=[problem])
    PathRedactor(tmp_path, [Path("/srv/data")]).redact_error(error)
    assert error.message == "rules.yaml: bad"
    assert error.problems == [{"message": "bad", "where": "rules.yaml:4", "hint": ""}]
