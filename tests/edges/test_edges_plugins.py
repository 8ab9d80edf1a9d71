"""Plug-ins of installed packages: every kind works, and a broken one breaks nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fieldmark import registry
from unit.web.live_server import live

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"
BROKEN = {
    "comparators": {
        "exact": "broken_plugin:Fine",
        "absent": "no_such_module:X",
        "raising": "broken_plugin.raising:X",
        "odd": "broken_plugin:Odd",
        "function": "broken_plugin:function",
        "shared": "broken_plugin:Fine",
    },
    "evaluators": {"absent": "no_such_module:X"},
    "targets": {"absent": "no_such_module:X"},
    "readers": {"absent": "no_such_module:X"},
    "exporters": {"absent": "no_such_module:X", "failing": "broken_plugin:Failing"},
}
SOURCE = '''
from __future__ import annotations
from dataclasses import dataclass
from typing import ClassVar

@dataclass(frozen=True)
class Fine:
    """Fine."""
    name: ClassVar[str] = "fine"

@dataclass(frozen=True)
class Odd:
    option: NoSuchType = None

@dataclass(frozen=True)
class Failing:
    """Fails."""
    name: ClassVar[str] = "failing"
    file: ClassVar[str] = "failing.txt"

    def write(self, run, out):
        raise RuntimeError("no space for it")

def function():
    pass
'''


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A directory with the example package, installed by pip without a network."""
    target = tmp_path_factory.mktemp("packages")
    pip = ["pip", "install", "-qq", "--no-deps", "--no-build-isolation", "--no-compile"]
    words = ["--no-index", "--disable-pip-version-check", "--target", str(target), str(EXAMPLE)]
    subprocess.run([sys.executable, "-m", *pip, *words], check=True)
    return target


@pytest.fixture
def path(monkeypatch):
    """Add a directory to the import path, with its entry points."""

    def add(directory):
        monkeypatch.syspath_prepend(str(directory))
        registry._table.cache_clear()

    yield add
    monkeypatch.undo()
    registry._table.cache_clear()


@pytest.fixture
def example(packages, path, command):
    path(packages)
    return command


@pytest.fixture
def broken(path, tmp_path_factory, command):
    """Packages whose plug-ins cannot be used."""
    directory = tmp_path_factory.mktemp("broken")
    for package, points in (
        ("broken", BROKEN),
        ("other", {"comparators": {"shared": "broken_plugin:Odd"}}),
    ):
        info = directory / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [
            line
            for group, names in points.items()
            for line in (f"[fieldmark.{group}]", *(f"{name} = {at}" for name, at in names.items()))
        ]
        (info / "entry_points.txt").write_text("\n".join(lines), "utf-8")
    module = directory / "broken_plugin"
    module.mkdir()
    (module / "__init__.py").write_text(SOURCE, "utf-8")
    (module / "raising.py").write_text("raise RuntimeError('at import')", "utf-8")
    path(directory)
    return command


def test_plugins_are_listed_with_their_package(example):
    done = example("doctor", "--plugins", "--installed", "--format", "json")
    assert (done.code, done.err) == (0, "")
    listed = json.loads(done.out)["plugins"]
    assert [(each["kind"], each["name"]) for each in listed] == [
        ("comparators", "same_prefix"),
        ("evaluators", "longest_text"),
        ("targets", "upper_case"),
        ("readers", "key_values"),
        ("readers", "two_columns"),
        ("exporters", "failed_cases"),
    ]
    assert {(each["package"], each["version"], each["error"]) for each in listed} == {
        ("fieldmark-example", "1.0", "")
    }
    assert "6 plug-ins" in example("doctor", "--plugins").out


def test_comparator_and_exporter_of_a_plug_in(example, folder):
    rules = folder / "rules.yaml"
    rules.write_text("fields: [{path: vendor, match: same-prefix, length: 2}]\n", "utf-8")
    assert example("validate", rules).code == 0
    done = example("score", "truth.jsonl", "candidate.jsonl", "--rules", rules, "--out", "run")
    assert done.code == 0
    assert example("report", "run", "--as", "failed-cases").code == 0
    assert (folder / "run" / "failed.txt").read_text("utf-8") == "b\n"
    rules.write_text("fields: [{path: vendor, match: same_prefix, length: 0}]\n", "utf-8")
    assert "length: must be a number of at least 1, got 0" in example("validate", rules).err
    rules.write_text("fields: [{path: vendor, match: same_prefx}]\n", "utf-8")
    assert "did you mean 'same_prefix'?" in example("validate", rules).err


