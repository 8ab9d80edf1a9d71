"""Rules from JSON Schemas: types, formats, references, options, and schemas that are too large."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark.analyses.infer import schema_rules
from fieldmark.analyses.infer.schema_rules import is_json_schema, rules_of_schema
from fieldmark.errors import ConfigError
from fieldmark.rules.config_files import parse_json
from fieldmark.rules.config_values import Problems, locate
from fieldmark.rules.rules_file import read_rules
from fieldmark.values.numbers import numbers_in
from json_strategies import small_json

TEXT = {"match": "fuzzy", "threshold": 0.85, "numbers": "exact"}
EXACT = {"match": "exact"}
NUMBER = {"match": "numeric_tolerance", "tolerance": 0}


def read(schema):
    problems = Problems()
    located = locate(schema, problems)
    problems.raise_any()
    return rules_of_schema(located)


def settings_of(schema, **definitions):
    """Return the settings of all rules of a schema for the key `x`, by path."""
    rules, _ = read({"properties": {"x": schema}, "$defs": definitions})
    return {rule.path: dict(rule.settings) for rule in rules}


@pytest.mark.parametrize(
    ("schema", "settings"),
    [
        pytest.param({"type": "boolean"}, {"match": "boolean"}, id="boolean"),
        pytest.param({"type": "integer"}, NUMBER, id="integer"),
        pytest.param({"type": "number"}, NUMBER, id="number"),
        pytest.param({"type": ["number", "null"]}, NUMBER, id="nullable-number"),
        pytest.param({"type": "string"}, TEXT, id="text"),
        pytest.param({"type": "string", "format": "date"}, {"match": "date"}, id="date"),
        pytest.param({"format": "date"}, {"match": "date"}, id="format-without-type"),
        pytest.param({"type": "string", "format": "date-time"}, {"match": "date"}, id="date-time"),
        pytest.param({"anyOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}]}, {"match": "date"}, id="date-or-date-time"),
        pytest.param({"type": "string", "format": "time"}, {"match": "time"}, id="time"),
        pytest.param({"type": "string", "format": "email"}, {"match": "email"}, id="email"),
        pytest.param({"type": "string", "format": "uri"}, {"match": "url"}, id="uri"),
        pytest.param({"type": "string", "format": "uuid"}, {"match": "identifier"}, id="uuid"),
        pytest.param({"type": "string", "format": "phone"}, {"match": "phone"}, id="phone"),
        pytest.param({"type": "string", "format": "ipv4"}, EXACT, id="other-format"),
        pytest.param({"type": "string", "format": 3}, TEXT, id="format-that-is-no-text"),
        pytest.param({"type": "string", "pattern": "^[A-Z]{3}$"}, EXACT, id="pattern"),
        pytest.param({"enum": ["a", "b"]}, EXACT, id="enumeration"),
        pytest.param({"enum": ["a", None]}, EXACT, id="nullable-enumeration"),
        pytest.param({"const": 3}, EXACT, id="constant"),
        pytest.param({"anyOf": [{"enum": ["a"]}, {"type": "string"}]}, TEXT, id="open-enumeration"),
        pytest.param({"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "null"}]}, NUMBER, id="decimal-of-pydantic"),
        pytest.param({"anyOf": [{"type": "integer"}, {"type": "string"}]}, EXACT, id="several-types"),
        pytest.param({"oneOf": [{"type": "integer"}, {"type": "number"}]}, NUMBER, id="integer-or-number"),
        pytest.param({"allOf": [{"$ref": "#/$defs/day"}]}, {"match": "date"}, id="all-of-reference"),
        pytest.param({"$ref": "#/$defs/day"}, {"match": "date"}, id="reference"),
        pytest.param({"anyOf": [{"$ref": "#/$defs/day"}, {"type": "null"}]}, {"match": "date"}, id="nullable-reference"),
    ],
)  # fmt: skip
def test_scalars(schema, settings):
    day = {"type": "string", "format": "date"}
    assert settings_of(schema, day=day) == {"x": settings}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({}, id="anything"),
        pytest.param(True, id="true"),
        pytest.param(False, id="false"),
        pytest.param({"type": "null"}, id="null"),
        pytest.param({"const": None}, id="constant-null"),
        pytest.param({"type": "text"}, id="unknown-type"),
        pytest.param({"type": "array"}, id="list-of-anything"),
        pytest.param({"type": "object"}, id="object-of-anything"),
        pytest.param({"not": {"type": "string"}}, id="not"),
    ],
)
def test_nothing_is_proposed_if_nothing_is_known(schema):
    assert settings_of(schema) == {}


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        ("invoice_number", {"match": "identifier"}),
        ("poId", {"match": "identifier"}),
        ("vendor_name", {"match": "name"}),
        ("currency", {"match": "currency"}),
        ("shippingAddress", {"match": "address"}),
        ("phone", {"match": "identifier"}),
        ("e-mail", {"match": "email"}),
        ("website", {"match": "url"}),
        ("issue_date", {"match": "date"}),
        ("notes", TEXT),
    ],
)
def test_the_name_of_text_decides_without_a_format(key, settings):
    rules, _ = read({"properties": {key: {"type": "string"}}})
    assert [dict(rule.settings) for rule in rules] == [settings]
    (named,) = read({"properties": {key: {"type": "string", "format": "date"}}})[0]
    assert named.settings == {"match": "date"}


LINE = {
    "type": "object",
    "properties": {"sku": {"enum": ["a", "b"]}, "description": {"type": "string"}, "n": {"type": "integer"}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"type": "array", "items": {"type": "string"}}, {"x": {"align": "greedy"}, "x[*]": TEXT}, id="list-of-scalars"),
        pytest.param(
            {"type": "array", "items": LINE},
            {"x": {"align": "greedy", "match_fields": ["description"], "threshold": 0.5}, "x[*].sku": EXACT, "x[*].description": TEXT, "x[*].n": NUMBER},
            id="list-of-objects-with-a-description",
        ),
        pytest.param({"type": "array", "items": {"properties": {"n": {"type": "integer"}}}}, {"x": {"align": "greedy"}, "x[*].n": NUMBER}, id="list-of-objects"),
        pytest.param({"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4}, {"x": {"align": "index"}, "x[*]": NUMBER}, id="fixed-length"),
        pytest.param({"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}]}, {"x": {"align": "index"}, "x[*]": NUMBER}, id="tuple-of-one-type"),
        pytest.param({"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]}, {"x": {"align": "index"}, "x[0]": NUMBER, "x[1]": TEXT}, id="tuple"),
        pytest.param({"type": "array", "items": [{"type": "number"}, {"type": "string"}]}, {"x": {"align": "index"}, "x[0]": NUMBER, "x[1]": TEXT}, id="tuple-of-older-drafts"),
        pytest.param({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "number"}}, {"x": {"align": "index"}, "x[0]": TEXT, "x[*]": NUMBER}, id="tuple-with-more-items"),
        pytest.param({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, {"x": {"align": "greedy"}, "x[*]": {"align": "greedy"}, "x[*][*]": NUMBER}, id="nested-lists"),
        pytest.param({"properties": {"a.b": {"type": "integer"}, "c": {"properties": {"d": {"type": "string"}}}}}, {'x["a.b"]': NUMBER, "x.c.d": TEXT}, id="nested-objects"),
        pytest.param({"additionalProperties": LINE}, {"x": {"align": "entries", "match_fields": ["description"], "threshold": 0.5}, "x[*].sku": EXACT, "x[*].description": TEXT, "x[*].n": NUMBER}, id="map-of-objects"),
        pytest.param({"additionalProperties": {"type": "number"}}, {"x.**": NUMBER}, id="keys-of-scalars-are-compared"),
        pytest.param({"patternProperties": {"^[A-Z]{3}$": {"type": "number"}}}, {"x.**": NUMBER}, id="patterns-of-keys"),
        pytest.param({"additionalProperties": {"type": "array", "items": {"type": "integer"}}}, {"x.**": NUMBER}, id="map-of-lists"),
        pytest.param({"additionalProperties": {"type": "array", "items": LINE}}, {"x.**.sku": EXACT, "x.**.description": TEXT, "x.**.n": NUMBER}, id="map-of-lists-of-objects"),
        pytest.param({"additionalProperties": {"additionalProperties": {"type": "integer"}}}, {"x.**": NUMBER}, id="map-of-maps"),
        pytest.param({"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}}, {"x.a": NUMBER}, id="named-and-other-keys"),
        pytest.param({"oneOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"a": {"type": "string"}, "b": {"type": "boolean"}}}]}, {"x.a": EXACT, "x.b": {"match": "boolean"}}, id="union-of-objects"),
        pytest.param({"properties": {"a": {"type": "integer"}}, "if": {}, "then": {"properties": {"b": {"type": "integer"}}}, "else": {"properties": {"c": {"type": "integer"}}}}, {"x.a": NUMBER, "x.b": NUMBER, "x.c": NUMBER}, id="conditions"),
        pytest.param({"properties": {"a": {"type": "integer"}}, "dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}}}}, {"x.a": NUMBER, "x.b": NUMBER}, id="dependent-schemas"),
    ],
)  # fmt: skip
def test_containers(schema, expected):
    assert settings_of(schema) == expected


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        pytest.param({"type": "array", "items": LINE}, ["[*].sku", "[*].description", "[*].n"], id="list"),
        pytest.param({"additionalProperties": LINE}, ["$", "[*].sku", "[*].description", "[*].n"], id="map"),
        pytest.param({"additionalProperties": {"type": "number"}}, ["**"], id="map-of-scalars"),
        pytest.param({"type": "string"}, ["$"], id="scalar"),
        pytest.param({"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"a": {"type": "string"}}}}}, ["a"], id="reference"),
    ],
)  # fmt: skip
def test_whole_documents(schema, paths):
    assert [rule.path for rule in read(schema)[0]] == paths


def test_reasons_have_descriptions():
    schema = {
        "properties": {
            "total": {"type": "number", "description": "The total,\n  with tax."},
            "paid": {"$ref": "#/$defs/flag"},
            "state": {"enum": ["Open", "Paid", 3, None, "Lost"], "description": "x" * 500},
            "at": {"type": "string", "format": "date-time"},
        },
        "$defs": {"flag": {"type": "boolean", "description": "A flag"}},
    }
    reasons = [rule.reason for rule in read(schema)[0]]
    assert reasons == [
        "The total, with tax: numbers, compared by value",
        "A flag: booleans",
        f"{'x' * 119}…: one of: Open, Paid, 3, …; compared exactly",
        "ISO date-times, compared by day; times are ignored",
    ]


class TestOptions:
    @pytest.mark.parametrize(
        ("schema", "settings"),
        [
            pytest.param({"type": "number", "x-fieldmark": {"tolerance": 0.01, "weight": 2}}, {**NUMBER, "tolerance": 0.01, "weight": 2}, id="added-to-the-proposal"),
            pytest.param({"type": "number", "x-fieldmark": {"match": "money", "currency": "USD"}}, {"match": "money", "currency": "USD"}, id="another-comparator"),
            pytest.param({"type": "string", "x-fieldmark": "ignore"}, {"match": "ignore"}, id="word"),
            pytest.param({"type": "string", "x-fieldmark": {"required": False}}, {**TEXT, "required": False}, id="optional"),
            pytest.param({"x-fieldmark": {"match": "boolean"}}, {"match": "boolean"}, id="no-type"),
            pytest.param({"type": "object", "properties": {"a": {"type": "string"}}, "x-fieldmark": {"match": "exact"}}, EXACT, id="object-as-one-value"),
            pytest.param({"type": "array", "items": {"type": "string"}, "x-fieldmark": {"match": "set"}}, {"match": "set"}, id="list-as-one-value"),
            pytest.param({"type": "array", "items": {"type": "number"}, "x-fieldmark": {"any_of": True}}, {**NUMBER, "any_of": True}, id="acceptable-values"),
            pytest.param({"type": "array", "x-fieldmark": {"align": "index"}}, {"align": "index"}, id="alignment"),
            pytest.param({"$ref": "#/$defs/amount"}, {"match": "money", "weight": 3}, id="of-the-definition"),
            pytest.param({"$ref": "#/$defs/amount", "x-fieldmark": {"tolerance": 1}}, {"match": "money", "weight": 3, "tolerance": 1}, id="added-to-the-definition"),
            pytest.param({"$ref": "#/$defs/amount", "x-fieldmark": {"match": "exact"}}, {"match": "exact", "weight": 3}, id="instead-of-the-definition"),
            pytest.param({"type": "string", "x-fieldmark": {"match": "house:same"}}, {"match": "house:same"}, id="function"),
        ],
    )  # fmt: skip
    def test_options_of_a_rule(self, schema, settings):
        amount = {"type": "number", "x-fieldmark": {"match": "money", "weight": 3}}
        assert settings_of(schema, amount=amount) == {"x": settings}

    def test_options_of_items(self):
        lines = {"type": "array", "items": LINE, "x-fieldmark": {"align": "key", "key": ["sku"]}}
        settings = settings_of(lines)
        assert settings["x"] == {"align": "key", "key": ["sku"]}
        assert list(settings) == ["x", "x[*].sku", "x[*].description", "x[*].n"]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ('{"match": "fuzy"}', "Invalid match type: fuzy"),
            ('{"weight": -1}', "weight: must be a number of at least 0"),
            ('{"path": "a"}', "'path' is not allowed"),
            ("3", "x-fieldmark: expected an object, got 3"),
            ("{}", "x-fieldmark: expected an object, got an object"),
        ],
    )
    def test_problems_are_those_of_a_rules_file_with_their_line(self, options, message):
        text = '{"properties": {"x": {\n"type": "string",\n"x-fieldmark": ' + options + "}}}"
        with pytest.raises(ConfigError) as error:
            rules_of_schema(parse_json(text, file="a.json"))
        assert message in str(error.value)
        assert {problem.location.line for problem in error.value.problems} == {3}

    def test_options_without_effect_are_problems(self):
        schema = {"properties": {"a": {"type": "string"}}, "x-fieldmark": {"weight": 2}}
        with pytest.raises(ConfigError, match="weight has no effect on an object"):
            settings_of(schema)

    def test_all_problems_are_listed(self):
        bad = {"type": "string", "x-fieldmark": {"match": "nope"}}
        broken = {"$ref": "#/$defs/missing"}
        with pytest.raises(ConfigError) as error:
            read({"properties": {"a": bad, "b": bad, "c": broken}})
        assert len(error.value.problems) == 3


class TestReferences:
    def test_a_recursive_schema_is_repeated_once(self):
        node = {
            "properties": {
                "label": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            }
        }
        rules, warnings = read({"$ref": "#/$defs/node", "$defs": {"node": node}})
        assert [rule.path for rule in rules] == [
            "label", "children", "children[*].label", "children[*].children",
        ]  # fmt: skip
        (warning,) = warnings
        assert "children[*].children[*]: the schema repeats itself" in str(warning)

    def test_other_files_are_not_read(self, tmp_path):
        (tmp_path / "other.json").write_text('{"type": "string"}')
        reference = {"$ref": "other.json#/x"}
        rules, warnings = read({"properties": {"a": reference, "b": {"type": "boolean"}}})
        assert [rule.path for rule in rules] == ["b"]
        assert "other files are not read" in str(warnings[0])

    def test_anchors_are_resolved(self):
        settings = settings_of({"$ref": "#day"}, day={"$anchor": "day", "format": "date"})
        assert settings == {"x": {"match": "date"}}


def doubling(levels):
    """Definitions that each contain the next one twice."""
    inner = {
        f"d{n}": {"properties": {k: {"$ref": f"#/$defs/d{n + 1}"} for k in "ab"}}
        for n in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**inner, f"d{levels}": {"type": "string"}}}


def chain(levels):
    inner = {f"d{n}": {"properties": {"a": {"$ref": f"#/$defs/d{n + 1}"}}} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**inner, f"d{levels}": {"type": "string"}}}


def wide(names, branches):
    return {
        "properties": {f"p{n}": {"$ref": "#/$defs/any"} for n in range(names)},
        "$defs": {"any": {"anyOf": [{"minLength": n} for n in range(branches)]}},
    }


def mutual(number):
    """Definitions that all contain each other."""
    names = [f"d{n}" for n in range(number)]
    definition = {"properties": {name: {"$ref": f"#/$defs/{name}"} for name in names}}
    return {"$ref": "#/$defs/d0", "$defs": dict.fromkeys(names, definition)}


class TestLimits:
    @pytest.mark.parametrize(
        ("schema", "message"),
        [
            pytest.param(doubling(30), "describes more than 10,000 values", id="doubling"),
            pytest.param(mutual(12), "describes more than 10,000 values", id="mutual-recursion"),
            pytest.param(chain(60), "nesting exceeds the limit of 50 levels", id="long-chain"),
            pytest.param(wide(5_000, 5_000), "too many references and combinations", id="wide"),
            pytest.param({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "leads back to itself", id="loop"),
            pytest.param({"properties": {f"p{n}": True for n in range(10_001)}}, "describes more than 10,000 values", id="many-properties"),
            pytest.param({"enum": list(range(100_001))}, "too many values", id="huge-enumeration"),
            pytest.param({"properties": {"x" * 5_000: {"type": "string"}}}, "path", id="long-key"),
            pytest.param([], "expected a JSON Schema, got a list", id="list"),
            pytest.param("x", "expected a JSON Schema, got 'x'", id="text"),
        ],
    )  # fmt: skip
    def test_schemas_beyond_a_limit_are_rejected(self, schema, message):
        with pytest.raises(ConfigError) as error:
            read(schema)
        assert message in str(error.value)

    def test_a_cyclic_mapping_is_rejected(self):
        schema = {}
        schema["properties"] = {"a": schema}
        with pytest.raises(ConfigError, match=r"too many values|nesting exceeds"):
            read(schema)

    def test_recursion_is_not_repeated_if_the_rules_would_be_too_many(self):
        names = [f"p{n}" for n in range(120)]
        node = {"properties": {name: {"$ref": "#/$defs/node"} for name in names}}
        node["properties"]["leaf"] = {"type": "string"}
        rules, warnings = read({"$ref": "#/$defs/node", "$defs": {"node": node}})
        assert [rule.path for rule in rules] == ["leaf"]
        assert len(warnings) == 120

    def test_large_enumerations_and_schemas_are_read(self):
        schema = {
            "properties": {f"p{n}": {"$ref": "#/$defs/code"} for n in range(5_000)},
            "$defs": {"code": {"enum": [f"code {n}" for n in range(50_000)]}},
        }
        rules, _ = read(schema)
        assert len(rules) == 5_000


@pytest.mark.parametrize(
    ("value", "is_schema"),
    [
        ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, True),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array"}, True),
        ({"$schema": "mine", "properties": {}}, True),
        ({"$schema": "./invoice.schema.json", "total": 3}, False),
        ({"$schema": 3, "total": 3}, False),
        ({"type": "object", "properties": {"a": {}}}, True),
        ({"type": "object", "properties": [1]}, False),
        ({"type": "invoice", "properties": {"a": 1}}, False),
        ({"$ref": "#/$defs/a", "$defs": {"a": {}}}, True),
        ({"total": 3}, False),
        ([{"$schema": "https://json-schema.org/draft/2020-12/schema"}], False),
        (None, False),
    ],
)
def test_schemas_are_told_from_data(value, is_schema):
    assert is_json_schema(value) is is_schema


KEYS = st.sampled_from(["a", "name", "b c", "due_date"]) | st.text()
CONTAINING = {
    "properties": lambda inner: st.dictionaries(KEYS, inner, min_size=1, max_size=3),
    "items": lambda inner: inner,
    "additionalProperties": lambda inner: inner,
    "anyOf": lambda inner: st.lists(inner, min_size=1, max_size=3),
}


def optional_keywords(inner):
    return {
        "prefixItems": st.lists(inner, max_size=2),
        "allOf": st.lists(inner, max_size=3),
        "then": inner,
        "$defs": st.fixed_dictionaries({"a": inner}),
        "x-fieldmark": st.sampled_from(["ignore", {"weight": 2}, {"align": "greedy"}]),
    }


schemas = st.recursive(
    st.booleans()
    | st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "number", "integer", "boolean", "null", "array", "object", ["string", "null"], 3]),
            "format": st.sampled_from(["date", "date-time", "email", "uri", "uuid", "phone", "x"]),
            "pattern": st.just("^a"),
            "enum": st.lists(small_json, max_size=3),
            "const": small_json,
            "description": st.text(),
            "$ref": st.sampled_from(["#", "#/properties/a", "#/$defs/a", "other.json"]),
            "minItems": st.just(2),
            "maxItems": st.just(2),
            "x-fieldmark": st.sampled_from(["ignore", {"weight": 2}, {"match": "exact"}, {"align": "greedy"}, 3]),
        },
    ),
    lambda inner: st.one_of(
        [
            st.fixed_dictionaries({keyword: of(inner)}, optional=optional_keywords(inner))
            for keyword, of in CONTAINING.items()
        ]
    ),
    max_leaves=15,
)  # fmt: skip


@given(schemas | small_json)
def test_any_schema_gives_valid_rules_or_a_configuration_error(schema):
    try:
        rules, _ = read(schema)
    except ConfigError:
        return
    fields = [{"path": rule.path, **rule.settings} for rule in rules]
    if fields:
        read_rules(json.loads(json.dumps({"fields": fields})))


SILENT = [
    {"type": "string", "format": form} for form in ("date", "email", "uri", "uuid", "time", "ipv4")
] + [{"type": "string"}, {"type": "number"}, {"enum": ["a"]}, {"type": "string", "pattern": "^a"}]
NAMES = ["number", "name", "address", "mail", "website", "date", "notes"]


@given(
    st.sampled_from(SILENT),
    st.sampled_from(NAMES),
    st.text("ab0123 -/.", max_size=9),
    st.text("ab0123 -/.", max_size=9),
)
def test_no_rule_matches_text_with_other_digits(schema, name, expected, candidate):
    """Dates and addresses may write the same number in another way, but with no other digits."""
    digits = [sorted("".join(numbers_in(text))) for text in (expected, candidate)]
    if digits[0] == digits[1]:
        return
    (rule,) = read_rules(settings_list({"properties": {name: schema}})).rules.fields
    comparison = rule.comparator.compare(expected, candidate)
    if rule.comparator.name in ("date", "numeric_tolerance") and comparison.matched:
        return  # 1/2/03 and 2003-01-02 are the same day, and 1.0 is 1
    assert not comparison.matched


def settings_list(schema):
    return [{"path": rule.path, **rule.settings} for rule in read(schema)[0]]


def test_the_limits_are_those_of_the_documentation():
    assert (schema_rules._MAX_FIELDS, schema_rules._MAX_LEVELS) == (10_000, 50)
