"""`validate` of the largest allowed files needs little memory and time, whatever they contain."""

from __future__ import annotations

import json
import resource
import subprocess
from collections.abc import Callable

import pytest

from fieldmark.rules.config_files import MAX_TABLE_BYTES
from proving import rows
from published.command_line import COMMAND, ENVIRONMENT

GIGABYTE = 1 << 30
CPU_SECONDS = 60
"""Ten seconds on a common machine; the limit is generous because it must never fail by chance."""


def fields(row: Callable[[int], str], number: int) -> str:
    return "fields:\n" + "".join(f"  {row(place)}\n" for place in range(number))


def strategies(entry: Callable[[int], tuple[str, str]], number: int) -> str:
    return json.dumps(dict(map(entry, range(number))))


LONG_STEP = ".".join(["abcdefghij"] * 190)
CONTENT = {
    "rules-many-fields.yaml": fields(lambda n: f"field_number_{n}_abcd: {{match: fuzzy}}", 24_000),
    "rules-path-with-many-steps.yaml": f"fields:\n  - {{path: {'a.' * 450_000}b}}\n",
    "rules-long-path.json": json.dumps({"fields": {"a" * 900_000: {"match": "exact"}}}),
    "rules-many-long-paths.yaml": fields(lambda n: f"- path: {LONG_STEP}{n}", 440),
    "rules-duplicate-paths.yaml": "fields:\n" + "  - {path: a.b, match: exact}\n" * 16_000,
    "rules-unknown-keys.yaml": fields(lambda n: f"f{n}: {{match: exact, treshold{n}: 1}}", 16_000),
    "rules-unknown-comparators.yaml": fields(lambda n: f"f{n}: {{match: fuzy{n}}}", 24_000),
    "rules-long-names.json": json.dumps(
        {"fields": {f"a{n}": {"match": "fuzzy" * 380 + str(n)} for n in range(500)}}
    ),
    "rules-invalid-paths.yaml": fields(lambda n: f"'a..b{n}': {{match: exact}}", 24_000),
    "rules-wildcards.yaml": fields(lambda n: f"'{'**.' * 150}f{n}': {{match: exact}}", 2_000),
    "strategies-many-fields.json": strategies(lambda n: (f"field_number_{n}", "FUZZY"), 32_000),
    "strategies-nested.yaml": "".join(
        f"f{n}: {{a: {{b: {{c: EXACT, d: IGNORE}}}}}}\n" for n in range(21_000)
    ),
    "strategies-unknown-words.json": strategies(lambda n: (f"f{n}", f"FUZY{n}"), 40_000),
    "strategies-invalid-paths.json": strategies(lambda n: (f"a..b{n}", "SEMANTIC"), 40_000),
    "strategies-long-paths.json": strategies(lambda n: (f"{LONG_STEP}{n}", "EXACT"), 440),
    "strategies-path-with-many-steps.json": strategies(
        lambda _: ("a." * 450_000 + "b", "EXACT"), 1
    ),
    "rules-aliases.yaml": "a: &a [1, 2]\n" + fields(lambda n: f"f{n}: *a", 90),
    "rules-deep.yaml": f"fields: {'{a: ' * 150_000}1{'}' * 150_000}\n",
    "eval-unknown-keys.yaml": "name: x\n" + "".join(f"casez{n}: 1\n" for n in range(45_000)),
    "eval-duplicate-cases.yaml": "tests:\n"
    + "".join(f"  - {{id: c{n % 9}, expected: {{a: 1}}}}\n" for n in range(11_000)),
    "eval-long-path.yaml": "tests: t.jsonl\nevaluators:\n"
    f"  - {{type: line_items, path: {'a.' * 450_000}b}}\n",
}
SIMILAR = [
    "rules-many-fields.yaml",
    "rules-duplicate-paths.yaml",
    "rules-unknown-keys.yaml",
    "rules-unknown-comparators.yaml",
    "rules-invalid-paths.yaml",
    "strategies-many-fields.json",
    "strategies-nested.yaml",
    "strategies-invalid-paths.json",
    "eval-unknown-keys.yaml",
    "eval-duplicate-cases.yaml",
]
"""Files that cost as much as others, in ways that are similar."""

EVAL = """
cases: [{id: a, expected: {a: 1}, candidate: {a: 1}}]
evaluators: [{type: json_schema, schema: large.schema.json}]
"""


