"""Secrets are recognized and redacted in every encoding."""

from __future__ import annotations

import base64
import html
import json
import time
from urllib.parse import quote, quote_plus

import pytest

from fieldmark.judges.redaction import Redactor, is_secret_name, is_secret_variable

KEY = 'sk-"sentinel"/ä+%42'
SECRETS = Redactor({"API_KEY": KEY, "TEAM": "abc"})


def every(escape, text=KEY):
    """Return the text with an escape for each of its characters."""
    return "".join(map(escape, text))


def units(letter):
    return letter.encode("utf-16-be")


@pytest.mark.parametrize(
    "secret", [KEY, "Plain0Secret42", "pass\\w%rd &amp;\n\U0001f600x", "\udcffbytes\udcfe"]
)
@pytest.mark.parametrize(
    "encode",
    [
        pytest.param(str, id="plain"),
        pytest.param(str.upper, id="upper-case"),
        pytest.param(str.lower, id="lower-case"),
        pytest.param(str.swapcase, id="mixed-case"),
        pytest.param(lambda text: json.dumps(text)[1:-1], id="json"),
        pytest.param(lambda text: json.dumps(text, ensure_ascii=False)[1:-1], id="non-ascii-json"),
        pytest.param(lambda text: json.dumps(text)[1:-1].replace("/", "\\/"), id="json-with-escaped-slashes"),
        pytest.param(lambda text: json.dumps(json.dumps(text))[3:-3], id="json-in-json"),
        pytest.param(lambda text: quote(text, safe="", errors="surrogateescape"), id="percent"),
        pytest.param(lambda text: quote(text, safe="", errors="surrogateescape").lower(), id="lower-case-percent"),
        pytest.param(lambda text: quote(text, errors="surrogateescape"), id="path-of-a-url"),
        pytest.param(lambda text: quote(quote(text, safe="", errors="surrogateescape"), safe=""), id="percent-in-percent"),
        pytest.param(lambda text: quote_plus(text, errors="surrogateescape"), id="form"),
        pytest.param(
            lambda text: "".join(f"%{byte:02X}" for byte in raw(text)), id="percent-of-each-byte"
        ),
        pytest.param(
            lambda text: "".join(f"\\x{byte:02x}" for byte in raw(text)), id="backslash-x-of-each-byte"
        ),
        pytest.param(
            lambda text: every(lambda each: f"\\u{units(each).hex()}"
                               if len(units(each)) == 2
                               else json.dumps(each)[1:-1], shown(text)),
            id="unicode-escape-of-each-character",
        ),
        pytest.param(
            lambda text: every(lambda each: f"\\U{ord(each):08X}", shown(text)),
            id="long-unicode-escape-of-each-character",
        ),
        pytest.param(
            lambda text: every(lambda each: f"\\u{{{ord(each):x}}}", shown(text)),
            id="unicode-escape-in-braces",
        ),
        pytest.param(html.escape, id="html"),
        pytest.param(
            lambda text: every(lambda each: f"&#{ord(each)};", shown(text)), id="decimal-entities"
        ),
        pytest.param(
            lambda text: every(lambda each: f"&#x{ord(each):X};", shown(text)),
            id="hexadecimal-entities",
        ),
        pytest.param(lambda text: json.dumps(html.escape(text))[1:-1], id="html-in-json"),
        pytest.param(lambda text: raw(text).hex(), id="hex"),
        pytest.param(lambda text: raw(text).hex().upper(), id="upper-case-hex"),
        pytest.param(lambda text: b32(raw(text)), id="base32"),
        pytest.param(lambda text: b32(raw(text)).lower(), id="lower-case-base32"),
        pytest.param(lambda text: b32(raw(text)).rstrip("="), id="base32-without-padding"),
        pytest.param(lambda text: base64.b64encode(raw(text)).decode(), id="base64"),
        pytest.param(lambda text: base64.b64encode(raw(text)).decode().rstrip("="), id="base64-without-padding"),
        pytest.param(lambda text: quote(base64.b64encode(raw(text)), safe=""), id="base64-in-url"),
    ],
)  # fmt: skip
def test_secret_is_found_and_redacted_in_every_encoding(secret, encode):
    redactor = Redactor({"API_KEY": secret})
    for before, after in (("<", ">"), ("before ", " after"), ("%41é", "é%42")):
        text = f"{before}{encode(secret)}{after}"
        assert redactor.redact(text) == f"{before}[API_KEY]{after}"
        assert redactor.find_in(text) == "API_KEY"


def raw(text):
    return text.encode("utf-8", "surrogateescape")


def shown(text):
    """Return text with the bytes that are not UTF-8 as programs without them print them."""
    return "".join(
        chr(ord(each) - 0xDC00) if "\udc80" <= each <= "\udcff" else each for each in text
    )


def b32(content):
    return base64.b32encode(content).decode()


