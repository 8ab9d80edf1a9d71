"""Validation of candidates against a JSON Schema."""

from __future__ import annotations

import http.server
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.errors import OptionError
from fieldmark.evaluators.base import Status
from fieldmark.evaluators.json_schema import JsonSchema, SchemaError, SchemaErrors, check_schema
from fieldmark.model.case import Verdict

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
        pytest.param({"number": "A", "total": 1}, [], id="candidate-of-shape"),
        pytest.param({"number": "A", "total": 1, "more": 2}, [], id="keys-that-are-not-forbidden"),
        pytest.param({"number": "A"}, ['$: "total" is a required property'], id="key-is-missing"),
        pytest.param({"number": 7, "total": 1}, ['number: 7 is not of type "string"'], id="different-type"),
        pytest.param(
            {"number": "A", "total": 1, "lines": [{"amount": 1}, {}]},
            ['lines[1]: "amount" is a required property'],
            id="path-inside-list",
        ),
        pytest.param({"number": "A", "total": 1, "due": "soon"}, ['due: "soon" is not a "date"'], id="text-of-different-format"),
        pytest.param([], ['$: [] is not of type "object"'], id="document-itself"),
        pytest.param({"number": "A", "total": float("nan")}, ["total: nan is not a valid JSON number"], id="nan-is-not-null"),
        pytest.param({"number": "A", "total": float("inf")}, ["total: inf is not a valid JSON number"], id="infinity-is-not-null"),
        pytest.param({"number": "A", "total": 10**999}, [], id="long-integer-is-number"),
        pytest.param({"number": "A", "total": 10**9999}, ["total: integer has too many digits"], id="integer-too-long"),
        pytest.param({"number": "\ud800", "total": 1, "\udfff": 2}, [], id="half-character"),
    ],
)  # fmt: skip
def test_validation_errors_have_paths(candidate, misses):
    score = JsonSchema(schema=INVOICE).evaluate(None, candidate)
    assert list(score.misses) == misses
    assert score.score == (0.0 if misses else 1.0)
    assert score.verdict is (Verdict.FAIL if misses else Verdict.PASS)
    assert score.hits == (() if misses else ("matches the schema",))
    assert score.details["errors_total"] == len(misses)
    assert score.status is Status.OK


def test_errors_are_bounded_and_have_a_total():
    score = JsonSchema(schema={"items": {"type": "string"}}, max_errors=2).evaluate(None, [1] * 5)
    assert score.misses[-1] == "$: 5 errors in total"
    assert len(score.misses) == 3
    assert score.details == {
        "errors": [
            {"path": f"[{place}]", "message": '1 is not of type "string"'} for place in (0, 1)
        ],
        "errors_total": 5,
    }


def test_long_value_in_a_message_is_shortened():
    (miss,) = JsonSchema(schema={"maxLength": 3}).evaluate(None, "x" * 10_000).misses
    assert len(miss) < 250
    assert miss.endswith("is longer than 3 characters")


def test_too_deep_document_is_a_miss():
    deep = 1
    for _ in range(100_000):
        deep = [deep]
    recursive = JsonSchema(schema={"type": ["array", "number"], "items": {"$ref": "#"}})
    (miss,) = recursive.evaluate(None, deep).misses
    assert miss.endswith("nesting exceeds the limit of 200 levels")


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
        pytest.param({"prefixItems": [{"type": "string"}]}, None, False, id="latest-draft-by-default"),
        pytest.param({"prefixItems": [{"type": "string"}]}, "draft7", True, id="keyword-unknown-to-draft"),
        pytest.param({"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [{"type": "string"}]}, None, True, id="draft-from-schema"),
        pytest.param({"items": [{"type": "string"}]}, "draft4", False, id="keyword-of-draft"),
    ],
)  # fmt: skip
def test_draft_decides_the_meaning_of_keywords(schema, draft, valid):
    assert JsonSchema(schema=schema, draft=draft).evaluate(None, [1]).score == valid


def test_patterns_of_usual_size_are_compiled():
    JsonSchema(schema={"pattern": "x" * 60_000, "patternProperties": {"x" * 40_000: True}})
    JsonSchema(schema={"anyOf": [{"pattern": f"(?=a)\\w{{99}}{n}"} for n in range(10)]})
    codes = {f"code{n}": {"pattern": f"^(?!0)[A-Z]{{2}}[0-9]{{1,20}}{n}$"} for n in range(1_000)}
    JsonSchema(schema={"properties": codes})