def schema(keyword: str, part: Callable[[int], object], number: int, **others: object) -> str:
    return json.dumps({keyword: {f"name-{n}": part(n) for n in range(number)}, **others})


def linked(number: int) -> object:
    return (
        {"$ref": f"#/$defs/name-{number + 1}", "$comment": "x" * 1_800} if number < 32_999 else {}
    )


SCHEMAS = {
    "properties": (lambda: schema("properties", lambda _: {"description": "x" * 1_200}, 49_900), "valid"),
    "values": (lambda: schema("properties", lambda _: {"title": "x" * 600}, 90_000), "exceeds the limit of 100,000 values"),
    "nodes": (lambda: json.dumps({"enum": [f"{n:030}" for n in range(1_000_100)]}), "too many values (limit 1,000,000)"),
    "enum": (lambda: json.dumps({"enum": [f"{n:0630}" for n in range(99_990)]}), "valid"),
    "references": (lambda: schema("$defs", linked, 33_000, **{"$ref": "#/$defs/name-0"}), "chain of references"),
    "text": (lambda: json.dumps({"description": "x" * 63_000_000}), "valid"),
    "key": (lambda: json.dumps({"properties": {"x" * 63_000_000: {"type": "string"}}}), "valid"),
    "pattern": (lambda: json.dumps({"pattern": "x" * 63_000_000}), "patterns exceed the limit"),
    "patterns": (lambda: schema("properties", lambda n: {"pattern": rf"(?=a)\w{{99}}{n}"}, 3_000, title="x" * 40_000_000), "memory for patterns"),
    "blank-lines": (lambda: "\n" * 63_000_000 + "{}", "valid"),
    "spaces": (lambda: "{" + " " * 63_000_000 + "}", "valid"),
    "not-json": (lambda: "[" * 63_000_000, "nesting exceeds the limit"),
}  # fmt: skip
"""JSON Schemas of up to 64 MB, which an eval file can name, and part of the output."""


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (GIGABYTE, GIGABYTE))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def validate(tmp_path, name):
    done = subprocess.run(
        [COMMAND, "validate", name],
        cwd=tmp_path,
        env=ENVIRONMENT,
        preexec_fn=_limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 2), done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", rows(CONTENT, proved=SIMILAR))
def test_validate_is_bounded(tmp_path, name):
    (tmp_path / name).write_text(CONTENT[name])
    assert (tmp_path / name).stat().st_size <= 1_000_000
    assert len(validate(tmp_path, name)) < 20 * len(CONTENT[name]) + 10_000


@pytest.mark.parametrize(
    "name", rows(SCHEMAS, proved=["properties", "values", "nodes", "enum", "text"])
)
def test_validate_with_a_large_json_schema_is_bounded(tmp_path, name):
    text, shown = SCHEMAS[name]
    (tmp_path / "large.schema.json").write_text(text())
    assert MAX_TABLE_BYTES // 2 < (tmp_path / "large.schema.json").stat().st_size <= MAX_TABLE_BYTES
    (tmp_path / "a.eval.yaml").write_text(EVAL)
    output = validate(tmp_path, "a.eval.yaml")
    assert shown in output
    assert len(output) < 10_000


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        pytest.param("a." * 200 + "b", "more than 200 steps", id="steps"),
        pytest.param("a" * 4_001, "4,001 characters (limit 4,000)", id="characters"),
    ],
)
def test_path_beyond_a_limit_is_an_error_with_its_line(tmp_path, path, problem):
    (tmp_path / "rules.yaml").write_text(f"fields:\n  - {{path: {path}, match: exact}}\n")
    done = subprocess.run(
        [COMMAND, "validate", "rules.yaml"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("rules.yaml:2:12: invalid path 'a")
    assert problem in done.stderr
    assert len(done.stderr) < 500


@pytest.mark.parametrize("path", [".".join(["a"] * 200), "a" * 4_000])
def test_longest_paths_are_valid(tmp_path, path):
    (tmp_path / "rules.yaml").write_text(f"fields:\n  - {{path: {path}, match: exact}}\n")
    done = subprocess.run([COMMAND, "validate", "rules.yaml"], cwd=tmp_path, env=ENVIRONMENT, check=False)  # fmt: skip
    assert done.returncode == 0