@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("after", range(6))
def test_secret_inside_base32_is_found_at_any_offset(before, after):
    encoded = b32(b"x" * before + raw(KEY) + b"z" * after)
    assert SECRETS.find_in(encoded) == "API_KEY"
    assert SECRETS.find_in(encoded.lower()) == "API_KEY"


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        pytest.param("41bcdef", "100%41bcdef", id="percent-sign-before-it"),
        pytest.param("12345%", "12345%41", id="secret-that-ends-like-an-escape"),
        pytest.param("amp;key", "&amp;key", id="ampersand-before-it"),
        pytest.param("nkey-1", "\\nkey-1", id="backslash-before-it"),
        pytest.param("\\\\\\\\", "\\\\\\\\", id="only-backslashes"),
    ],
)
def test_plain_secret_is_found_next_to_text_like_escapes(secret, text):
    assert Redactor({"API_KEY": secret}).find_in(text) == "API_KEY"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("İ" * 3 + " SENTINEL-1 İ", id="letters-with-a-longer-lower-case"),
        pytest.param("SENTINEL-1" * 3, id="repeated"),
    ],
)
def test_only_the_secret_is_replaced(text):
    assert Redactor({"X": "sentinel-1"}).redact(text) == text.replace("SENTINEL-1", "[X]")


@pytest.mark.parametrize(
    "unit", ["\\", "%", "%25", "&", "&a", "\\u", "\\ud83d", "%2", "x", "ſ", "\\\\%25&"]
)
def test_search_in_any_repeated_text_takes_linear_time(unit):
    secrets = Redactor({"API_KEY": "xxxxxxxxxxxxy" + unit * 20 + "z"})
    started = time.thread_time()
    text = unit * (100_000 // len(unit))
    assert secrets.redact(text) == text
    assert secrets.find_in(text) is None
    assert time.thread_time() - started < 5


@pytest.mark.parametrize("before", ["", "x", "xy", "user:", "Bearer "])
@pytest.mark.parametrize("after", ["", "z", "zz"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_secret_inside_base64_is_found_at_any_offset(before, after, encode):
    encoded = encode(f"{before}{KEY}{after}".encode()).decode()
    assert SECRETS.find_in(encoded) == "API_KEY"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        pytest.param({"a": [{"b": f"x {KEY}"}]}, "API_KEY", id="nested"),
        pytest.param({KEY: 1}, "API_KEY", id="key"),
        pytest.param({"a": "sk-", "b": 1}, None, id="absent"),
        pytest.param("abc", None, id="too-short"),
    ],
)
def test_secret_is_found_in_json_values(value, name):
    assert SECRETS.find_in(value) == name


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        pytest.param("two words", "x two+words", id="space-as-plus"),
        pytest.param("two words", "x two%20words", id="space-percent-encoded"),
        pytest.param("back\\slash", "x back\\\\\\\\slash", id="backslash-escaped-twice"),
        pytest.param("back\\\\slash", "x back\\\\slash", id="two-backslashes"),
        pytest.param("smile \U0001f600", "x smile \\ud83d\\uDE00", id="surrogate-pair-escapes"),
    ],
)
def test_escaped_characters_are_recognized(secret, text):
    assert Redactor({"API_KEY": secret}).redact(text) == "x [API_KEY]"


def test_empty_redactor_changes_nothing():
    assert Redactor({}).redact(KEY) == KEY
    assert Redactor({}).find_in(KEY) is None


def test_longest_secret_is_redacted_first():
    secrets = Redactor({"SHORT": "abcdef", "LONG": "abcdefghi"})
    assert secrets.redact("abcdefghi abcdef") == "[LONG] [SHORT]"


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        pytest.param("Authorization", True, id="authorization"),
        pytest.param("Proxy-Authorization", True, id="proxy-authorization"),
        pytest.param("X-Api-Key", True, id="api-key"),
        pytest.param("apikey", True, id="apikey"),
        pytest.param("Ocp-Apim-Subscription-Key", True, id="subscription-key"),
        pytest.param("Cookie", True, id="cookie"),
        pytest.param("X-Auth-Token", True, id="token"),
        pytest.param("client_secret", True, id="client-secret"),
        pytest.param("key", True, id="key"),
        pytest.param("X-Author", False, id="author"),
        pytest.param("X-Keyboard", False, id="keyboard"),
        pytest.param("X-Monkey", False, id="monkey"),
        pytest.param("Accept", False, id="accept"),
    ],
)
def test_secret_names(name, secret):
    assert is_secret_name(name) is secret


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        pytest.param("OPENAI_API_KEY", "x", True, id="api-key"),
        pytest.param("GITHUB_TOKEN", "x", True, id="token"),
        pytest.param("db_password", "x", True, id="lowercase-password"),
        pytest.param("TOKENIZER", "x", False, id="tokenizer"),
        pytest.param("SORT_KEY", "name", False, id="sort-key"),
        pytest.param("AUTHOR", "ann", False, id="author"),
        pytest.param("ENDPOINT", "https://host.test/v1", False, id="url"),
        pytest.param("ENDPOINT", "https://ann:pw@host.test/v1", True, id="url-with-password"),
        pytest.param("X", "ghp_0123456789abcdef", True, id="value-that-looks-like-a-token"),
    ],
)  # fmt: skip
def test_secret_variables(name, value, secret):
    assert is_secret_variable(name, value) is secret


def test_secrets_of_an_environment_are_redacted_in_keys_and_values():
    secrets = Redactor.from_environment({"TOKEN": KEY, "OTHER": "harmless"})
    assert secrets.redact_value({KEY: [KEY, "harmless", 1]}) == {
        "[TOKEN]": ["[TOKEN]", "harmless", 1]
    }


def test_short_value_is_not_redacted():
    assert Redactor.from_environment({"TOKEN": "abc"}).redact("abc") == "abc"
