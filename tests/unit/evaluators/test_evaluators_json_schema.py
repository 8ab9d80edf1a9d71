"""Whether a candidate has the shape that a JSON Schema describes."""

from __future__ import annotations

import http.server
import pickle
import tempfile
import threading
from pathlib import Path

import pytest

from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Status
from fieldmark.evaluators.json_schema import JsonSchema
from fieldmark.model.case import Verdict
from fieldmark.model.json import MISSING

INVOICE = {
    "type": "object",
    "required": ["number", "total"],
    "properties": {
        "number": {"type": "string"},
        "total": {"type": ["number", "null"]},
        "due": {"type": "string", "format": "date"},
        "lines": {"type": "array", "items": {"required": ["amount"]}},
    },
}


@pytest.mark.parametrize(
    ("candidate", "misses"),
    [
        pytest.param({"number": "A", "total": 1}, [], id="a-candidate-of-the-shape"),
        pytest.param({"number": "A", "total": 1, "more": 2}, [], id="keys-that-are-not-forbidden"),
        pytest.param({"number": "A"}, ['$: "total" is a required property'], id="a-key-is-missing"),
        pytest.param({"number": 7, "total": 1}, ['number: 7 is not of type "string"'], id="another-kind"),
        pytest.param(
            {"number": "A", "total": 1, "lines": [{"amount": 1}, {}]},
            ['lines[1]: "amount" is a required property'],
            id="the-place-inside-a-list",
        ),
        pytest.param({"number": "A", "total": 1, "due": "soon"}, ['due: "soon" is not a "date"'], id="a-text-of-another-format"),
        pytest.param([], ['$: [] is not of type "object"'], id="the-document-itself"),
        pytest.param({"number": "A", "total": float("nan")}, ["total: nan is no number of JSON"], id="nan-is-not-null"),
        pytest.param({"number": "A", "total": float("inf")}, ["total: inf is no number of JSON"], id="nor-is-infinity"),
        pytest.param({"number": "A", "total": 10**999}, [], id="a-long-integer-is-a-number"),
        pytest.param({"number": "A", "total": 10**9999}, ["total: the number is too long"], id="an-integer-that-has-no-text"),
        pytest.param({"number": "\ud800", "total": 1, "\udfff": 2}, [], id="half-a-character"),
    ],
)  # fmt: skip
def test_a_candidate_matches_the_schema_or_says_where_not(candidate, misses):
    score = JsonSchema(schema=INVOICE).evaluate(None, candidate)
    assert list(score.misses) == misses
    assert score.score == (0.0 if misses else 1.0)
    assert score.verdict is (Verdict.FAIL if misses else Verdict.PASS)
    assert score.hits == (() if misses else ("matches the schema",))
    assert score.details["errors_total"] == len(misses)
    assert score.status is Status.OK


@pytest.mark.parametrize(
    ("candidate", "unreadable"), [(MISSING, False), (MISSING, True), ({}, True)]
)
def test_no_readable_candidate_has_no_shape(candidate, unreadable):
    score = JsonSchema(schema=True).evaluate(None, candidate, unreadable=unreadable)
    assert (score.score, score.misses) == (0.0, ("$: no readable candidate",))


def test_errors_are_shown_up_to_a_limit_and_all_counted():
    score = JsonSchema(schema={"items": {"type": "string"}}, max_errors=2).evaluate(None, [1] * 5)
    assert score.misses[-1] == "$: 5 errors in all"
    assert len(score.misses) == 3
    assert score.details == {
        "errors": [
            {"path": f"[{place}]", "message": '1 is not of type "string"'} for place in (0, 1)
        ],
        "errors_total": 5,
    }


def test_a_long_value_gives_way_to_what_is_said_of_it():
    (miss,) = JsonSchema(schema={"maxLength": 3}).evaluate(None, "x" * 10_000).misses
    assert len(miss) < 250
    assert miss.endswith("is longer than 3 characters")


def test_a_document_that_is_too_deep_for_the_validator_is_a_miss():
    deep = 1
    for _ in range(100_000):
        deep = [deep]
    recursive = JsonSchema(schema={"type": ["array", "number"], "items": {"$ref": "#"}})
    (miss,) = recursive.evaluate(None, deep).misses
    assert miss.endswith("nested deeper than 200 levels")


