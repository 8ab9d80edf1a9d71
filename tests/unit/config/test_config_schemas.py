"""The JSON Schemas follow from the code, and say of a file what the readers say of it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest
from reading_evals import eval_file_problems

from docs.pages import blocks, pages
from fieldmark.config.agentv import is_agentv
from fieldmark.config.context import Context, Problems
from fieldmark.config.eval_file import read_eval
from fieldmark.config.files import load_file
from fieldmark.config.located import locate
from fieldmark.config.rules_file import rules_of
from fieldmark.config.schemas import SCHEMAS, file_name, schema_of
from fieldmark.config.yaml_parser import parse_yaml
from fieldmark.values.json_text import pretty_json

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "schemas"
RULES = sorted(
    path
    for path in [*(ROOT / "examples").glob("*.*"), *(ROOT / "tests/golden").glob("*/rules.yaml")]
    if path.suffix in {".yaml", ".json"} and path.name != "ci.yaml"
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
"""The eval files that a reader may copy: examples, and those that the pages show."""


@pytest.fixture(scope="module")
def validators():
    return {name: jsonschema_rs.Draft202012Validator(schema_of(name)) for name in SCHEMAS}


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_in_the_tree_is_the_one_that_the_code_makes(name):
    kept = (KEPT / file_name(name)).read_bytes()
    assert kept == pretty_json(schema_of(name)), "run: fieldmark schema --write schemas"


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_a_schema(name):
    assert jsonschema_rs.meta.is_valid(schema_of(name))


def test_every_reference_leads_somewhere():
    for name in SCHEMAS:
        schema = schema_of(name)
        text = json.dumps(schema)
        wanted = {part.split('"')[0] for part in text.split('"#/$defs/')[1:]}
        assert wanted <= set(schema.get("$defs", {}))


@pytest.mark.parametrize("path", RULES, ids=shown)
def test_rules_files_of_the_tree_are_valid(path, validators):
    assert validators["rules"].is_valid(load_file(path).value)


@pytest.mark.parametrize("file", EVALS)
def test_eval_files_that_a_reader_may_copy_are_valid(file, validators):
    value = parse_yaml(EVALS[file]).value
    assert [str(error) for error in validators["eval"].iter_errors(value)] == []


WHOLE = """
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


