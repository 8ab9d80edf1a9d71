"""Starting a project, checking the installation, and help and suggestions for beginners."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from fieldmark.analyses.starter import create_starter
from fieldmark.cli.main import fieldmark
from fieldmark.errors import ConfigError
from fieldmark.metrics.conventions import CONVENTIONS


def test_starter_project_passes_its_gates(command, folder, monkeypatch):
    done = command("init", "project", "--yes")
    assert done.code == 0
    created = [Path(line) for line in done.out.splitlines()]
    assert Path("project/.github/workflows/fieldmark.yml") in created
    assert all(path.read_bytes() for path in created)
    monkeypatch.chdir(folder / "project")
    assert command("validate", "invoices.eval.yaml", "rules.yaml").code == 0
    done = command("eval", "invoices.eval.yaml", "--out", "runs/first")
    assert (done.code, "gate passed" in done.out) == (0, True)
    done = command("score", "truth.jsonl", "predictions.jsonl", "--no-save")
    assert (done.code, "gate passed" in done.out) == (0, True)
    assert command("lint", "truth.jsonl").code == 0
    assert command("doctor").code == 0


@pytest.mark.parametrize("name", ["truth.jsonl", ".github/workflows/fieldmark.yml"])
def test_init_overwrites_nothing_and_writes_nothing_then(command, folder, name):
    path = folder / "project" / name
    path.parent.mkdir(parents=True)
    path.symlink_to("dangling")
    done = command("init", "project", "--yes")
    assert done.code == 2
    assert done.err.startswith(f"fieldmark: would overwrite project/{name}; ")
    assert [each for each in (folder / "project").rglob("*") if not each.is_dir()] == [path]


def test_init_asks_only_on_a_terminal(command, folder):
    assert "use --yes" in command("init", "project").err
    assert not (folder / "project").exists()


def test_second_project_in_the_same_directory_is_refused(tmp_path):
    create_starter(tmp_path)
    with pytest.raises(ConfigError, match="would overwrite"):
        create_starter(tmp_path)


def test_doctor_names_what_is_missing_and_how_to_install_it(command, monkeypatch):
    version = metadata.version

    def without(name):
        if name in ("pyarrow", "orjson"):
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", without)
    done = command("doctor", "--format", "json")
    assert (done.code, done.err) == (2, "fieldmark: dependencies: not installed: orjson\n")
    checks = {each["name"]: each for each in json.loads(done.out)["checks"]}
    assert checks["extra tables"] == {
        "name": "extra tables",
        "status": "off",
        "found": "not installed: pyarrow",
        "fix": 'pip install "fieldmark[tables]"',
    }
    assert "extra dev" not in checks


def test_doctor_in_all_formats(command):
    names = [
        check["name"] for check in json.loads(command("doctor", "--format", "json").out)["checks"]
    ]
    rows = csv.DictReader(io.StringIO(command("doctor", "--format", "csv").out))
    assert [row["name"] for row in rows] == names
    assert "| ok | python |" in command("doctor", "--format", "markdown").out
    assert command("doctor", "--quiet").out == ""


def test_doctor_checks_where_runs_are_written(command, folder):
    (folder / "runs").write_text("not a directory", "utf-8")
    done = command("doctor")
    assert done.code == 2
    assert "error   run directory" in done.out
    assert "use --out DIR or --no-save" in done.out


def test_doctor_checks_the_defaults_and_plug_ins(command, folder):
    (folder / "fieldmark.toml").write_text("[eval]\nmim = 1\n", "utf-8")
    done = command("doctor")
    assert done.code == 2
    assert "unknown option 'eval.mim'; did you mean 'min'?" in done.out


def test_doctor_checks_endpoints_only_if_asked(command, folder):
    text = "cases: [{id: a, expected: {a: 1}, candidate: {a: 1}}]\nevaluators:\n"
    file = folder / "x.eval.yaml"
    file.write_text(f"{text}  - {{type: code_judge, script: [no-such-program]}}\n", "utf-8")
    assert "no-such-program" not in command("doctor").out
    done = command("doctor", "--eval", file)
    assert done.code == 2
    assert "no-such-program" in done.out


def test_main_help_lists_every_command_once_by_purpose(command):
    done = command("--help")
    lines = done.out.splitlines()
    for name in fieldmark.list_commands(None):
        assert sum(line.startswith(f"  {name} ") for line in lines) == 1, name
    assert {"Score:", "Compare:", "Rules:", "Examples:"} <= set(lines)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        pytest.param(["scor"], "score", id="command"),
        pytest.param(["score", "a", "b", "--no-sav"], "--no-save", id="option"),
        pytest.param(["score", "t", "c", "--match", "fuzy"], "fuzzy", id="comparator"),
        pytest.param(["score", "t", "c", "--align", "gredy"], "greedy", id="aligner"),
        pytest.param(["score", "t", "c", "--convention", "confusin"], "confusion", id="convention"),
        pytest.param(["score", "t", "c", "--set", "rqs_for=complement"], "rqs_form", id="option-of-a-convention"),
        pytest.param(["score", "t", "c", "--from", "langsmit"], "langsmith", id="reader"),
        pytest.param(["score", "t", "c", "--min", "attributes.totl.f1=1"], "attributes.total.f1", id="attribute"),
        pytest.param(["score", "t", "c", "--max", "mirco.f1=1"], "micro.f1", id="metric"),
        pytest.param(["report", "first", "--as", "juni"], "junit", id="exporter"),
        pytest.param(["show", "frist"], "first", id="run"),
        pytest.param(["show", "nigtly"], "nightly", id="tag"),
        pytest.param(["show", "latst"], "latest", id="latest"),
        pytest.param(["judge", "field_acuracy"], "field_accuracy", id="evaluator"),
        pytest.param(["doctor", "--plugins", "evalators"], "evaluators", id="kind"),
        pytest.param(["schema", "evall"], "eval", id="schema"),
    ],
)  # fmt: skip
def test_misspelled_name_is_answered_with_a_suggestion(command, words, meant):
    files = {"t": "truth.jsonl", "c": "candidate.jsonl"}
    command("score", *files.values(), "--out", "runs/first", "--quiet")
    command("runs", "first", "--add-tag", "nightly")
    saves = ["--no-save"] if "t" in words else []
    done = command(*(files.get(word, word) for word in words), *saves)
    assert done.code == 2
    assert f"did you mean '{meant}'?" in done.err


def test_words_are_completed_in_a_shell():
    environment = {
        **os.environ,
        "_FIELDMARK_COMPLETE": "bash_complete",
        "COMP_WORDS": "fieldmark score --convention ",
        "COMP_CWORD": "3",
    }
    done = subprocess.run(
        [sys.executable, "-m", "fieldmark"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [f"plain,{name}" for name in CONVENTIONS]
