"""A program knows a few usual variables and what was declared for it; secrets stay secret."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from fieldmark.errors import OptionError
from fieldmark.judges.managed_process import MARKER_VARIABLE
from fieldmark.judges.program import check_environment, program_environment, unset_variables
from fieldmark.judges.redaction import Redactor, is_secret_variable
from unit.judges.lab import judge, judged

OWN = {
    "PATH": "/bin", "HOME": "/h", "LANG": "C", "LC_ALL": "C.UTF-8", "TMPDIR": "/t", "TZ": "UTC",
    "AWS_SECRET_ACCESS_KEY": "s", "PYTHONPATH": "/x", "LD_PRELOAD": "evil", "EMPTY": "",
}  # fmt: skip
USUAL = {"PATH": "/bin", "HOME": "/h", "LANG": "C", "LC_ALL": "C.UTF-8", "TMPDIR": "/t"}


@pytest.mark.parametrize(
    ("declared", "more"),
    [
        pytest.param((), {}, id="nothing-else"),
        pytest.param(("TZ",), {"TZ": "UTC"}, id="a-name-is-handed-on"),
        pytest.param(("NOT_SET",), {}, id="a-name-that-is-not-set"),
        pytest.param(("EMPTY",), {"EMPTY": ""}, id="a-name-that-is-set-to-nothing"),
        pytest.param({"MODE": "fast"}, {"MODE": "fast"}, id="a-value-is-given"),
        pytest.param({"ZONE": "env:TZ"}, {"ZONE": "UTC"}, id="a-value-is-taken-over"),
        pytest.param({"PATH": "/usr/bin"}, {"PATH": "/usr/bin"}, id="a-usual-one-is-replaced"),
    ],
)
def test_what_a_program_may_know(declared, more):
    assert program_environment(declared, OWN) == {**USUAL, **more}


def test_a_variable_that_a_value_refers_to_must_be_set():
    assert unset_variables({"A": "env:TZ", "B": "env:NOPE", "C": "env"}, OWN) == ["NOPE"]
    assert judge("say", env={"KEY": "env:NOT_SET_ANYWHERE"}).unready() == (
        "the variable NOT_SET_ANYWHERE is not set"
    )


@pytest.mark.parametrize(
    "declared",
    [
        pytest.param({"API_KEY": "k"}, id="a-key-in-the-file"),
        pytest.param({"DB_PASSWORD": "x"}, id="a-password-in-the-file"),
        pytest.param({"MODE": "sk-" + "a1" * 12}, id="a-value-that-looks-like-a-key"),
        pytest.param({"URL": "postgres://me:pw@host/db"}, id="a-password-in-an-address"),
        pytest.param({"": "x"}, id="no-name"),
        pytest.param(("A=B",), id="a-name-with-a-value"),
        pytest.param({"A": "x\0y"}, id="a-zero-byte"),
    ],
)
def test_what_may_not_be_declared(declared):
    with pytest.raises(OptionError, match="env"):
        check_environment(declared)


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        pytest.param("OPENAI_API_KEY", "x", True, id="an-api-key"),
        pytest.param("GITHUB_TOKEN", "x", True, id="a-token"),
        pytest.param("db_password", "x", True, id="a-password-in-small-letters"),
        pytest.param("TOKENIZER", "x", False, id="a-tokenizer"),
        pytest.param("SORT_KEY", "name", False, id="a-key-that-opens-nothing"),
        pytest.param("AUTHOR", "ann", False, id="an-author"),
        pytest.param("ENDPOINT", "https://host.test/v1", False, id="an-address"),
        pytest.param("ENDPOINT", "https://ann:pw@host.test/v1", True, id="an-address-with-a-password"),
        pytest.param("X", "ghp_0123456789abcdef", True, id="a-value-that-looks-like-a-token"),
    ],
)  # fmt: skip
def test_what_looks_like_a_secret(name, value, secret):
    assert is_secret_variable(name, value) is secret


SECRET = 'p"ä/s wörd+1'


@pytest.mark.parametrize(
    "spelled",
    [
        pytest.param(SECRET, id="plain"),
        pytest.param(quote(SECRET, safe=""), id="in-an-address"),
        pytest.param(base64.b64encode(SECRET.encode()).decode(), id="in-base64"),
        pytest.param(json.dumps(SECRET)[1:-1], id="in-json"),
        pytest.param(json.dumps(SECRET, ensure_ascii=False)[1:-1], id="in-json-with-umlauts"),
    ],
)
def test_a_secret_is_found_however_it_is_spelled(spelled):
    secrets = Redactor.from_environment({"TOKEN": SECRET, "OTHER": "harmless"})
    assert secrets.redact(f"<{spelled}> harmless") == "<[TOKEN]> harmless"
    assert secrets.redact_value({spelled: [spelled, 1]}) == {"[TOKEN]": ["[TOKEN]", 1]}


def test_a_short_value_is_no_secret():
    assert Redactor.from_environment({"TOKEN": "abc"}).redact("abc") == "abc"


def test_a_judge_knows_nothing_that_was_not_declared(monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "key-0123456789")
    monkeypatch.setenv("UNRELATED", "x")
    said = judged("surroundings", env={"MODE": "fast"})
    known = set(said.details["env"]) - {MARKER_VARIABLE, "LC_CTYPE"}
    usual = ("PATH", "HOME", "LANG", "LANGUAGE", "TMPDIR", "TMP", "TEMP", "MODE")
    assert {name for name in known if not name.startswith("LC_")} <= set(usual)
    assert said.details["env"]["MODE"] == "fast"


@pytest.mark.parametrize(
    ("behaviour", "seen"),
    [
        pytest.param(("surroundings",), "details", id="in-details"),
        pytest.param(("complain_and", "key-0123456789", "leave", "1"), "reasoning", id="in-remarks"),
        pytest.param(("say", "key-0123456789"), "reasoning", id="in-a-bad-reply"),
        pytest.param(("say", '{"score": 1, "hits": ["key-0123456789"]}'), "hits", id="in-hits"),
    ],
)  # fmt: skip
def test_a_secret_that_was_declared_is_never_written_down(monkeypatch, behaviour, seen):
    monkeypatch.setenv("MY_API_KEY", "key-0123456789")
    said = judged(*behaviour, env=("MY_API_KEY",))
    assert "0123456789" not in json.dumps(said.to_dict())
    assert "[MY_API_KEY]" in json.dumps(said.to_dict()[seen])
