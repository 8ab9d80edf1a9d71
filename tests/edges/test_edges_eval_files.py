"""`validate` on eval files from anywhere: everything is told, and nothing is run, read or asked."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import jsonschema_rs
import pytest

from fieldmark.config.schemas import schema_of
from published.command_line import fieldmark

HEADER = "{name: header, type: field_accuracy, fields: [{path: total}]}"
GOOD = f"cases: truth.jsonl\ncandidates: candidate.jsonl\nevaluators: [{HEADER}]\n"


def bomb(levels: int) -> str:
    """An alias that doubles with every level."""
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, levels))]
    return "\n".join(lines)


@pytest.fixture
def file(folder):
    """Writes an eval file into the current folder."""

    def write(text, name="x.eval.yaml"):
        (folder / name).write_text(text, "utf-8")
        return name

    return write


def test_a_good_file_is_fine(command, file):
    done = command("validate", file(GOOD))
    assert (done.code, done.err) == (0, "")
    assert done.out == "x.eval.yaml: fine, eval file with cases in truth.jsonl, 1 evaluator\n"


def test_files_of_several_kinds(command, file):
    rules = file("fields: [{path: a}]", "r.yaml")
    bad = file("cases: truth.jsonl\nnme: x", "bad.eval.yaml")
    done = command("validate", file(GOOD), rules, bad)
    assert done.code == 2
    assert done.out.splitlines() == [
        "x.eval.yaml: fine, eval file with cases in truth.jsonl, 1 evaluator",
        "r.yaml: fine, 1 rule(s)",
    ]
    assert done.err == "bad.eval.yaml:2:1: Unknown key: nme. Did you mean name?\n"


def test_everything_for_machines(command, file):
    done = command("validate", "--format", "json", file(GOOD), file("cases: 5", "b.eval.yaml"))
    assert (done.code, done.err) == (2, "")
    good, bad = json.loads(done.out)
    assert (good["fine"], bad["fine"]) == (True, False)
    assert bad["problems"][0]["line"] == 1


def test_a_missing_file_of_cases_is_a_warning(command, file):
    done = command("validate", file("cases: nowhere.jsonl"))
    assert done.code == 0
    assert done.err == "warning: x.eval.yaml:1:8: cases: there is no nowhere.jsonl here.\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(f"cases: t.jsonl\nmetadata:\n  {bomb(40).replace(chr(10), chr(10) + '  ')}", "More than 100,000 values", id="an-alias-bomb"),
        pytest.param("cases: t.jsonl\nmetadata: &a [*a]", "An alias inside what it stands for", id="an-alias-of-itself"),
        pytest.param("base: &b {type: line_items}\ncases: t.jsonl\nevaluators: [{<<: *b}]", "Merge keys are not supported.", id="a-merge-key"),
        pytest.param("cases: t.jsonl\nmetadata: !!python/object/apply:os.system [touch canary]", "Unknown tag", id="a-tag-that-would-act"),
        pytest.param("cases: t.jsonl\nrules: !include /etc/hostname", "Unknown tag", id="an-include"),
        pytest.param("cases: t.jsonl\nevaluators: []\nevaluators: []", "Duplicate key: evaluators.", id="a-key-twice"),
        pytest.param("cases: [{id: a, expected: {x: 1, x: 2}}]", "Duplicate key: x.", id="a-key-twice-in-a-truth"),
        pytest.param("cases: [{id: a, expected: " + "[" * 60 + "]" * 60 + "}]", "Nested more than 50 deep", id="a-deep-truth"),
        pytest.param("cases: t.jsonl\n---\ncases: u.jsonl", "A second document begins here", id="two-documents"),
        pytest.param("cases: [{id: a, expected: {1: x}}]", "Not a text as a key", id="a-number-as-key"),
        pytest.param("cases: [{id: a, expected: 1e999}]", "A number out of range", id="a-number-out-of-range"),
        pytest.param("x" * 1_000_001, "Larger than 1,000,000 bytes", id="a-huge-file"),
        pytest.param("cases: t.jsonl\nrules: ../secret.yaml", "A file elsewhere: ../secret.yaml", id="rules-elsewhere"),
        pytest.param("cases: [{id: a, expected_file: /etc/hostname}]", "A file elsewhere", id="a-truth-elsewhere"),
        pytest.param("cases: [{id: a, expected: 1, candidate_file: ../../etc/hostname}]", "A file elsewhere", id="a-candidate-elsewhere"),
        pytest.param("cases: t.jsonl\nevaluators: [{type: json_schema, schema: ../s.json}]", "A file elsewhere", id="a-schema-elsewhere"),
        pytest.param("cases: t.jsonl\nprovider: {type: recorded, file: ../s.json}", "A file elsewhere", id="scores-elsewhere"),
        pytest.param("cases: t.jsonl\nevaluators: [{type: json_schema, schema: here}]", "Not a file: here.", id="a-folder-as-a-file"),
    ],
)  # fmt: skip
def test_an_unsafe_file_is_refused(command, file, folder, text, said):
    (folder / "here").mkdir()
    done = command("validate", file(text))
    assert (done.code, done.out) == (2, "")
    assert said in done.err, done.err
    assert "Traceback" not in done.err
    assert not (folder / "canary").exists()


def test_a_pipe_is_not_waited_for(command, file, folder):
    os.mkfifo(folder / "s.json")
    done = command(
        "validate", file("cases: t.jsonl\nevaluators: [{type: json_schema, schema: s.json}]")
    )
    assert done.code == 2
    assert "Not a file: s.json." in done.err


def test_links_that_lead_to_each_other(command, file, folder):
    (folder / "a.json").symlink_to("b.json")
    (folder / "b.json").symlink_to("a.json")
    done = command("validate", file("cases: a.json\nrules: b.json"))
    assert done.code == 2
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("target: {command: [touch, canary]}", id="a-command"),
        pytest.param("target: {python: 'canary_module:run'}", id="a-function"),
        pytest.param("target: {python: 'canary_module.py:run'}", id="a-function-of-a-file"),
        pytest.param("target: {url: 'http://127.0.0.1:PORT/'}", id="an-endpoint"),
        pytest.param("evaluators: [{type: code_judge, script: [touch, canary]}]", id="a-judge"),
        pytest.param("evaluators: [{type: code_judge, script: [touch, canary], protocol: lines}]", id="a-judge-that-stays"),
        pytest.param("evaluators: [{type: json_schema, schema: {$ref: 'http://127.0.0.1:PORT/s'}}]", id="a-reference-to-an-address"),
        pytest.param("evaluators: [{type: json_schema, schema: {$schema: 'http://127.0.0.1:PORT/s'}}]", id="a-dialect-at-an-address"),
        pytest.param("provider: {type: python, function: 'canary_module:run'}", id="a-provider-that-is-a-function"),
        pytest.param("cases: [{id: a, expected: 1, candidate: 1, input: {url: 'http://127.0.0.1:PORT/'}}]", id="an-input"),
    ],
)  # fmt: skip
def test_nothing_is_run_and_nobody_is_asked(folder, file, text):
    (folder / "canary_module.py").write_text("open('canary', 'w').close()\ndef run(*_): ...\n")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        said = text.replace("PORT", str(listening.getsockname()[1]))
        cases = "" if said.startswith("cases") else "cases: truth.jsonl\n"
        done = fieldmark(
            "validate", file(f"{cases}{said}\n"), cwd=folder, env={"PYTHONPATH": str(folder)}
        )
        with pytest.raises(TimeoutError):
            listening.accept()
    assert "Traceback" not in done.err
    assert not (folder / "canary").exists()


class TestSchemas:
    @pytest.mark.parametrize("name", ["eval", "rules", "result"])
    def test_a_schema_is_printed(self, command, name):
        done = command("schema", name)
        assert (done.code, done.err) == (0, "")
        assert json.loads(done.out)["$schema"].endswith("2020-12/schema")

    def test_all_of_them_are_written(self, command, folder):
        done = command("schema", "--write", "schemas")
        assert (done.code, done.err) == (0, "")
        names = ["eval.schema.json", "rules.schema.json", "result.schema.json"]
        assert done.out.split() == [f"schemas/{name}" for name in names]
        assert sorted(path.name for path in (folder / "schemas").iterdir()) == sorted(names)

    def test_one_of_them_is_written(self, command, folder):
        assert command("schema", "rules", "--write", ".").code == 0
        assert (folder / "rules.schema.json").exists()

    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            pytest.param(["evl"], 2, "Did you mean eval?", id="a-misspelt-name"),
            pytest.param([], 2, "Name a schema (eval, rules, result)", id="no-name"),
            pytest.param(["--write", "truth.jsonl/x"], 74, "cannot write", id="a-place-to-write"),
        ],
    )
    def test_what_cannot_be_printed(self, command, words, code, said):
        done = command("schema", *words)
        assert done.code == code
        assert said in done.err


def test_validating_loads_nothing_heavy():
    code = (
        "import sys; from fieldmark.cli import validate, schema;"
        "print([n for n in ('numpy', 'scipy', 'rich', 'ruamel.yaml') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_rows_of_an_evaluation_have_the_shape_that_the_schema_says(command, file, folder):
    name = file(
        "cases:\n"
        "  - {id: a, expected: {x: 1}, candidate: {x: 1}, tags: [t]}\n"
        "  - {id: b, expected: {x: 1}, candidate: no JSON}\n"
        "  - {id: c, expected: {x: 1}}\n"
        "evaluators:\n"
        "  - {type: field_accuracy, fields: [{path: x}]}\n"
        "  - {type: composite, evaluators: [{type: extraction_metrics}, {type: json_schema, schema: true}]}\n"
        "  - {type: code_judge, script: [python, -c, 'raise SystemExit(1)']}\n"
    )
    command("eval", name, "--out", "run")
    shape = schema_of("result")
    validator = jsonschema_rs.Draft202012Validator(shape)
    rows = [json.loads(row) for row in (folder / "run" / "results.jsonl").read_text().splitlines()]
    assert [row["case_id"] for row in rows] == ["a", "b", "c"]
    known = set(shape["properties"])
    told = set(shape["properties"]["evaluator_results"]["items"]["properties"])
    for row in rows:
        assert [str(error) for error in validator.iter_errors(row)] == []
        assert set(row) <= known
        assert all(set(result) == told for result in row["evaluator_results"])
    assert rows[0]["evaluator_results"][2]["status"] == "error"
