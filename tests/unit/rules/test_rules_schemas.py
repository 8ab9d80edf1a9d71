"""JSON Schemas agree with the readers."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest
from reading_evals import eval_file_problems

from docs.pages import blocks, pages
from fieldmark.rules.agentv import is_agentv
from fieldmark.rules.config_files import load_file
from fieldmark.rules.config_values import Context, Problems, locate
from fieldmark.rules.rules_file import rules_of
from fieldmark.rules.yaml_parser import parse_yaml
from fieldmark.runs.eval_file import read_eval
from fieldmark.runs.schemas import SCHEMAS, schema_of

ROOT = Path(__file__).parents[3]
RULES = sorted(
    path
    for path in [*(ROOT / "examples").glob("*.*"), *(ROOT / "tests/golden").glob("*/rules.yaml")]
    if path.suffix in {".yaml", ".json"}
    and not path.stem.endswith(".eval")
)  # fmt: skip
EVALS = {
    **{path.name: path.read_text("utf-8") for path in (ROOT / "examples").rglob("*.eval.yaml")},
    **{
        f"{page.name}:{block.line}": block.body
        for page in pages()
        for block in blocks(page.read_text("utf-8"))
        if (file := block.option("file")) is not None
        and file.endswith(".eval.yaml")
        and not file.startswith("wrong")
        and not is_agentv(parse_yaml(block.body))
    },
}
"""The eval files of the examples and the documentation."""


@pytest.fixture(scope="module")
def validators():
    return {name: jsonschema_rs.Draft202012Validator(schema_of(name)) for name in SCHEMAS}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_valid(name):
    assert jsonschema_rs.meta.is_valid(schema_of(name))


def test_references_are_defined():
    for name in SCHEMAS:
        schema = schema_of(name)
        text = json.dumps(schema)
        wanted = {part.split('"')[0] for part in text.split('"#/$defs/')[1:]}
        assert wanted <= set(schema.get("$defs", {}))


@pytest.mark.parametrize("path", RULES, ids=relative)
def test_rules_files_of_the_repository_are_valid(path, validators):
    assert validators["rules"].is_valid(load_file(path).value)


@pytest.mark.parametrize("file", EVALS)
def test_eval_files_of_examples_and_docs_are_valid(file, validators):
    value = parse_yaml(EVALS[file]).value
    assert [str(error) for error in validators["eval"].iter_errors(value)] == []


COMPLETE = """
name: invoices
description: everything
cases: [{id: 1, input: [1], expected: {a: 1}, candidate: "{}", tags: x, metadata: {m: 1},
         evaluators: [{type: line-items}], skip_defaults: true}]
target: {command: [python, x.py], timeout: 3, retries: 0, concurrency: 2, cache: c, env: {A: b}}
convention: {name: four-phase, rqs_form: complement, rqs_weights: {safety: 0}, pass_threshold: null}
rules: {scope: union, defaults: {match: fuzzy, threshold: 0.9}, fields: {a: EXACT, b: {weight: 2}}}
provider: {type: recorded, scores: []}
evaluators:
  - {type: field_accuracy, fields: [{path: a, match: numeric-tolerance, tolerance: 0.1}]}
  - {type: field_accuracy, fields: {a: {b: exact}}, aggregation: all-or-nothing, default: fuzzy}
  - {type: field_confusion, fields: [{path: a, match: {type: fuzzy, threshold: 1}, any_of: true}]}
  - {type: line_items, match_fields: sku, align: optimal, defaults: {match: date, formats: [YYYY-MM-DD]}}
  - {type: extraction_metrics, fields: [{path: r, align: key, key: [a]}], scope: truth}
  - {type: response_quality, strategies: {a: fuzzy, b: [{c: IGNORE}]}, weights: {accuracy: 1}}
  - {type: json_schema, schema: {type: object}, weight: 0}
  - {type: constraints, rules: ["a == b", {check: "c == d", weight: 2}]}
  - {name: c, type: composite, evaluators: [{type: json_schema, schema: true}]}
  - {name: j, type: code_judge, script: [python, j.py], env: [A], Mine: {x: [1]}, protocol: lines}
