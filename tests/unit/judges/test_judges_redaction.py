"""Secrets come from the environment, are known in every spelling, and are never shown."""

from __future__ import annotations

import base64
import json
import time
from urllib.parse import quote

import pytest

from fieldmark.errors import OptionError
from fieldmark.judges.redaction import Redactor, is_secret_name
from fieldmark.run.targets.http import (
    check_headers,
    expand_headers,
    header_variables,
    unusable_variable,
)

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
    "headers",
    [
        pytest.param({}, id="none"),
        pytest.param({"Authorization": "Bearer ${API_KEY}"}, id="a-variable-in-a-secret"),
        pytest.param({"Cookie": "a=${A}; b=${B}"}, id="two-variables"),
        pytest.param({"X-Team": "invoices"}, id="a-plain-value"),
        pytest.param({"X-Price": "$5"}, id="a-dollar"),
    ],
)
def test_headers_that_can_be_sent(headers):
    check_headers(headers)


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        pytest.param({"Authorization": "sk-sentinel"}, "must not hold a secret", id="a-secret-written-out"),
        pytest.param({"x-api-key": "sk-sentinel"}, "must not hold a secret", id="another-one"),
        pytest.param({"X-Custom": "Bearer sk-sentinel"}, "must not hold a secret", id="credentials-elsewhere"),
        pytest.param({"Host": "evil.example"}, "can be set", id="another-host"),
        pytest.param({"content-length": "3"}, "can be set", id="another-length"),
        pytest.param({"Transfer-Encoding": "chunked"}, "can be set", id="another-framing"),
        pytest.param({"X A": "1"}, "can be set", id="a-blank-in-the-name"),
        pytest.param({"": "1"}, "can be set", id="no-name"),
        pytest.param({"X-A": "sentinel\r\nX-B: 2"}, "one line", id="a-line-break"),
        pytest.param({"X-A": "sentinel ä"}, "one line of plain", id="beyond-ascii"),
        pytest.param({"X-A": "${sentinel"}, "is written", id="half-a-variable"),
        pytest.param({"X-A": "${1X}"}, "is written", id="no-name-of-a-variable"),
    ],
)  # fmt: skip
def test_headers_that_are_refused_without_showing_their_values(headers, why):
    with pytest.raises(OptionError, match=why) as refused:
        check_headers(headers)
    assert "sentinel" not in str(refused.value)


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        pytest.param({"A": "one", "B": "two"}, None, id="all-are-set"),
        pytest.param({"A": "one"}, "B, which a header needs, is not set", id="one-is-not"),
        pytest.param({"A": "one", "B": ""}, "B, which a header needs, is not set", id="one-is-empty"),
        pytest.param({"A": "one", "B": "sentinel\n"}, "B is not one line", id="one-has-a-line-break"),
    ],
)  # fmt: skip
def test_variables_are_looked_for_before_the_run(environment, why):
    said = unusable_variable({"X": "${A} ${B}", "Y": "${A}"}, environment)
    assert (said is None) if why is None else (why in said)
    assert "sentinel" not in str(said)


def test_headers_are_filled_in_from_the_environment():
    headers = {"Authorization": "Bearer ${A}", "X": "${A}${B}", "Y": "plain"}
    assert header_variables(headers) == ("A", "B")
    assert expand_headers(headers, {"A": "1${B}", "B": "2"}) == {
        "Authorization": "Bearer 1${B}",
        "X": "1${B}2",
        "Y": "plain",
    }