@pytest.mark.parametrize(
    ("options", "option", "message"),
    [
        pytest.param({"schema": {"type": "strng"}}, "schema", '"strng"', id="unknown-type"),
        pytest.param({"schema": {"properties": []}}, "schema", "properties", id="path-in-schema"),
        pytest.param({"schema": {"pattern": "("}}, "schema", "pattern", id="bad-pattern"),
        pytest.param({"schema": {"pattern": "x" * 100_001}}, "schema", "patterns exceed the limit of 100,000 characters", id="long-pattern"),
        pytest.param({"schema": {"patternProperties": {"x" * 60_000: {"pattern": "x" * 40_001}}}}, "schema", "patterns exceed", id="long-patterns"),
        pytest.param({"schema": {"anyOf": [{"pattern": f"(?=a)\\w{{99}}{n}"} for n in range(100)]}}, "schema", "memory for patterns", id="large-patterns"),
        pytest.param({"schema": {"$ref": "#/nowhere"}}, "schema", "/nowhere", id="dangling-reference"),
        pytest.param({"schema": {"$schema": "http://nowhere.test/"}}, "schema", "nowhere", id="unknown-meta-schema"),
        pytest.param({"schema": {"const": "\ud800"}}, "schema", "surrogates", id="half-character"),
        pytest.param({"schema": [1]}, "schema", "an object", id="list"),
        pytest.param({"schema": {"$ref": "#"}}, "schema", "leads back to itself", id="reference-loop"),
    ],
)  # fmt: skip
def test_invalid_schema_or_option_is_rejected(options, option, message):
    with pytest.raises(OptionError, match=message) as caught:
        JsonSchema(**options)
    assert caught.value.option == option


@pytest.fixture
def server():
    """Return the requests that a server received, and its URL."""
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
def test_reference_to_a_url_is_rejected_and_not_followed(server, draft):
    requests, address = server
    with pytest.raises(OptionError, match="cannot fetch"):
        JsonSchema(schema={"$ref": address}, draft=draft)
    assert requests == []


@pytest.mark.parametrize("draft", [None, "draft7"])
def test_reference_to_a_file_is_rejected(draft):
    # A long path would be shortened in the message.
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(b'{"type": "string"}')
        file.flush()
        with pytest.raises(OptionError, match="ot fetch file:"):
            JsonSchema(schema={"$ref": Path(file.name).as_uri()}, draft=draft)


def test_reference_within_the_schema_is_followed():
    schema = {"$defs": {"amount": {"type": "number"}}, "items": {"$ref": "#/$defs/amount"}}
    assert JsonSchema(schema=schema).evaluate(None, ["1"]).misses == (
        '[0]: "1" is not of type "number"',
    )


DOUBLING = {"items": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}
"""A schema that is applied twice as often at each level of a document."""
SLOW_PATTERN = {"pattern": r"(x+x+)+y(?!a)"}
BACKTRACKING = {"items": SLOW_PATTERN}


def nested(levels):
    document = []
    for _ in range(levels):
        document = [document]
    return document


@pytest.mark.parametrize(
    ("schema", "document", "in_process"),
    [
        pytest.param(INVOICE, {"number": "A", "total": 1}, True, id="ordinary-schema"),
        pytest.param(INVOICE, {"lines": [{"amount": "x" * 1_000}] * 1_000}, True, id="large-document"),
        pytest.param({"items": {"$ref": "#"}}, nested(150), True, id="ordinary-recursion"),
        pytest.param(DOUBLING, nested(10), True, id="small-document"),
        pytest.param(DOUBLING, nested(60), False, id="doubling-recursion"),
        pytest.param(BACKTRACKING, ["x"], True, id="short-text-for-pattern"),
        pytest.param(BACKTRACKING, ["x" * 40] * 40, False, id="much-text-for-pattern"),
        pytest.param({"$dynamicAnchor": "a", "items": {"$dynamicRef": "#a"}}, [1], False, id="unknown-work"),
    ],
)  # fmt: skip
def test_only_documents_that_could_take_long_are_passed_to_the_runner(schema, document, in_process):
    passed = []

    def run(given):
        passed.append(given)
        return SchemaErrors([SchemaError("a", "is wrong")], 3)

    score = JsonSchema(schema=schema).evaluate(None, document, runner=run)
    if in_process:
        assert passed == []
    else:
        assert passed == [document]
        assert (score.score, score.misses) == (0.0, ("a: is wrong", "$: 3 errors in total"))


def test_document_that_could_take_very_long_is_an_error_without_a_runner():
    score = JsonSchema(schema=DOUBLING).evaluate(None, nested(60))
    assert (score.score, score.verdict, score.status) == (None, None, Status.ERROR)
    assert "could take very long" in score.reasoning