def test_what_the_reader_takes_the_schema_takes(validators):
    value = parse_yaml(WHOLE).value
    assert problems_of(read_eval, value) == 0
    assert [str(error) for error in validators["eval"].iter_errors(value)] == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("name: invoices", "nme: invoices", id="a-misspelt-key"),
        pytest.param("name: invoices", "name: 5", id="a-number-as-a-name"),
        pytest.param("id: 1", "ids: 1", id="a-case-without-an-id"),
        pytest.param("expected: {a: 1}", "expectd: {a: 1}", id="a-case-without-a-truth"),
        pytest.param("tags: x", "tags: 5", id="tags-that-are-no-texts"),
        pytest.param("type: line-items", "type: line-item", id="a-misspelt-evaluator"),
        pytest.param("type: line-items", "name: x", id="an-evaluator-without-type"),
        pytest.param("command: [python, x.py]", "command: python x.py", id="a-command-as-text"),
        pytest.param("command: [python, x.py]", "comand: [x]", id="a-misspelt-target"),
        pytest.param("retries: 0", "retries: -1", id="fewer-than-no-retries"),
        pytest.param("timeout: 3", "timeout: 0", id="no-time"),
        pytest.param("timeout: 3", "tiemout: 3", id="a-misspelt-option-of-a-target"),
        pytest.param("four-phase", "four", id="a-misspelt-convention"),
        pytest.param("rqs_form: complement", "rqs_form: x", id="an-option-that-is-no-word"),
        pytest.param("rqs_weights: {safety", "rqs_weights: {safty", id="a-misspelt-weight"),
        pytest.param("scope: union", "scope: onion", id="a-misspelt-scope"),
        pytest.param("a: EXACT", "a: EXACTLY", id="a-misspelt-strategy"),
        pytest.param("b: {weight: 2}", "b: {weigth: 2}", id="a-misspelt-setting"),
        pytest.param("type: recorded", "type: recored", id="a-misspelt-provider"),
        pytest.param("tolerance: 0.1", "tolerance: x", id="a-text-as-tolerance"),
        pytest.param("tolerance: 0.1", "threshold: 0.1", id="an-option-of-another-match-type"),
        pytest.param("match: numeric-tolerance", "match: numerc", id="a-misspelt-match-type"),
        pytest.param("{path: a, match: num", "{pth: a, match: num", id="a-field-without-path"),
        pytest.param("type: fuzzy, threshold: 1", "type: fuzzy, treshold: 1", id="an-option-inside"),
        pytest.param("align: optimal", "align: optimum", id="a-misspelt-alignment"),
        pytest.param("align: key, key: [a]", "align: key", id="a-needed-option-of-an-alignment"),
        pytest.param("schema: {type: object}, weight: 0", "schem: true", id="a-needed-option"),
        pytest.param("weight: 0", "weight: -1", id="a-negative-weight"),
        pytest.param("weights: {accuracy: 1}", "weights: {acuracy: 1}", id="a-part-of-an-option"),
        pytest.param('{check: "c == d"', '{chek: "c == d"', id="a-part-in-a-list"),
        pytest.param("schema: true}]", "schma: true}]", id="inside-another-evaluator"),
        pytest.param("script: [python, j.py]", "script: python j.py", id="a-script-as-text"),
        pytest.param("protocol: lines", "protocol: line", id="a-word-of-a-judge"),
        pytest.param("gates: {min", "gates: {mn", id="a-misspelt-gate"),
        pytest.param("mean_score: 0.5", "mean_score: high", id="a-limit-that-is-no-number"),
        pytest.param("concurrency: 1\n", "concurrency: 0\n", id="nothing-at-the-same-time"),
        pytest.param("metadata: {a: 1}", "metadata: 1", id="metadata-that-is-no-object"),
    ],
)  # fmt: skip
def test_what_the_reader_refuses_the_schema_refuses(before, after, validators):
    assert before in WHOLE
    text = WHOLE.replace(before, after, 1)
    assert eval_file_problems(text) != [""]
    assert not validators["eval"].is_valid(parse_yaml(text).value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("auto", id="a-word"),
        pytest.param("[{path: a}]", id="a-list-of-fields"),
        pytest.param("{a: EXACT, b: {c: fuzzy}}", id="strategies"),
        pytest.param("{a: {match: date}}", id="by-path"),
        pytest.param("{scope: union, rules: auto}", id="the-native-form"),
        pytest.param("{fields: [{path: a, tolerance: 1}], defaults: {match: numeric_tolerance}}", id="defaults"),
    ],
)  # fmt: skip
def test_rules_in_each_of_their_forms(text, validators):
    value = parse_yaml(text).value
    assert problems_of(rules_of, value) == 0
    assert validators["rules"].is_valid(value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("5", id="a-number"),
        pytest.param("automatic", id="another-word"),
        pytest.param("[]", id="no-fields"),
        pytest.param("[{match: exact}]", id="a-field-without-a-path"),
        pytest.param("{a: EXACTLY}", id="a-misspelt-strategy"),
        pytest.param("{scpe: union, strict: true}", id="a-misspelt-key"),
        pytest.param("[{path: a, match: exact, align: set}]", id="match-and-align"),
        pytest.param("{defaults: {mach: exact}, strict: true}", id="a-misspelt-default"),
    ],
)
def test_what_are_no_rules(text, validators):
    value = parse_yaml(text).value
    assert problems_of(rules_of, value) > 0
    assert not validators["rules"].is_valid(value)


def test_an_option_is_described_in_the_words_of_its_class():
    definitions = schema_of("eval")["$defs"]
    items = definitions["evaluator_line_items"]
    assert items["description"].startswith("The mean F1 of the fields of list items")
    assert "`match_fields`" in items["properties"]["match_fields"]["description"]
    assert items["properties"]["match_fields"]["default"] == ["description"]
    assert items["properties"]["threshold"]["default"] == 0.8
    accuracy = definitions["evaluator_field_accuracy"]["properties"]
    assert accuracy["pass_threshold"]["description"].startswith("`pass_threshold` makes the score")
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
        pytest.param({"case_id": "a", "score": 1.5, "verdict": "pass", "status": "ok"}, id="a-score-above-one"),
        pytest.param({"case_id": "a", "score": 1, "verdict": "good", "status": "ok"}, id="another-verdict"),
        pytest.param({"score": 1, "verdict": "pass", "status": "ok"}, id="no-id"),
        pytest.param({"case_id": "a", "score": 1, "verdict": "pass", "status": "ok", "evaluator_results": [{"name": "x"}]}, id="half-a-result"),
    ],
)  # fmt: skip
def test_what_is_no_row(row, validators):
    assert not validators["result"].is_valid(row)
