"""Secrets are recognized and redacted in every encoding."""

from __future__ import annotations

import base64
import json
import time
from urllib.parse import quote

import pytest

from fieldmark.judges.redaction import Redactor, is_secret_name, is_secret_variable

KEY = 'sk-"sentinel"/ä+%42'
SECRETS = Redactor({"API_KEY": KEY, "TEAM": "abc"})


@pytest.mark.parametrize(
    "spelled",
    [
        pytest.param(KEY, id="raw"),
        pytest.param(json.dumps(KEY)[1:-1], id="in-json"),
        pytest.param(json.dumps(KEY, ensure_ascii=False)[1:-1], id="in-json-beyond-ascii"),
        pytest.param(json.dumps(json.dumps(KEY))[3:-3], id="in-json-inside-of-json"),
        pytest.param(json.dumps(KEY).replace("/", "\\/")[1:-1], id="in-json-with-slashes-escaped"),
        pytest.param(KEY.replace("+", "\\u002B").replace('"', "\\u0022"), id="in-json-for-a-page"),
        pytest.param(quote(KEY, safe=""), id="in-a-url"),
        pytest.param(quote(KEY), id="in-the-path-of-a-url"),
        pytest.param(quote(KEY, safe="").replace("%2F", "%2f"), id="in-a-url-in-small-letters"),
        pytest.param(quote(quote(KEY, safe=""), safe=""), id="in-a-url-inside-of-a-url"),
        pytest.param(base64.b64encode(KEY.encode()).decode().rstrip("="), id="in-base64"),
    ],
)
def test_a_secret_is_hidden_and_found_in_every_spelling(spelled):
    text = f"before {spelled} after"
    assert "sentinel" not in SECRETS.redact(text)
    assert SECRETS.redact(text).startswith("before [API_KEY]")
    assert SECRETS.find_in(text) == "API_KEY"


@pytest.mark.parametrize("before", ["", "x", "xy", "user:", "Bearer "])
@pytest.mark.parametrize("after", ["", "z", "zz"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_inside_of_base64_is_found_wherever_it_begins(before, after, encode):
    encoded = encode(f"{before}{KEY}{after}".encode()).decode()
    assert SECRETS.find_in(encoded) == "API_KEY"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        pytest.param({"a": [{"b": f"x {KEY}"}]}, "API_KEY", id="deep-in-a-value"),
        pytest.param({KEY: 1}, "API_KEY", id="as-a-key"),
        pytest.param({"a": "sk-", "b": 1}, None, id="not-there"),
        pytest.param("abc", None, id="too-short-to-be-one"),
    ],
)
def test_a_secret_is_found_in_values(value, name):
    assert SECRETS.find_in(value) == name


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        pytest.param("two words", "x two+words", id="a-blank-as-a-plus"),
        pytest.param("two words", "x two%20words", id="a-blank-in-percent-signs"),
        pytest.param("back\\slash", "x back\\\\\\\\slash", id="a-backslash-escaped-twice"),
        pytest.param("back\\\\slash", "x back\\\\slash", id="two-backslashes"),
        pytest.param("smile \U0001f600", "x smile \\ud83d\\uDE00", id="a-pair-of-escapes"),
    ],
)
def test_a_character_is_known_by_its_escapes(secret, text):
    assert Redactor({"API_KEY": secret}).redact(text) == "x [API_KEY]"


def test_a_reply_full_of_escapes_takes_no_time():
    secrets = Redactor({"API_KEY": '\\"\\"\\/\\"'})
    started = time.thread_time()
    assert secrets.find_in("\\" * 200_000 + "x") is None
    assert time.thread_time() - started < 2


def test_without_secrets_nothing_is_hidden():
    assert Redactor({}).redact(KEY) == KEY
    assert Redactor({}).find_in(KEY) is None


def test_a_secret_that_holds_another_is_hidden_whole():
    secrets = Redactor({"SHORT": "abcdef", "LONG": "abcdefghi"})
    assert secrets.redact("abcdefghi abcdef") == "[LONG] [SHORT]"


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        pytest.param("Authorization", True, id="the-usual-header"),
        pytest.param("Proxy-Authorization", True, id="for-a-proxy"),
        pytest.param("X-Api-Key", True, id="an-api-key"),
        pytest.param("apikey", True, id="in-one-word"),
        pytest.param("Ocp-Apim-Subscription-Key", True, id="a-subscription-key"),
        pytest.param("Cookie", True, id="a-cookie"),
        pytest.param("X-Auth-Token", True, id="a-token"),
        pytest.param("client_secret", True, id="a-secret"),
        pytest.param("key", True, id="a-key-alone"),
        pytest.param("X-Author", False, id="an-author"),
        pytest.param("X-Keyboard", False, id="a-keyboard"),
        pytest.param("X-Monkey", False, id="a-monkey"),
        pytest.param("Accept", False, id="a-plain-header"),
    ],
)
def test_names_that_promise_a_secret(name, secret):
    assert is_secret_name(name) is secret


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


VARIABLE = 'p"ä/s wörd+1'


@pytest.mark.parametrize(
    "spelled",
    [
        pytest.param(VARIABLE, id="plain"),
        pytest.param(quote(VARIABLE, safe=""), id="in-an-address"),
        pytest.param(base64.b64encode(VARIABLE.encode()).decode(), id="in-base64"),
        pytest.param(json.dumps(VARIABLE)[1:-1], id="in-json"),
        pytest.param(json.dumps(VARIABLE, ensure_ascii=False)[1:-1], id="in-json-with-umlauts"),
    ],
)
def test_a_secret_variable_is_found_however_it_is_spelled(spelled):
    secrets = Redactor.from_environment({"TOKEN": VARIABLE, "OTHER": "harmless"})
    assert secrets.redact(f"<{spelled}> harmless") == "<[TOKEN]> harmless"
    assert secrets.redact_value({spelled: [spelled, 1]}) == {"[TOKEN]": ["[TOKEN]", 1]}


def test_a_short_value_is_no_secret():
    assert Redactor.from_environment({"TOKEN": "abc"}).redact("abc") == "abc"
