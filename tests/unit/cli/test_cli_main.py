"""Running the command as a module, and usage errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import click
import pytest

import fieldmark as fm
from fieldmark.cli.main import fieldmark, load_command, main
from fieldmark.version import VERSION


def run_module(*words):
    command = [sys.executable, "-m", "fieldmark", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_package_runs_as_a_module():
    done = run_module("--version")
    version = f"fieldmark {VERSION} (compiled kernel)\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, version, "")


@pytest.mark.parametrize(
    ("variables", "used"), [({}, "4"), ({"OPENBLAS_THREAD_TIMEOUT": "20"}, "20")]
)
def test_idle_threads_of_numpy_sleep_at_once_unless_the_user_sets_when(variables, used):
    code = (
        "import os, sys; from fieldmark.cli.main import main\n"
        "sys.argv = ['fieldmark', '--version']\n"
        "try: main()\n"
        "finally: print(os.environ['OPENBLAS_THREAD_TIMEOUT'])\n"
    )
    others = {name: item for name, item in os.environ.items() if not name.startswith("OPENBLAS")}
    environment = {**others, **variables}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == used


def test_loaded_modules_are_not_searched_for_garbage_when_a_command_ends():
    code = (
        "import gc, sys; from fieldmark.cli.main import main\n"
        "collections = []\n"
        "gc.callbacks.append(lambda phase, info: collections.append(info['generation']))\n"
        "gc.collect(); collections.clear()\n"
        "sys.argv = ['fieldmark', 'score', '--help']\n"
        "try: main()\n"
        "finally: print(collections)\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    collections = json.loads(done.stdout.splitlines()[-1])
    assert 2 not in collections


def test_module_returns_exit_codes():
    done = run_module("scroe")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "fieldmark: unknown command 'scroe'; did you mean 'score'?\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param("score --ruls x", "unknown option '--ruls'; did you mean '--rules'?", id="typo"),
        pytest.param("score --zzz", "unknown option '--zzz'; see 'fieldmark score --help'", id="unknown-option"),
        pytest.param("score --rules", "option '--rules' requires an argument", id="no-value"),
        pytest.param("eval", "FILES is required, unless --resume is given; see 'fieldmark eval --help'", id="no-files"),
        pytest.param("demo --top x", "--top: expected an integer of at least 0, got 'x'", id="not-an-integer"),
        pytest.param("serve --port 70000", "--port: expected an integer from 0 to 65535, got '70000'", id="out-of-range"),
        pytest.param("runs --trend --target x", "--target: expected a number, got 'x'", id="not-a-number"),
        pytest.param(
            "demo --format jsn",
            "--format: unknown value 'jsn'; must be one of: table, json, csv, markdown; did you mean 'json'?",
            id="unknown-value",
        ),
        pytest.param("score a b --accept-changes", "--accept-changes requires --resume", id="requires-resume"),
        pytest.param("score", "TRUTH is required, unless --resume is given; see 'fieldmark score --help'", id="no-truth"),
        pytest.param("score a b --baseline run", "--baseline requires --max-drop, such as 0.01 or micro.f1=0.02", id="baseline-without-max-drop"),
        pytest.param("score a b --max-drop 0.1", "--max-drop requires --baseline", id="max-drop-without-baseline"),
        pytest.param("score a b --out c --no-save", "--out and --no-save cannot be combined", id="saved-or-not"),
        pytest.param("show run a --verdict fail", "--verdict cannot be used with CASE", id="filter-with-case"),
        pytest.param("runs a --tag b", "--tag cannot be used with RUN", id="list-option-with-run"),
        pytest.param("runs --metric micro_f1", "--metric requires --trend", id="trend-option-without-trend"),
        pytest.param("runs --yes", "--yes requires --delete", id="yes-without-delete"),
        pytest.param("runs a --delete --note b", "--note cannot be used with --delete", id="note-with-delete"),
        pytest.param("calibrate measure a --evaluator b", "--evaluator requires --eval", id="evaluator-without-eval"),
        pytest.param(
            "score a --id key --resume run",
            "--resume uses the inputs and options that are stored with the run; remove the inputs, --id",
            id="resume-with-options",
        ),
        pytest.param("doctor --installed", "--installed requires --plugins", id="installed-without-plugins"),
        pytest.param("doctor readers", "KINDS requires --plugins", id="kinds-without-plugins"),
        pytest.param("import agentw", "unknown command 'agentw'; did you mean 'agentv'?", id="subcommand"),
        pytest.param("diff run", "AFTER is required, unless --power is given; see 'fieldmark diff --help'", id="missing-argument"),
        pytest.param("diff run --power", "--drop is required with --power, unless AFTER is given", id="power-without-drop"),
        pytest.param("diff run run --power --drop 0.1", "--drop cannot be used with AFTER", id="power-with-two-drops"),
        pytest.param("diff run run --alpha 0.1", "--alpha requires --power", id="alpha-without-power"),
        pytest.param("diff run --power --force", "--force cannot be used with --power", id="power-with-force"),
        pytest.param("rescore run --limit 5", "--limit requires --dry-run", id="limit-without-dry-run"),
        pytest.param("rescore run --dry-run", "--rules is required with --dry-run", id="dry-run-without-rules"),
        pytest.param("rescore run --dry-run --out b", "--out cannot be used with --dry-run", id="dry-run-with-out"),
        pytest.param("show run a total --only-mistakes", "--only-mistakes cannot be used with PATH", id="mistakes-of-a-field"),
    ],
)  # fmt: skip
def test_usage_errors_are_one_line(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    fm.score([{"id": "a", "expected": {"total": 1}, "candidate": {"total": 1}}], out="run")
    monkeypatch.setattr(sys, "argv", ["fieldmark", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out, printed.err) == (2, "", f"fieldmark: {message}\n")


def _all_commands():
    for name in fieldmark.list_commands(None):
        yield name
        yield from (f"{name} {own}" for own in getattr(load_command(name), "commands", ()))


@pytest.mark.parametrize("name", [*_all_commands()])
def test_help_groups_options_and_fits_80_columns(name):
    command = load_command(name)
    with click.Context(command, info_name=name, terminal_width=80) as context:
        text = command.get_help(context)
    assert max(map(len, text.splitlines())) <= 80
    assert not text.endswith("\n")
    assert text.startswith("Usage: ")
    assert "\nExamples:\n" in text
    groups = {getattr(param, "group", "") for param in command.params} - {""}
    for heading in groups:
        assert text.count(f"\n{heading}:\n") == 1
    for param in command.params:
        assert not isinstance(param, click.Option) or param.help.endswith((".", "]"))


@pytest.mark.parametrize("name", [*_all_commands()])
def test_help_has_a_short_option_in_any_context(name):
    command = load_command(name)
    with click.Context(command) as context:
        assert command.get_help_option(context).opts == ["-h", "--help"]
