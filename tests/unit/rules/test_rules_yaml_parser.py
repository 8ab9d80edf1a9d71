"""YAML: types, duplicates, tags, limits and problems."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from fieldmark.errors import ConfigError, Location
from fieldmark.rules import yaml_parser
from fieldmark.rules.config_values import MAX_DEPTH
from fieldmark.rules.yaml_parser import MAX_ALIASES, parse_yaml

SUITE = Path(__file__).parents[2] / "data" / "yaml-test-suite"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, word) for word in ("NO", "no", "No", "on", "off", "yes", "y", "True", "FALSE")),
        *((word, word) for word in ("Null", "~", "NaN", ".nan", ".inf", "-.inf", "nil")),
        *((word, word) for word in ("012", "0123", "00", "0x1F", "0o17", "0b1", "1_000", "+5")),
        *(
            (word, word)
            for word in ("12:30:45", "2024-01-01", "2024-01-01T10:00:00Z", "1.", "1.2.3")
        ),
        *((word, word) for word in ("1e", "--1", "=", "1,5", "٣", "-")[:-1]),
        ("true", True),
        ("false", False),
        ("null", None),
        ("", None),
        ("0", 0),
        ("-0", 0),
        ("42", 42),
        ("-7", -7),
        ("9007199254740993", 2**53 + 1),
        ("1.20", 1.2),
        ("-0.5", -0.5),
        (".85", 0.85),
        ("1e3", 1000.0),
        ("2.5E-2", 0.025),
        ("'42'", "42"),
        ('"true"', "true"),
        ("!!str 42", "42"),
        ("! 42", "42"),
        ("!!int 42", 42),
        ("!!float 42", 42),
        ("|\n  1\n", "1\n"),
    ],
)
def test_plain_scalars(text, value):
    found = parse_yaml(f"key: {text}").value["key"]
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        pytest.param("a: 1\nb: 2\na: 3", "duplicate key 'a'; first defined at line 1", 3, 1,
                     id="duplicate-key"),
        pytest.param("x:\n  a: 1\n  'a': 3", "duplicate key 'a'", 3, 3, id="duplicate-nested-key"),
        pytest.param("é: 1\ne\u0301: 2", "duplicate key 'e\u0301'", 2, 1, id="keys-with-different-normalization"),
        pytest.param("1: a\n'1': b", "key must be a string, got 1; put it in quotes", 1, 1,
                     id="number-as-key"),
        pytest.param("true: a", "key must be a string, got true", 1, 1, id="boolean-as-key"),
        pytest.param("? [a]\n: b", "key must be a string, got a list or an object", 1, 3,
                     id="list-as-key"),
        pytest.param(": b", "key must be a string, got an empty key", 1, 1, id="empty-key"),
        pytest.param("a: &x {k: 1}\nb:\n  <<: *x", "merge keys are not supported", 3, 3,
                     id="merge-key"),
        pytest.param("a: !!python/name:os.system x", "unknown tag 'tag:yaml.org,2002:python/", 1, 4,
                     id="python-tag"),
        pytest.param("a:\n  - !include x.yaml", "unknown tag '!include'; tags are not supported", 2, 5, id="include"),
        pytest.param("!function {a: 1}", "unknown tag '!function'; tags are not supported", 1, 1, id="tagged-object"),
        pytest.param("a: !!set {b}", "unknown tag 'tag:yaml.org,2002:set'; tags are not supported", 1, 4, id="set"),
        pytest.param("a: !!int x", "'x' does not match its tag", 1, 4, id="tag-mismatch"),
        pytest.param("a: &x [*x]", "recursive alias 'x'", 1, 8, id="recursive-alias"),
        pytest.param("a: *x", "undefined alias 'x'", 1, 4, id="undefined-alias"),
        pytest.param("a: 1\n---\nb: 2", "multiple documents are not supported", 2, 1,
                     id="two-documents"),
        pytest.param("a: 1e999", "number out of range: 1e999", 1, 4, id="infinity"),
        pytest.param(f"a: {'9' * 1001}", "number has too many digits (limit 1,000)", 1, 4,
                     id="huge-number"),
        pytest.param("a:\n\tb: 1", "invalid YAML", 2, 1, id="tab-as-indentation"),
        pytest.param("a: [1, 2", "invalid YAML", 1, 9, id="unclosed-bracket"),
        pytest.param("a: b: c", "invalid YAML", 1, 5, id="two-colons"),
        pytest.param("a: 1\nb: \x01", "invalid YAML", 2, 4, id="control-character"),
        pytest.param("%YAML 3.7\n---\na: 1", "invalid YAML", 1, 1, id="unknown-version"),
    ],
)  # fmt: skip
def test_problems_have_locations(text, message, line, column):
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, file="rules.yaml")
    first = caught.value.problems[0]
    assert str(first).startswith(f"rules.yaml:{line}:{column}: {message}")


def test_all_problems_are_reported_at_once():
    with pytest.raises(ConfigError) as caught:
        parse_yaml("a: !x 1\na: 2\n3: !y 4\n")
    assert [problem.location.line for problem in caught.value.problems] == [1, 2, 3, 3]


def _laughs(levels: int) -> str:
    lines = ["l0: &l0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [
        f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 9)}]" for level in range(1, levels)
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(_laughs(9), "too many values after expanding aliases", id="alias-bomb"),
        pytest.param("a: &x 1\nb: [" + "*x, " * (MAX_ALIASES + 1) + "]", r"too many aliases \(limit 100\)",
                     id="too-many-aliases"),
        pytest.param("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nesting exceeds the limit of 50 levels",
                     id="too-deep"),
        pytest.param("[" * 100_000, "nesting exceeds the limit of 50 levels", id="far-too-deep"),
        pytest.param("- " * 100_000, "nesting exceeds the limit of 50 levels", id="far-too-deep-in-block-style"),
        pytest.param("a: &x " + "[" * 30 + "]" * 30 + "\nb: " + "[" * 30 + "*x" + "]" * 30,
                     "nesting exceeds the limit of 50 levels", id="too-deep-through-alias"),
        pytest.param("a: " + "!" * 900_000, "tag is too long", id="long-tag"),
    ],
)  # fmt: skip
def test_expanding_documents_are_rejected_early(text, message):
    started = time.process_time()
    with pytest.raises(ConfigError, match=message):
        parse_yaml(text)
    assert time.process_time() - started < 10


def test_the_number_of_values_is_limited(monkeypatch):
    monkeypatch.setattr(yaml_parser, "MAX_NODES", 101)
    assert parse_yaml("[" + "1," * 100 + "]").value == [1] * 100
    with pytest.raises(ConfigError, match=r"too many values after expanding aliases \(limit 101\)"):
        parse_yaml("[" + "1," * 101 + "]")


def test_the_deepest_document_is_accepted():
    assert parse_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH).value


def test_aliases_are_resolved():
    located = parse_yaml("a: &x {b: [1]}\nc: *x\nd: *x")
    assert located.value == {"a": {"b": [1]}, "c": {"b": [1]}, "d": {"b": [1]}}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: 1\r\nb: [2]\r\n", id="carriage-returns"),
        pytest.param("---\na: 1\nb: [2]\n...\n", id="document-marks"),
        pytest.param("%YAML 1.2\n---\na: 1\nb: [2]", id="directive"),
        pytest.param('{"a":1,"b":[2]}', id="json"),
        pytest.param("# why\na: 1 # this\nb:\n- 2", id="comments"),
    ],
)
def test_equivalent_documents(text):
    assert parse_yaml(text).value == {"a": 1, "b": [2]}


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "\n\n"])
def test_an_empty_file_is_null(text):
    assert parse_yaml(text).value is None


def test_values_and_keys_have_locations():
    located = parse_yaml("a: 1\nb:\n  - c: x\n", file="f.yaml")
    assert located.entries["b"].items[0].entries["c"].location == Location("f.yaml", 3, 8)
    assert located.entries["b"].items[0].key_location("c") == Location("f.yaml", 3, 5)
    assert located.key_location("b") == Location("f.yaml", 2, 1)
    assert located.key_location("absent") == located.location == Location("f.yaml", 1, 1)


def _suite() -> list[tuple[str, dict[str, object]]]:
    found = []
    for file in sorted(SUITE.glob("*.yaml")):
        cases = YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))
        found += [
            (f"{file.stem}-{place}", case) for place, case in enumerate(cases) if "yaml" in case
        ]
    return found


def _unmarked(text: str) -> str:
    text = re.sub("—*»", "\t", text.replace("␣", " "))
    for sign, character in (("↵", ""), ("∎\n", ""), ("←", "\r"), ("⇔", "\ufeff")):
        text = text.replace(sign, character)
    return text


ACCEPTED_INVALID = {"9C9N-0"}
"""The parser accepts the wrong indentation of a bracket."""


def _read(text: str) -> tuple[object, list[Location]]:
    try:
        return parse_yaml(text).value, []
    except ConfigError as error:
        return None, [problem.location for problem in error.problems]


@pytest.mark.parametrize(("name", "case"), [pytest.param(*row, id=row[0]) for row in _suite()])
def test_yaml_test_suite(name, case):
    value, problems_at = _read(_unmarked(case["yaml"]))
    assert all(place.line for place in problems_at)
    if case.get("fail"):
        assert problems_at or name in ACCEPTED_INVALID
    elif case.get("json") and not problems_at:
        assert value == json.loads(case["json"])


def test_cached_results_are_independent():
    text = "a: {b: [1, {c: []}], d: {}}\n"
    first = parse_yaml(text, file="x.yaml")
    first.value["a"]["b"][1]["c"].append(2)
    first.value["a"]["d"]["e"] = 3
    first.entries["a"].value["b"].append(4)
    again = parse_yaml(text, file="x.yaml")
    assert again.value == {"a": {"b": [1, {"c": []}], "d": {}}}
    assert again.entries["a"].entries["b"].items[1].value == {"c": []}
    assert parse_yaml(text, file="y.yaml").location.file == "y.yaml"
    assert str(again.entries["a"].key_location("d")) == "x.yaml:1:22"


def test_cached_text_is_rejected_again():
    for _ in range(2):
        with pytest.raises(ConfigError, match="duplicate key"):
            parse_yaml("a: 1\na: 2\n")