gates: {min: {mean_score: 0.5}, max: {hallucination: 0}, max_errors: 1}
concurrency: 1
tags: [a]
metadata: {a: 1}
"""


def problems_of(reader, value) -> int:
    context = Context()
    reader(locate(value, Problems()), context)
    return len(context.problems)


def test_the_schema_accepts_what_the_reader_accepts(validators):
    value = parse_yaml(COMPLETE).value
    assert problems_of(read_eval, value) == 0
    assert [str(error) for error in validators["eval"].iter_errors(value)] == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("name: invoices", "nme: invoices", id="misspelled-key"),
        pytest.param("id: 1", "ids: 1", id="case-without-id"),
        pytest.param("expected: {a: 1}", "expectd: {a: 1}", id="case-without-expected"),
        pytest.param("type: line-items", "name: x", id="evaluator-without-type"),
        pytest.param("command: [python, x.py]", "command: python x.py", id="command-as-string"),
        pytest.param("command: [python, x.py]", "comand: [x]", id="misspelled-target"),
        pytest.param("retries: 0", "retries: -1", id="negative-retries"),
        pytest.param("timeout: 3", "timeout: 0", id="zero-timeout"),
        pytest.param("four-phase", "four", id="misspelled-convention"),
        pytest.param("rqs_form: complement", "rqs_form: x", id="invalid-enum-value"),
        pytest.param("a: EXACT", "a: EXACTLY", id="misspelled-strategy"),
        pytest.param("tolerance: 0.1", "tolerance: x", id="string-as-tolerance"),
        pytest.param("tolerance: 0.1", "threshold: 0.1", id="option-of-another-match-type"),
        pytest.param("match: numeric-tolerance", "match: numerc", id="misspelled-match-type"),
        pytest.param("{path: a, match: num", "{pth: a, match: num", id="field-without-path"),
        pytest.param("type: fuzzy, threshold: 1", "type: fuzzy, treshold: 1", id="nested-option"),
        pytest.param("align: key, key: [a]", "align: key", id="missing-required-aligner-option"),
        pytest.param("schema: {type: object}, weight: 0", "schem: true", id="missing-required-option"),
        pytest.param("weights: {accuracy: 1}", "weights: {acuracy: 1}", id="misspelled-key-in-option"),
        pytest.param('{check: "c == d"', '{chek: "c == d"', id="misspelled-key-in-list"),
        pytest.param("schema: true}]", "schma: true}]", id="inside-another-evaluator"),
        pytest.param("script: [python, j.py]", "script: python j.py", id="script-as-string"),
        pytest.param("mean_score: 0.5", "mean_score: high", id="limit-is-not-a-number"),
        pytest.param("concurrency: 1\n", "concurrency: 0\n", id="zero-concurrency"),
        pytest.param("metadata: {a: 1}", "metadata: 1", id="number-as-metadata"),
    ],
)  # fmt: skip
def test_the_schema_rejects_what_the_reader_rejects(before, after, validators):
    assert before in COMPLETE
    text = COMPLETE.replace(before, after, 1)
    assert eval_file_problems(text) != [""]
    assert not validators["eval"].is_valid(parse_yaml(text).value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("auto", id="word"),
        pytest.param("[{path: a}]", id="list-of-fields"),
        pytest.param("{a: EXACT, b: {c: fuzzy}}", id="strategies"),
        pytest.param("{a: {match: date}}", id="by-path"),
        pytest.param("{scope: union, rules: auto}", id="native-form"),
        pytest.param("{fields: [{path: a, tolerance: 1}], defaults: {match: numeric_tolerance}}", id="defaults"),
    ],
)  # fmt: skip
def test_forms_of_rules(text, validators):
    value = parse_yaml(text).value
    assert problems_of(rules_of, value) == 0
    assert validators["rules"].is_valid(value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("5", id="number"),
        pytest.param("automatic", id="another-word"),
        pytest.param("[]", id="no-fields"),
        pytest.param("[{match: exact}]", id="field-without-path"),
        pytest.param("{a: EXACTLY}", id="misspelled-strategy"),
        pytest.param("{scpe: union, strict: true}", id="misspelled-key"),
        pytest.param("[{path: a, match: exact, align: set}]", id="match-and-align"),
        pytest.param("{defaults: {mach: exact}, strict: true}", id="misspelled-default"),
    ],
)
def test_invalid_rules(text, validators):
    value = parse_yaml(text).value
    assert problems_of(rules_of, value) > 0
    assert not validators["rules"].is_valid(value)


def test_options_are_described_by_docstrings():
    definitions = schema_of("eval")["$defs"]
    items = definitions["evaluator_line_items"]
    assert items["description"].startswith("Score the mean F1 of the fields of list items")
    assert "`match_fields`" in items["properties"]["match_fields"]["description"]
    assert items["properties"]["match_fields"]["default"] == ["description"]
    assert items["properties"]["threshold"]["default"] == 0.8
    accuracy = definitions["evaluator_field_accuracy"]["properties"]
    assert accuracy["pass_threshold"]["description"].startswith(
        "With `pass_threshold`, the score decides"
    )
    assert accuracy["aggregation"]["description"].startswith("How field scores become")


def test_rows_of_a_run_are_valid(tmp_path, validators):
    import fieldmark as fm

    (tmp_path / "t.jsonl").write_text(
        '{"id": "a", "expected": {"x": [{"y": 1}, {"y": 2}], "d": "ab", "tags": 1}}\n'
        '{"id": "b", "expected": {"x": 1}}\n{"id": "c", "expected": {"x": 1}}\n'
    )
    (tmp_path / "c.jsonl").write_text(
        '{"id": "a", "candidate": {"x": [{"y": 2}], "d": "abc", "z": 1}}\n'
        '{"id": "b", "candidate": "no JSON"}\n{"id": "c", "candidate": "```json\\n{}\\n```"}\n'
    )
    fm.score(
        tmp_path / "t.jsonl", tmp_path / "c.jsonl", rules={"d": {"match": "fuzzy"}},
        out=tmp_path / "run",
    )  # fmt: skip
    rows = (tmp_path / "run" / "results.jsonl").read_text("utf-8").splitlines()
    known = set(schema_of("result")["properties"])
    for row in map(json.loads, rows):
        assert [str(error) for error in validators["result"].iter_errors(row)] == []
        assert set(row) <= known


@pytest.mark.parametrize(
    "row",
    [
        pytest.param({"case_id": "a", "score": 1.5, "verdict": "pass", "status": "ok"}, id="score-above-one"),
        pytest.param({"case_id": "a", "score": 1, "verdict": "good", "status": "ok"}, id="another-verdict"),
        pytest.param({"score": 1, "verdict": "pass", "status": "ok"}, id="no-id"),
        pytest.param({"case_id": "a", "score": 1, "verdict": "pass", "status": "ok", "evaluator_results": [{"name": "x"}]}, id="incomplete-evaluator-result"),
    ],
)  # fmt: skip
def test_invalid_rows(row, validators):
    assert not validators["result"].is_valid(row)