def test_readers_of_a_plug_in(example, score, folder):
    (folder / "truth.kv").write_text("id=a\ntotal=1\n\nid=b\ntotal=2\n", "utf-8")
    done = score("--format", "json", truth="truth.kv", candidate="candidate.jsonl")
    assert json.loads(done.out)["cases"]["scored"] == 2
    (folder / "truth.kv").write_text("id: a\n", "utf-8")
    done = score(truth="truth.kv", candidate="candidate.jsonl")
    assert done.err == "fieldmark: truth.kv: expected lines of the form key=value\n"
    export = {"results": [{"gold": {"total": 1}, "model": {"total": 1}}, "total"]}
    (folder / "export.json").write_text(json.dumps(export), "utf-8")
    words = ("score", "export.json", "--no-save", "--format", "json", "--from")
    summary = json.loads(example(*words, "two-columns").out)
    assert summary["micro"]["f1"] == 1.0
    assert summary["exports"][0]["left_out"] == {"result": 1}
    assert "did you mean 'two_columns'?" in example(*words, "two_colums").err
    assert "reads files with the suffix .kv" in example(*words, "key_values").err


def test_reader_of_a_plug_in_in_eval_files(example, folder):
    export = {"results": [{"gold": {"total": 1}, "model": {"total": 1}}]}
    (folder / "export.json").write_text(json.dumps(export), "utf-8")
    file = folder / "columns.eval.yaml"
    file.write_text("cases: {path: export.json, from: two-columns}\n", "utf-8")
    done = example("eval", file, "--no-save", "--format", "json")
    assert json.loads(done.out)["micro"]["f1"] == 1.0
    cases = json.loads(example("schema", "eval").out)["properties"]["cases"]["anyOf"]
    assert "two_columns" in cases[2]["properties"]["from"]["enum"]
    file.write_text("cases: {path: export.json, from: two_colums}\n", "utf-8")
    assert "did you mean 'two_columns'?" in example("validate", file).err


def test_reader_of_a_plug_in_over_http(example, tmp_path):
    export = {"results": [{"gold": {"total": 1}, "model": {"total": 1}}]}
    body = {"truth": {"text": json.dumps(export), "name": "export.json"}}
    with live(tmp_path) as server:

        def post(reader):
            batch = {**body, "inputs": {"preset": reader}}
            return server.client.post("/api/batch", json=batch)

        done = server.wait_for_job(post("two_columns").json()["id"])
        assert done["result"]["summary"]["micro"]["f1"] == 1.0
        refused = post("two_colums")
        assert refused.status_code == 422
        assert "did you mean 'two_columns'?" in refused.text


def test_evaluator_and_target_of_a_plug_in(example, folder):
    file = folder / "texts.eval.yaml"
    file.write_text(
        "cases: [{id: a, input: abc, expected: {word: ABC}}]\n"
        "target: {type: upper_case, key: word}\n"
        "evaluators: [{type: longest_text, limit: 2}]\n",
        "utf-8",
    )
    done = example("eval", file, "--no-save", "--format", "json")
    assert json.loads(done.out)["evaluators"]["longest_text"]["mean_score"] == 0
    schema = json.loads(example("schema", "eval").out)
    assert "limit" in schema["$defs"]["evaluator_longest_text"]["properties"]
    assert "key" in schema["$defs"]["target_upper_case"]["properties"]


def test_broken_plug_ins_are_listed_with_the_reason(broken):
    done = broken("doctor", "--plugins", "--installed", "--format", "json")
    assert done.code == 2
    errors = {
        (each["kind"], each["package"], each["name"]): each["error"]
        for each in json.loads(done.out)["plugins"]
    }
    absent = "cannot load plug-in 'absent' (no_such_module:X): No module named 'no_such_module'"
    raising = "cannot load plug-in 'raising' (broken_plugin.raising:X): RuntimeError: at import"
    odd = (
        "cannot load plug-in 'odd' (broken_plugin:Odd): NameError: name 'NoSuchType' is not defined"
    )
    assert errors == {
        ("comparators", "broken", "absent"): absent,
        ("comparators", "broken", "exact"): "fieldmark has the same name",
        (
            "comparators",
            "broken",
            "function",
        ): "plug-in 'function' (broken_plugin:function) is not a dataclass",
        ("comparators", "broken", "odd"): odd,
        ("comparators", "broken", "raising"): raising,
        ("comparators", "broken", "shared"): "",
        ("comparators", "other", "shared"): "broken has the same name",
        ("evaluators", "broken", "absent"): absent,
        ("targets", "broken", "absent"): absent,
        ("readers", "broken", "absent"): absent,
        ("exporters", "broken", "absent"): absent,
        ("exporters", "broken", "failing"): "",
    }


def test_broken_plug_ins_break_nothing_else(broken, score, folder):
    assert score("--match", "exact").code == 0
    assert score("--match", "fuzzy").code == 0
    assert score("--match", "raising").code == 2
    assert "'shared': broken has the same name" in score("--match", "shared").err
    assert broken("schema", "eval").code == 0
    rules = folder / "rules.yaml"
    rules.write_text("fields: [{path: total, tresh: 1}]\n", "utf-8")
    assert "unknown key 'tresh'" in broken("validate", rules).err
    assert broken("score", "truth.jsonl", "candidate.jsonl", "--out", "run").code == 0
    assert broken("report", "run", "--as", "csv").code == 0
    done = broken("report", "run", "--as", "failing")
    assert (done.code, done.err) == (
        2,
        "fieldmark: exporter 'failing' failed: RuntimeError: no space for it\n",
    )
    assert broken("report", "run", "--as", "absent").code == 2
