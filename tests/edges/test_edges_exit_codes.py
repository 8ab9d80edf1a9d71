"""What the exit code says, and that it is never without a word about why."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fieldmark.cli import score as score_module
from fieldmark.cli.exit_codes import ExitCode, strongest
from fieldmark.cli.output import OutputFormat
from published.command_line import COMMAND, ENVIRONMENT, fieldmark
from waiting import eventually

NOT_RECORDED = """
provider: {type: recorded, scores: [{expected: a, candidate: b, similarity: 0.5}]}
fields: [{path: vendor, match: semantic}]
"""
OTHER_VENDOR = '{"id": "a", "candidate": {"total": 1, "vendor": "Acme Inc"}}\n'
BROKEN_TRUTH = '{"id": "a", "expected": {"total": 1}}\n{"id": "b", "exp'


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param([], 0, id="mistakes-in-the-data-are-a-result"),
        pytest.param(["--min", "micro_f1=0.5"], 0, id="a-gate-that-holds"),
        pytest.param(["--min", "micro_f1=0.9"], 1, id="a-least-value-that-is-missed"),
        pytest.param(["--max", "quality.completeness=0.5"], 1, id="a-most-value-that-is-exceeded"),
        pytest.param(
            ["--min", "micro_f1=0.5", "--min", "micro_recall=0.9"], 1, id="one-gate-of-two"
        ),
        pytest.param(["--min", "attributes.vendor.recall=0.5"], 0, id="a-gate-on-an-attribute"),
        pytest.param(["--min", "attributes.vendor.recall=0.6"], 1, id="its-limit-is-kept"),
        pytest.param(["--min", "consistency=0"], 1, id="an-undefined-figure-never-passes"),
        pytest.param(
            ["--min", "micro.f1=0.9", "--min", "micro.f1=0.1"], 2, id="two-limits-for-one-figure"
        ),
        pytest.param(
            ["--min", "micro.f1=0.1", "--max", "micro.f1=0.9"], 0, id="a-limit-on-either-side"
        ),
        pytest.param(["--min", "micro_f1"], 2, id="a-gate-without-a-limit"),
        pytest.param(["--min", "micro_f1=nan"], 2, id="a-limit-that-is-no-number"),
        pytest.param(["--min", "macro_f2=0.5"], 2, id="a-figure-that-does-not-exist"),
        pytest.param(["--format", "xml"], 2, id="an-unknown-format"),
        pytest.param(["--top", "-1"], 2, id="a-negative-number-of-rows"),
        pytest.param(["--max-errors", "-1"], 2, id="a-negative-number-of-errors"),
    ],
)
@pytest.mark.parametrize("form", ["table", "json"])
def test_options_decide_the_code(score, options, code, form):
    done = score("--format", form, *options)
    assert done.code == code
    assert bool(done.err) == (code != 0 and not (code == 1 and form == "table"))


def test_a_comparison_that_could_not_be_made(folder, score):
    (folder / "rules.yaml").write_text(NOT_RECORDED)
    (folder / "candidate.jsonl").write_text(OTHER_VENDOR)
    said = "case that could not be evaluated: case 'a', vendor: no similarity is recorded"

    done = score("--rules", "rules.yaml")
    assert done.code == 3
    assert said in done.out
    quiet = score("--rules", "rules.yaml", "--quiet")
    assert (quiet.code, quiet.out) == (3, "")
    assert said in quiet.err
    assert score("--rules", "rules.yaml", "--max-errors", "1").code == 0


def test_errors_are_stronger_than_a_failed_gate(folder, score):
    (folder / "rules.yaml").write_text(NOT_RECORDED)
    (folder / "candidate.jsonl").write_text(OTHER_VENDOR)
    assert score("--rules", "rules.yaml", "--min", "micro_f1=1").code == 3


def test_an_unreadable_truth_is_stronger_than_a_failed_gate(folder, score):
    (folder / "truth.jsonl").write_text(BROKEN_TRUTH)
    assert score("--min", "micro_recall=1").code == 2


def test_results_that_cannot_be_written(folder, command):
    (folder / "file").write_text("")
    done = command("score", "truth.jsonl", "candidate.jsonl", "--out", "file/run")
    assert done.code == 74
    assert done.err == "fieldmark: cannot use file/run: Not a directory\n"


@pytest.mark.parametrize(
    "words",
    [
        *(f"demo --format {form}" for form in OutputFormat),
        "score truth.jsonl candidate.jsonl --no-save --min rqs=1",
        "infer truth.jsonl",
        "validate rules.yaml",
        "score --help",
        "--version",
    ],
)
def test_output_that_cannot_be_written(folder, words):
    (folder / "rules.yaml").write_text("fields: [{path: total, match: exact}]\n")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [COMMAND, *words.split()], env=ENVIRONMENT, cwd=folder, check=False, timeout=60,
            stdout=full, stderr=subprocess.PIPE,
        )  # fmt: skip
    assert done.stderr == b"fieldmark: cannot write the output: No space left on device\n"
    assert done.returncode == 74


def test_output_that_waits_until_the_end_is_output_too():
    script = "import sys; from fieldmark.cli.main import main; sys.stdout.write('x'); main()"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", script, "demo", "--quiet"],
            env={**ENVIRONMENT, "PYTHONUNBUFFERED": ""}, check=False, timeout=60,
            stdout=full, stderr=subprocess.PIPE,
        )  # fmt: skip
    assert done.stderr == b"fieldmark: cannot write the output: No space left on device\n"
    assert done.returncode == 74


@pytest.mark.parametrize(("words", "code"), [("scor", 2), ("infer missing.jsonl", 2)])
def test_a_message_that_cannot_be_written_leaves_the_code(folder, words, code):
    done = subprocess.run(
        ["bash", "-c", f"'{COMMAND}' {words} 2> /dev/full"],
        env=ENVIRONMENT,
        cwd=folder,
        check=False,
    )
    assert done.returncode == code


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_nobody_who_reads(folder, closed):
    words = "score truth.jsonl candidate.jsonl --no-save --format json"
    done = subprocess.run(
        ["bash", "-c", f"'{COMMAND}' {words} {closed}"],
        env=ENVIRONMENT, cwd=folder, check=False, capture_output=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_interruption_is_told(command, monkeypatch):
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(score_module, "score_with", interrupt)
    done = command("score", "truth.jsonl", "candidate.jsonl", "--no-save")
    assert (done.code, done.out) == (130, "")
    assert done.err.strip() == "fieldmark: interrupted"


def test_help_tells_every_code_a_run_can_end_with(command):
    told = command("score", "--help").out.partition("Exit codes: ")[2]
    assert {int(word) for word in re.findall(r"\b\d+\b", told)} == set(ExitCode)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        pytest.param([], ExitCode.OK, id="nothing-happened"),
        pytest.param([0, 1], ExitCode.GATE_FAILED, id="a-gate"),
        pytest.param([1, 3], ExitCode.TOO_MANY_ERRORS, id="errors-before-gates"),
        pytest.param([1, 3, 2], ExitCode.BAD_INPUT, id="bad-input-before-errors"),
        pytest.param([2, 74, 3], ExitCode.STORAGE, id="storage-before-bad-input"),
        pytest.param([74, 130, 75], ExitCode.INTERRUPTED, id="an-interruption-before-all"),
    ],
)
def test_the_strongest_code_wins(found, code):
    assert strongest(map(ExitCode, found)) is code


def test_the_installed_command_ends_with_the_code(folder):
    done = fieldmark("score", "truth.jsonl", "candidate.jsonl", "--no-save", "-q", "--min", "rqs=1")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("fieldmark: gate failed: rqs = 0.")


@pytest.mark.parametrize("words", [[], ["--version"], ["--help"], ["score", "-h"]])
def test_help_and_version_are_answers(command, words):
    done = command(*words)
    assert "Traceback" not in done.out + done.err
    assert done.code == (0 if words else 2)


@pytest.mark.parametrize("name", ["score", "infer", "validate", "demo"])
def test_every_command_explains_itself(command, name):
    done = command(name, "--help")
    assert done.code == 0
    assert done.out.startswith(f"Usage: fieldmark {name}")
    assert name == "demo" or "Examples:" in done.out


def test_a_process_that_is_asked_to_end_leaves_a_run_that_can_go_on(folder):
    truth = "".join(f'{{"id": "{n}", "total": {n}}}\n' for n in range(20_000))
    (folder / "many.jsonl").write_text(truth, "utf-8")
    (folder / "slow.eval.yaml").write_text(
        "cases: many.jsonl\ncandidates: many.jsonl\n"
        "evaluators: [{name: j, type: code_judge, script: [python3, judge.py], protocol: lines}]\n"
    )
    (folder / "judge.py").write_text(
        "import sys, time\nfor _ in sys.stdin:\n"
        "    time.sleep(0.001)\n    print('{\"score\": 1}', flush=True)\n"
    )
    words = [COMMAND, "eval", "slow.eval.yaml", "--out", "run", "--quiet"]
    process = subprocess.Popen(words, env=ENVIRONMENT, cwd=folder, stderr=subprocess.PIPE)
    results = folder / "run" / "results.jsonl"
    assert eventually(lambda: results.exists() and results.stat().st_size)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=100)
    assert (process.returncode, said.strip()) == (130, b"fieldmark: interrupted")
    manifest = json.loads((folder / "run" / "manifest.json").read_text("utf-8"))
    assert manifest["status"] == "interrupted"


def test_the_command_leaves_signals_as_they_were(command):
    before = signal.getsignal(signal.SIGTERM)
    command("score", "truth.jsonl", "candidate.jsonl", "--no-save")
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_bug_is_told_in_one_line_and_has_a_code_of_its_own(command, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("no\nway\x1b[31m")

    monkeypatch.delenv("FIELDMARK_DEBUG", raising=False)
    monkeypatch.setattr(score_module, "score_with", fail)
    done = command("score", "truth.jsonl", "candidate.jsonl")
    assert done.code == ExitCode.BUG == 70
    assert done.err == (
        "fieldmark: this is a bug in fieldmark, not in your data or configuration "
        "(ZeroDivisionError: no). Set FIELDMARK_DEBUG=1 to see where, and please report it.\n"
    )
    monkeypatch.setenv("FIELDMARK_DEBUG", "1")
    told = command("score", "truth.jsonl", "candidate.jsonl")
    assert told.code == 70
    assert "Traceback" in told.err
    assert "\x1b" not in told.err


def test_a_bug_is_stronger_than_bad_input_and_weaker_than_a_full_disk():
    assert strongest([ExitCode.BAD_INPUT, ExitCode.BUG]) is ExitCode.BUG
    assert strongest([ExitCode.STORAGE, ExitCode.BUG]) is ExitCode.STORAGE


MISSPELT = "unknown figure 'attributes.totl.f1'. Did you mean attributes.total.f1?"


@pytest.mark.parametrize("form", ["table", "json", "markdown", "csv"])
def test_a_gate_on_an_attribute_that_there_is_not_keeps_the_run(command, folder, form):
    gates = ("--min", "attributes.totl.f1=0.1", "--min", "attributes.total.f1=0.1")
    done = command(
        "score", "truth.jsonl", "candidate.jsonl", "--out", "run", "--format", form, *gates
    )
    assert done.code == 2
    assert done.err.splitlines() == [f"fieldmark: --min: {MISSPELT}", "run saved in run"]
    summary = json.loads((folder / "run" / "summary.json").read_bytes())
    assert [gate["passed"] for gate in summary["gates"]] == [False, True]
    assert summary["gates"][0]["known"] is False
    assert summary["cases"]["total"] == 2
    assert json.loads((folder / "run" / "manifest.json").read_bytes())["status"] == "complete"


@pytest.mark.parametrize(
    ("gate", "code", "kept"),
    [
        pytest.param("attributes.totl.f1=0.1", 2, False, id="no-rule-names-it"),
        pytest.param("attributes.total.f1=0.1", 0, True, id="a-rule-names-it"),
        pytest.param("attributes.items[].sku.f1=0", 2, True, id="a-rule-names-it-but-no-document"),
    ],
)
def test_where_rules_name_all_attributes_a_gate_on_another_is_refused_at_once(
    command, folder, gate, code, kept
):
    fields = "fields: [{path: total, match: exact}, {path: 'items[].sku', match: exact}]"
    (folder / "rules.yaml").write_text(f"scope: configured\n{fields}\n")
    rules = ("--rules", "rules.yaml", "--min", gate)
    done = command("score", "truth.jsonl", "candidate.jsonl", "--out", "run", "--quiet", *rules)
    assert (done.code, (folder / "run").exists()) == (code, kept)
    assert done.err == (done.err if kept else f"fieldmark: {MISSPELT}\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(["--max-drop", "attributes.totl.f1=0.1"], MISSPELT, id="an-unknown-figure"),
        pytest.param(
            ["--max-drop", "0.1", "--match", "fuzzy"], "compared or counted otherwise", id="unlike"
        ),
    ],
)
def test_a_baseline_that_cannot_serve_is_refused_before_the_run(command, folder, options, said):
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "before").code == 0
    words = ("score", "truth.jsonl", "candidate.jsonl", "--out", "run", "--baseline", "before")
    done = command(*words, *options)
    assert done.code == 2
    assert said in done.err
    assert not (folder / "run").exists()


def test_an_attribute_that_is_gone_has_fallen(command, folder):
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "before").code == 0
    for name in ("truth", "candidate"):
        path = folder / f"{name}.jsonl"
        path.write_text(re.sub(r', "vendor": "[^"]*"', "", path.read_text()))
    words = ("--baseline", "before", "--max-drop", "attributes.vendor.recall=0.1")
    done = command("score", "truth.jsonl", "candidate.jsonl", "--out", "run", "--quiet", *words)
    assert done.code == 1
    assert "drop of attributes.vendor.recall = undefined" in done.err


@pytest.mark.parametrize(("resumed", "code"), [([], 0), (["--max-errors", "0"], 3)])
def test_a_run_that_goes_on_remembers_how_many_errors_it_may_have(
    command, folder, monkeypatch, resumed, code
):
    (folder / "rules.yaml").write_text(NOT_RECORDED)
    (folder / "candidate.jsonl").write_text(OTHER_VENDOR)
    words = ("score", "truth.jsonl", "candidate.jsonl", "--rules", "rules.yaml", "--out", "run")

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("fieldmark.run.session.summarise", interrupt)
        assert command(*words, "--max-errors", "1").code == 130
    assert command("score", "--resume", "run", *resumed).code == code


def test_a_run_that_goes_on_still_must_not_fall_behind_its_baseline(command, folder, monkeypatch):
    words = ("score", "truth.jsonl", "candidate.jsonl", "--out")
    assert command("score", "truth.jsonl", "truth.jsonl", "--candidate", "expected", "--out",
                   "before").code == 0  # fmt: skip

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("fieldmark.run.session.summarise", interrupt)
        assert command(*words, "run", "--baseline", "before", "--max-drop", "0.01").code == 130
    done = command("score", "--resume", "run", "--quiet")
    assert done.code == 1
    assert "drop of mean_score" in done.err
