"""Limits of JSON Schemas and the estimated work of validation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.errors import OptionError
from fieldmark.evaluators.json_schema import check_schema


def chain(number, link, *, definitions="$defs"):
    """Return definitions that each contain `link(reference to the next one)`."""
    parts = {f"d{n}": link({"$ref": f"#/{definitions}/d{n + 1}"}) for n in range(number)}
    return {
        definitions: {**parts, f"d{number}": {"type": "number"}},
        "$ref": f"#/{definitions}/d0",
    }


def both(keyword):
    return lambda reference: {keyword: [reference, reference]}


def nested(levels):
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
        pytest.param(nested(201), "nesting exceeds the limit of 200 levels", id="deep-schema"),
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
        pytest.param(nested(199), id="nesting-below-limit"),
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