@pytest.mark.parametrize(
    ("options", "value", "valid"),
    [
        pytest.param({}, "soon", False, id="formats-are-checked"),
        pytest.param({"formats": False}, "soon", True, id="unless-they-are-not-wanted"),
    ],
)
def test_formats(options, value, valid):
    assert JsonSchema(schema={"format": "date"}, **options).evaluate(None, value).score == valid


@pytest.mark.parametrize(
    ("schema", "draft", "valid"),
    [
        pytest.param({"prefixItems": [{"type": "string"}]}, None, False, id="the-latest-edition-by-default"),
        pytest.param({"prefixItems": [{"type": "string"}]}, "draft7", True, id="a-keyword-that-an-edition-lacks"),
        pytest.param({"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [{"type": "string"}]}, None, True, id="the-edition-that-the-schema-names"),
        pytest.param({"items": [{"type": "string"}]}, "draft4", False, id="a-keyword-of-that-edition"),
    ],
)  # fmt: skip
def test_the_edition_decides_what_keywords_mean(schema, draft, valid):
    assert JsonSchema(schema=schema, draft=draft).evaluate(None, [1]).score == valid


@pytest.mark.parametrize(
    ("options", "option", "told"),
    [
        pytest.param({"schema": {"type": "strng"}}, "schema", '"strng"', id="an-unknown-type"),
        pytest.param({"schema": {"properties": []}}, "schema", "properties", id="the-place-in-the-schema"),
        pytest.param({"schema": {"pattern": "("}}, "schema", "pattern", id="a-bad-pattern"),
        pytest.param({"schema": {"$ref": "#/nowhere"}}, "schema", "/nowhere", id="a-reference-to-nothing"),
        pytest.param({"schema": {"$schema": "http://nowhere.test/"}}, "schema", "nowhere", id="an-unknown-edition"),
        pytest.param({"schema": {"const": "\ud800"}}, "schema", "surrogates", id="half-a-character"),
        pytest.param({"schema": [1]}, "schema", "an object", id="a-list"),
        pytest.param({"schema": True, "draft": "draft8"}, "draft", "draft7", id="an-unknown-draft"),
        pytest.param({"schema": True, "formats": "yes"}, "formats", "true or false", id="formats-is-a-flag"),
        pytest.param({"schema": True, "max_errors": -1}, "max_errors", "at least 0", id="a-negative-limit"),
        pytest.param({"schema": True, "pass_threshold": 2}, "pass_threshold", "0 to 1", id="a-threshold-above-one"),
    ],
)  # fmt: skip
def test_a_schema_or_option_that_cannot_be_used_is_refused(options, option, told):
    with pytest.raises(OptionError, match=told) as caught:
        JsonSchema(**options)
    assert caught.value.option == option


@pytest.fixture
def asked():
    """Every request that reached a server, and its address."""
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *args):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield requests, f"http://127.0.0.1:{server.server_port}/schema.json"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("draft", [None, "draft7"])
def test_a_reference_to_an_address_is_refused_and_not_followed(asked, draft):
    requests, address = asked
    with pytest.raises(OptionError, match="cannot fetch"):
        JsonSchema(schema={"$ref": address}, draft=draft)
    assert requests == []


@pytest.mark.parametrize("draft", [None, "draft7"])
def test_a_reference_to_a_file_is_refused(draft):
    # A long path would be shortened in the message.
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(b'{"type": "string"}')
        file.flush()
        with pytest.raises(OptionError, match="ot fetch file:"):
            JsonSchema(schema={"$ref": Path(file.name).as_uri()}, draft=draft)


def test_a_reference_within_the_schema_is_followed():
    schema = {"$defs": {"amount": {"type": "number"}}, "items": {"$ref": "#/$defs/amount"}}
    assert JsonSchema(schema=schema).evaluate(None, ["1"]).misses == (
        '[0]: "1" is not of type "number"',
    )


def test_it_can_be_sent_to_another_process():
    copied = pickle.loads(pickle.dumps(JsonSchema(schema=INVOICE)))  # noqa: S301 - our own bytes
    assert copied.evaluate(None, {"number": "A"}).score == 0
    assert copied == JsonSchema(schema=INVOICE)


def test_a_threshold_may_decide_the_verdict():
    lenient = JsonSchema(schema=False, pass_threshold=0.0)
    assert lenient.evaluate(None, {}).verdict is Verdict.PASS
