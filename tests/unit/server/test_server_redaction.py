"""Where folders are on this machine is never part of a response."""

from __future__ import annotations

from pathlib import Path

import pytest

from fieldmark.server.api_errors import ApiError, ErrorCode
from fieldmark.server.redaction import PathRedactor


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("/srv/data/a.jsonl: not JSON", "a.jsonl: not JSON", id="a-file-below"),
        pytest.param("nothing in /srv/data.", "nothing in .", id="the-folder-at-the-end"),
        pytest.param("'/srv/data'", "''", id="the-folder-in-quotes"),
        pytest.param("/srv/database/a", "/srv/database/a", id="a-longer-name"),
        pytest.param("/srv/data.old/a", "/srv/data.old/a", id="a-name-with-a-suffix"),
        pytest.param("unit/srv/data", "unit/srv/data", id="the-middle-of-a-value"),
    ],
)
def test_only_places_of_ours_are_hidden(tmp_path, text, shown):
    assert PathRedactor(tmp_path, [Path("/srv/data")]).redact_text(text) == shown


def test_a_folder_that_is_named_relatively_hides_no_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    redactor = PathRedactor(tmp_path / "scratch", [Path(), Path("data")])
    assert redactor.redact_text("metadata.total differs.") == "metadata.total differs."
    assert redactor.redact_text(f"{tmp_path}/data/a.jsonl") == "a.jsonl"


def test_attributes_keep_their_names(tmp_path):
    found = PathRedactor(tmp_path, [Path("/app")]).redact(
        {"attributes": {"/app/total": {"f1": 1.0}}}
    )
    assert found == {"attributes": {"/app/total": {"f1": 1.0}}}


def test_errors_are_redacted_with_their_problems(tmp_path):
    problem = {"message": "bad", "where": "/srv/data/rules.yaml:4", "hint": ""}
    error = ApiError(ErrorCode.INVALID_RULES, "/srv/data/rules.yaml: bad", problems=[problem])
    PathRedactor(tmp_path, [Path("/srv/data")]).redact_error(error)
    assert error.message == "rules.yaml: bad"
    assert error.problems == [{"message": "bad", "where": "rules.yaml:4", "hint": ""}]