def test_failure_of_the_runner_is_an_error_and_never_a_score():
    run = lambda _: SchemaErrors(failure="timeout: too slow")  # noqa: E731
    score = JsonSchema(schema=DOUBLING).evaluate(None, nested(60), runner=run)
    assert (score.score, score.status, score.reasoning) == (None, Status.ERROR, "timeout: too slow")


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(SLOW_PATTERN, id="alone"),
        pytest.param({"not": SLOW_PATTERN}, id="negated"),
        pytest.param({"anyOf": [SLOW_PATTERN, {"type": "null"}]}, id="alternative"),
    ],
)
def test_pattern_that_takes_too_long_is_an_error_and_never_a_mismatch(schema):
    score = JsonSchema(schema=schema).evaluate(None, "x" * 40)
    assert (score.score, score.status) == (None, Status.ERROR)
    assert score.reasoning == "$: a pattern takes too long to match"


# --- limits of schemas and estimated work ---------------------------------------------------------


def chain(number, link, *, definitions="$defs"):
    """Return definitions that each contain `link(reference to the next one)`."""
    parts = {f"d{n}": link({"$ref": f"#/{definitions}/d{n + 1}"}) for n in range(number)}
    return {
        definitions: {**parts, f"d{number}": {"type": "number"}},
        "$ref": f"#/{definitions}/d0",
    }


def both(keyword):
    return lambda reference: {keyword: [reference, reference]}


def nested_schema(levels):
    schema = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


def cyclic():
    schema = {}
    schema["not"] = schema
    return schema


TOO_MANY = "with all references expanded, it exceeds the limit of 1,000,000 schemas for one value"
LOOP = "a reference leads back to itself without descending into the document"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        pytest.param(chain(30, both("allOf")), TOO_MANY, id="all-of-doubles"),
        pytest.param(chain(30, both("anyOf")), TOO_MANY, id="any-of-doubles"),
        pytest.param(chain(30, both("oneOf"), definitions="definitions"), TOO_MANY, id="one-of-doubles"),
        pytest.param(chain(30, lambda r: {"if": r, "then": r}), TOO_MANY, id="condition-doubles"),
        pytest.param(chain(30, lambda r: {"not": r, **r}), TOO_MANY, id="negation-and-reference"),
        pytest.param(chain(30, lambda r: {"dependentSchemas": {"a": r, "b": r}}), TOO_MANY, id="dependent-schemas-double"),
        pytest.param(chain(30, lambda r: {"dependencies": {"a": r, "b": r}}), TOO_MANY, id="dependencies-double"),
        pytest.param(chain(30, lambda r: {"allOf": [r], "unevaluatedProperties": False}), TOO_MANY, id="unevaluated-properties-double"),
        pytest.param(chain(100, lambda r: r), "a chain of references exceeds the limit of 100 references", id="long-chain"),
        pytest.param({"$ref": "#"}, LOOP, id="self-reference"),
        pytest.param({"allOf": [{"$ref": "#/allOf/0"}]}, LOOP, id="inner-self-reference"),
        pytest.param({"$defs": {"a": {"$anchor": "x", "anyOf": [{"$ref": "#x"}]}}, "$ref": "#x"}, LOOP, id="reference-by-anchor"),
        pytest.param({"$id": "http://a.test/s", "not": {"$ref": "http://a.test/s"}}, LOOP, id="reference-by-id"),
        pytest.param({"definitions": {"a/b": {"$ref": "#/definitions/a~1b"}}, "$ref": "#/definitions/a~1b"}, LOOP, id="escaped-pointer"),
        pytest.param(nested_schema(201), "nesting exceeds the limit of 200 levels", id="deep-schema"),
        pytest.param({"enum": [0] * 100_000}, "exceeds the limit of 100,000 values", id="large-schema"),
        pytest.param(cyclic(), "nesting exceeds the limit of 200 levels", id="cyclic-object"),
    ],
)  # fmt: skip
def test_schema_beyond_a_limit_is_rejected(schema, message):
    with pytest.raises(OptionError) as caught:
        check_schema(schema)
    assert (caught.value.option, caught.value.message) == ("schema", message)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(chain(16, both("allOf")), id="some-doubling"),
        pytest.param(chain(99, lambda r: r), id="chain-at-limit"),
        pytest.param(chain(2_000, lambda r: {"properties": {"a": r}}), id="chain-that-descends"),
        pytest.param({"items": {"$ref": "#"}}, id="recursion-that-descends"),
        pytest.param({"oneOf": [{"const": n} for n in range(10_000)]}, id="many-alternatives"),
        pytest.param(nested_schema(199), id="nesting-below-limit"),
        pytest.param(True, id="boolean"),
    ],
)
def test_schema_within_the_limits_is_accepted(schema):
    check_schema(schema)


