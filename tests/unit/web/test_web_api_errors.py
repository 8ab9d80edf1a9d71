"""Exceptions become API errors, and messages do not refer to other interfaces."""

from __future__ import annotations

import pytest
from starlette.exceptions import HTTPException

from fieldmark.errors import ConfigError, DataError, Location
from fieldmark.web.api_errors import to_api_error
from unit.web.live_server import PREDICTIONS, TRUTH, error_code


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        pytest.param(ConfigError.of("unknown key 'a'", hint="did you mean 'b'?"), "invalid_rules", "unknown key 'a'; did you mean 'b'?", id="hint"),
        pytest.param(DataError("not JSON", Location("a.json", 2)), "invalid_data", "a.json:2: not JSON", id="location"),
        pytest.param(HTTPException(404), "not_found", "Not found.", id="404"),
        pytest.param(HTTPException(405), "method_not_allowed", "Method not allowed.", id="405"),
        pytest.param(HTTPException(418), "invalid_request", "The request is invalid.", id="other-status"),
        pytest.param(ValueError("secret"), "internal", "Internal server error. The server log has the details.", id="unknown-exception"),
    ],
)  # fmt: skip
def test_exception_becomes_an_api_error(error, code, message):
    api_error = to_api_error(error)
    assert (api_error.code.value, api_error.message) == (code, message)


def test_message_of_a_model_is_not_prefixed(read_only_server):
    response = read_only_server.client.post("/api/batch", json={"truth": {}})
    (problem,) = response.json()["error"]["problems"]
    assert problem["message"] == "exactly one of rows, text, files and path is required"


def test_notes_of_a_job_do_not_mention_other_interfaces(read_only_server):
    candidate = [{"id": row["id"], "output": row} for row in TRUTH]
    job = read_only_server.batch({"rows": TRUTH}, {"rows": candidate})
    notes = job["result"]["notes"]
    assert any("'output'" in note for note in notes)
    assert not any("--" in note or "in Python" in note for note in notes)


@pytest.mark.parametrize(
    ("truth", "options", "query"),
    [
        pytest.param(TRUTH, {"rules": {"total": "IGNORE"}}, {}, id="rules"),
        pytest.param(TRUTH, {"convention": "four_phase"}, {}, id="convention"),
        pytest.param(TRUTH, {"convention": "four_phase"}, {"rescore": True}, id="rescore"),
        pytest.param([{**row, "total": 0} for row in TRUTH], {}, {}, id="data"),
    ],
)
def test_runs_that_are_not_comparable_give_a_neutral_error(read_only_server, truth, options, query):
    runs = read_only_server.run(), read_only_server.run(truth, PREDICTIONS, **options)
    query = {"a": runs[0], "b": runs[1], **query}
    response = read_only_server.client.get("/api/diff", params=query)
    assert error_code(response) == "invalid_rules"
    assert "--" not in response.text
