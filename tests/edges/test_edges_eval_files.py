"""`fieldmark validate` with untrusted eval files, and `fieldmark schema`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest

from fieldmark.runs.schemas import schema_of
from published.command_line import fieldmark
from row_files import read_rows

DATA = Path(__file__).parents[1] / "data"

HEADER = "{name: header, type: field_accuracy, fields: [{path: total}]}"
GOOD = f"cases: truth.jsonl\ncandidates: candidate.jsonl\nevaluators: [{HEADER}]\n"

DOUBLING = json.dumps(
    {
        "definitions": {
            **{f"d{n}": {"allOf": [{"$ref": f"#/definitions/d{n + 1}"}] * 2} for n in range(30)},
            "d30": {"type": "number"},
        },
        "$ref": "#/definitions/d0",
    }
)
"""A schema that applies its last definition 2**30 times to each document."""


def bomb(levels: int) -> str:
    """Return aliases whose size doubles with each level."""
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, levels))]
    return "\n".join(lines)


@pytest.fixture
def file(folder):
    """Write an eval file to the current directory."""

    def write(text, name="x.eval.yaml"):
        (folder / name).write_text(text, "utf-8")
        return name

    return write


def test_a_valid_file_is_reported_as_valid(command, file):
    done = command("validate", file(GOOD))
    assert (done.code, done.err) == (0, "")
    assert (
        done.out
        == "x.eval.yaml: valid eval file, cases in truth.jsonl, 1 evaluator; paths not checked against documents\n"
    )


def test_several_files(command, file):
    rules = file("fields: [{path: a}]", "r.yaml")
    bad = file("cases: truth.jsonl\nnme: x", "bad.eval.yaml")
    done = command("validate", file(GOOD), rules, bad)
    assert done.code == 2
    assert done.out.splitlines() == [
        "x.eval.yaml: valid eval file, cases in truth.jsonl, 1 evaluator; paths not checked against documents",
        "r.yaml: valid rules file, 1 rule; paths not checked against documents",
    ]
    assert done.err == "bad.eval.yaml:2:1: unknown key 'nme'; did you mean 'name'?\n"


def test_json_output(command, file):
    done = command("validate", "--format", "json", file(GOOD), file("cases: 5", "b.eval.yaml"))
    assert (done.code, done.err) == (2, "")
    good, bad = json.loads(done.out)
    assert (good["valid"], bad["valid"]) == (True, False)
    assert bad["problems"][0]["line"] == 1


def test_a_missing_cases_file_is_a_warning(command, file):
    done = command("validate", file("cases: nowhere.jsonl"))
    assert done.code == 0
    assert done.err == "warning: x.eval.yaml:1:8: cases: 'nowhere.jsonl' not found\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(f"cases: t.jsonl\nmetadata:\n  {bomb(40).replace(chr(10), chr(10) + '  ')}", "too many values after expanding aliases", id="alias-bomb"),
        pytest.param("cases: t.jsonl\nmetadata: !!python/object/apply:os.system [touch canary]", "unknown tag", id="python-tag"),
        pytest.param("cases: t.jsonl\nrules: ../secret.yaml", "'../secret.yaml' is outside the directory of the configuration file", id="rules-outside-directory"),
        pytest.param("cases: [{id: a, expected_file: /etc/hostname}]", "is outside the directory of the configuration file", id="expected-outside-directory"),
        pytest.param("cases: [{id: a, expected: 1, candidate_file: ../../etc/hostname}]", "is outside the directory of the configuration file", id="candidate-outside-directory"),
        pytest.param("cases: t.jsonl\nevaluators: [{type: json_schema, schema: ../s.json}]", "is outside the directory of the configuration file", id="schema-outside-directory"),
        pytest.param("cases: t.jsonl\nprovider: {type: recorded, file: ../s.json}", "is outside the directory of the configuration file", id="scores-outside-directory"),
        pytest.param("cases: t.jsonl\nevaluators:\n- type: json_schema\n  schema: " + DOUBLING, "eval.yaml:4:11: schema: with all references expanded, it exceeds the limit of 1,000,000 schemas for one value", id="exponential-schema"),
        pytest.param("cases: t.jsonl\nevaluators: [{type: json_schema, schema: here}]", "'here' is not a regular file", id="directory-as-file"),
    ],
)  # fmt: skip
def test_an_unsafe_file_is_rejected(command, file, folder, text, message):
    (folder / "here").mkdir()
    done = command("validate", file(text))
    assert (done.code, done.out) == (2, "")
    assert message in done.err, done.err
    assert "Traceback" not in done.err
    assert not (folder / "canary").exists()


def test_a_pipe_is_not_read(command, file, folder):
    os.mkfifo(folder / "s.json")
    done = command(
        "validate", file("cases: t.jsonl\nevaluators: [{type: json_schema, schema: s.json}]")
    )
    assert done.code == 2
    assert "'s.json' is not a regular file" in done.err


def test_symlink_loop(command, file, folder):
    (folder / "a.json").symlink_to("b.json")
    (folder / "b.json").symlink_to("a.json")
    done = command("validate", file("cases: a.json\nrules: b.json"))
    assert done.code == 2
    assert "Traceback" not in done.err


HARMFUL = {
    "command": "target: {command: [touch, canary]}",
    "function": "target: {python: 'canary_module:run'}",
    "function-in-file": "target: {python: 'canary_module.py:run'}",
    "endpoint": "target: {url: 'http://127.0.0.1:PORT/'}",
    "judge": "evaluators: [{type: code_judge, script: [touch, canary]}]",
    "persistent-judge": "evaluators: [{type: code_judge, script: [touch, canary], protocol: lines}]",
    "remote-reference": "evaluators: [{type: json_schema, schema: {$ref: 'http://127.0.0.1:PORT/s'}}]",
    "remote-dialect": "evaluators: [{type: json_schema, schema: {$schema: 'http://127.0.0.1:PORT/s'}}]",
    "python-provider": "provider: {type: python, function: 'canary_module:run'}",
    "function-that-compares": "rules: {total: {match: 'canary_module:run'}}",
    "function-that-normalizes": "rules: {total: {normalize: 'canary_module.py:run'}}",
    "url-in-input": "cases: [{id: a, expected: 1, candidate: 1, input: {url: 'http://127.0.0.1:PORT/'}}]",
}
"""What would run a program, import a module or send a request, by the name of its file."""


def test_validate_runs_and_requests_nothing(folder, file):
    (folder / "canary_module.py").write_text("open('canary', 'w').close()\ndef run(*_): ...\n")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        names = []
        for name, text in HARMFUL.items():
            config = text.replace("PORT", str(listening.getsockname()[1]))
            cases = "" if config.startswith("cases") else "cases: truth.jsonl\n"
            names.append(file(f"{cases}{config}\n", f"{name}.eval.yaml"))
        done = fieldmark("validate", *names, cwd=folder, env={"PYTHONPATH": str(folder)})
        with pytest.raises(TimeoutError):
            listening.accept()
    assert "Traceback" not in done.err
    assert all(name in done.out + done.err for name in names)
    assert not (folder / "canary").exists()


class TestSchemas:
    @pytest.mark.parametrize("name", ["eval", "rules", "result"])
    def test_schema_is_printed(self, command, name):
        done = command("schema", name)
        assert (done.code, done.err) == (0, "")
        assert json.loads(done.out)["$schema"].endswith("2020-12/schema")

    def test_all_schemas_are_written(self, command, folder):
        done = command("schema", "--write", "schemas")
        assert (done.code, done.err) == (0, "")
        names = ["eval.schema.json", "rules.schema.json", "result.schema.json"]
        assert done.out.split() == [f"schemas/{name}" for name in names]
        assert sorted(path.name for path in (folder / "schemas").iterdir()) == sorted(names)

    def test_one_schema_is_written(self, command, folder):
        assert command("schema", "rules", "--write", ".").code == 0
        assert (folder / "rules.schema.json").exists()

    @pytest.mark.parametrize(
        ("words", "code", "message"),
        [
            pytest.param(["evl"], 2, "did you mean 'eval'?", id="misspelled-name"),
            pytest.param(
                [],
                2,
                "NAME is required, unless --write is given; must be one of: eval, rules, result",
                id="no-name",
            ),
            pytest.param(["--write", "truth.jsonl/x"], 74, "cannot write", id="unwritable-path"),
        ],
    )
    def test_schema_errors(self, command, words, code, message):
        done = command("schema", *words)
        assert done.code == code
        assert message in done.err


def test_validate_has_no_heavy_imports():
    code = (
        "import sys; from fieldmark.cli import checks, files;"
        "print([n for n in ('scipy', 'ruamel.yaml') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_rows_of_an_evaluation_match_the_schema(command, file, folder):
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
    schema = schema_of("result")
    validator = jsonschema_rs.Draft202012Validator(schema)
    rows = read_rows(folder / "run" / "results.jsonl")
    assert [row["case_id"] for row in rows] == ["a", "b", "c"]
    known = set(schema["properties"])
    evaluator_keys = set(schema["properties"]["evaluator_results"]["items"]["properties"])
    for row in rows:
        assert [str(error) for error in validator.iter_errors(row)] == []
        assert set(row) <= known
        # Only a result that is in doubt has warnings, and only a failed one has bounds.
        doubtful = {"warnings", "bounds", "zeroed"}
        assert all({*result} | doubtful == evaluator_keys for result in row["evaluator_results"])
    assert rows[0]["evaluator_results"][2]["status"] == "error"


class TestReadingOptions:
    """The options of `score` for reading rows, in an eval file."""

    LINES = "invoice,item,n\n7,pen,1\n7,ink,2\n8,cap,3\n"

    @pytest.mark.parametrize(
        ("files", "config", "cases"),
        [
            pytest.param({"a.csv": LINES, "b.csv": LINES}, "cases: {path: a.csv, group_by: invoice}\ncandidates: b.csv", 2, id="group-by"),
            pytest.param({"a.csv": "doc,page,n\n1,1,5\n1,2,6\n", "b.csv": "doc,page,n\n1,2,6\n1,1,5\n"}, "cases: {path: a.csv, id: 'doc,page'}\ncandidates: b.csv", 2, id="composite-ids"),
            pytest.param({"a.jsonl": '{"id": 1, "gold": {"n": 1}, "sample": {"text": "{\\"n\\": 1}"}}'}, "cases: {path: a.jsonl, expected: gold, candidate: sample.text}", 1, id="nested-keys"),
            pytest.param({"a.json": '{"x": {"n": 1}, "y": {"n": 2}}', "b.json": '{"y": {"n": 2}, "x": {"n": 1}}'}, "cases: {path: a.json, rows: keyed}\ncandidates: b.json", 2, id="keyed"),
            pytest.param({"a.jsonl": '{"id": 1, "expected": {"n": 1}, "output": {"n": 2, "n": 1}}'}, "cases: {path: a.jsonl, duplicates: last}", 1, id="duplicates"),
        ],
    )  # fmt: skip
    def test_rows_are_read(self, command, folder, files, config, cases):
        for name, content in files.items():
            (folder / name).write_text(content)
        (folder / "e.yaml").write_text(f"{config}\nrules: {{scope: union}}\n")
        done = command("eval", "e.yaml", "--no-save", "--format", "json")
        assert done.code == 0, done.err
        found = json.loads(done.out)["cases"]
        assert (found["total"], found["perfect"]) == (cases, cases)

    def test_exports_of_another_tool_are_read(self, command, folder):
        export = DATA / "tool-exports" / "mindee" / "receipt-v3.json"
        (folder / "m.json").write_bytes(export.read_bytes())
        config = "cases: {path: m.json, from: mindee}\ncandidates: m.json\nrules: {scope: union}\n"
        (folder / "e.yaml").write_text(config)
        done = command("eval", "e.yaml", "--no-save", "--format", "json")
        assert json.loads(done.out)["cases"]["perfect"] == 1

    def test_strict_parsing(self, command, folder):
        row = {"id": 1, "expected": {"n": 1}, "output": 'It is {"n": 1}'}
        (folder / "a.jsonl").write_text(json.dumps(row))
        for config, unparseable in (("", 0), ("parse: strict\n", 1)):
            (folder / "e.yaml").write_text(f"cases: a.jsonl\n{config}rules: {{scope: union}}\n")
            done = command("eval", "e.yaml", "--no-save", "--format", "json")
            assert json.loads(done.out)["cases"]["unparseable"] == unparseable

    @pytest.mark.parametrize(
        ("config", "message"),
        [
            pytest.param("cases: {path: truth.jsonl, from: mindy}", "must be one of: langsmith", id="unknown-tool"),
            pytest.param("cases: {path: truth.jsonl, from: mindee, group_by: a}", "from: cannot be combined", id="conflict"),
            pytest.param("cases: truth.jsonl\nparse: strict\nrepair: true", "repair: cannot be combined with strict parsing", id="strict-repair"),
            pytest.param("cases: {path: truth.jsonl, sheets: a}", "did you mean 'sheet'?", id="misspelled"),
        ],
    )  # fmt: skip
    def test_invalid_options_are_errors(self, command, folder, config, message):
        (folder / "e.yaml").write_text(f"{config}\ncandidates: candidate.jsonl\n")
        done = command("eval", "e.yaml", "--no-save")
        assert (done.code, done.out) == (2, "")
        assert message in done.err