@pytest.mark.parametrize(
    ("schema", "size", "depth", "work"),
    [
        pytest.param(True, 5, 0, 5, id="each-value-once"),
        pytest.param({"enum": [1, 2, 3]}, 1, 0, 5, id="listed-values"),
        pytest.param({"allOf": [{}, {}]}, 1, 0, 3, id="schemas-of-same-value"),
        pytest.param({"properties": {"a": {}, "b": {}}}, 1, 1, 2, id="one-child-has-one-schema"),
        pytest.param({"properties": {"a": {}}, "additionalProperties": {}}, 1, 1, 3, id="schema-for-all-children"),
        pytest.param({"prefixItems": [{}, {}, {}]}, 1, 1, 2, id="one-item-has-one-schema"),
        pytest.param({"items": [{}, {}], "additionalItems": {}}, 1, 1, 3, id="list-of-items"),
        pytest.param({"items": {}}, 1, 0, 1, id="scalar-has-no-children"),
        pytest.param({"items": {"$ref": "#"}}, 1, 3, 7, id="recursion-grows-with-depth"),
        pytest.param({"items": {"anyOf": [{"$ref": "#"}] * 2}}, 1, 10, 5 * 2**10 - 4, id="doubling-recursion"),
        pytest.param({"items": {"anyOf": [{"$ref": "#"}] * 2}}, 1, 100, 5 * 2**100 - 4, id="doubling-recursion-at-depth"),
        pytest.param({"pattern": "a"}, 2, 0, 2, id="linear-pattern"),
        pytest.param({"$dynamicRef": "#x"}, 1, 0, None, id="dynamic-reference"),
        pytest.param({"$ref": "http://json-schema.org/draft-07/schema#"}, 1, 0, None, id="reference-to-known-schema"),
        pytest.param({"items": {"$id": "inner", "not": {"$ref": "#"}}}, 1, 0, None, id="reference-with-own-base"),
        pytest.param({"oneOf": [{"const": n} for n in range(20_000)]}, 1, 200, None, id="too-large-to-estimate"),
    ],
)  # fmt: skip
def test_estimated_work(schema, size, depth, work):
    assert check_schema(schema).work(size, depth) == work


def test_backtracking_patterns_are_expensive():
    assert check_schema({"pattern": "a"}, backtracking=True).work(1, 0) == 10_001
    assert check_schema({"type": "null"}, backtracking=True).work(1, 0) == 1


names = st.sampled_from("abc")
references = st.builds(lambda name: {"$ref": f"#/$defs/{name}"}, names)
schemas = st.recursive(
    st.sampled_from([{}, True, {"type": "string"}]) | references,
    lambda inner: st.one_of(
        st.builds(lambda each: {"allOf": each}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda each: {"properties": each}, st.dictionaries(names, inner, max_size=2)),
        st.builds(lambda each: {"items": each}, inner),
    ),
    max_leaves=4,
)
documents = st.recursive(
    st.just(1),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=6,
)


def visits(schema, definitions, document):
    """Return how many schemas a validator applies to a document."""
    if not isinstance(schema, dict):
        return 1
    found = 1
    for keyword, value in schema.items():
        if keyword == "$ref":
            found += visits(definitions[value[-1]], definitions, document)
        elif keyword == "allOf":
            found += sum(visits(each, definitions, document) for each in value)
        elif keyword == "properties" and isinstance(document, dict):
            own = ((value[name], child) for name, child in document.items() if name in value)
            found += sum(visits(each, definitions, child) for each, child in own)
        elif keyword == "items" and isinstance(document, list):
            found += sum(visits(value, definitions, child) for child in document)
    return found


def measured(document):
    children = list(document.values()) if isinstance(document, dict) else document
    below = [measured(each) for each in children] if isinstance(children, list) else []
    return 1 + sum(size for size, _ in below), 1 + max((d for _, d in below), default=-1)


@given(st.fixed_dictionaries(dict.fromkeys("abc", schemas)), documents)
def test_estimated_work_is_an_upper_bound(definitions, document):
    schema = {"$defs": definitions, "$ref": "#/$defs/a"}
    try:
        cost = check_schema(schema)
    except OptionError:
        return
    assert visits(schema, definitions, document) <= cost.work(*measured(document))
