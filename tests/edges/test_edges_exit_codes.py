"""Exit codes, and the messages that explain them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fieldmark.cli import score as score_module
from fieldmark.cli.exit_codes import ExitCode, combine_exit_codes
from fieldmark.runs import session
from published.command_line import COMMAND, ENVIRONMENT, fieldmark
from waiting import TIMEOUT, eventually

NOT_RECORDED = """
provider: {type: recorded, scores: [{expected: a, candidate: b, similarity: 0.5}]}
fields: [{path: vendor, match: semantic}]
"""
OTHER_VENDOR = '{"id": "a", "candidate": {"total": 1, "vendor": "Acme Inc"}}\n'
BROKEN_TRUTH = '{"id": "a", "expected": {"total": 1}}\n{"id": "b", "exp'


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param([], 0, id="mistakes-without-gates"),
        pytest.param(["--min", "micro_f1=0.5"], 0, id="gate-passed"),
        pytest.param(["--min", "micro_f1=0.9"], 1, id="min-failed"),
        pytest.param(["--max", "quality.completeness=0.5"], 1, id="max-failed"),
        pytest.param(
            ["--min", "micro_f1=0.5", "--min", "micro_recall=0.9"], 1, id="one-of-two-gates-failed"
        ),
        pytest.param(["--match", "ignore", "--min", "micro_f1=0"], 1, id="undefined-metric-fails"),
        pytest.param(["--min", "micro.f1=0.9", "--min", "micro.f1=0.1"], 2, id="duplicate-limit"),
        pytest.param(["--min", "micro.f1=0.1", "--max", "micro.f1=0.9"], 0, id="min-and-max"),
        pytest.param(["--min", "micro_f1"], 2, id="gate-without-a-limit"),
        pytest.param(["--min", "micro_f1=nan"], 2, id="limit-not-a-number"),
        pytest.param(["--min", "macro_f2=0.5"], 2, id="unknown-metric"),
        pytest.param(["--format", "xml"], 2, id="unknown-format"),
    ],
)
def test_exit_code_by_options(score, options, code):
    done = score(*options)
    assert done.code == code
    assert bool(done.err) == (code == 2)


@pytest.mark.parametrize(("limit", "code"), [("0.5", 0), ("0.9", 1)])
def test_reason_of_a_failure_is_not_part_of_the_json(score, limit, code):
    done = score("--format", "json", "--min", f"micro_f1={limit}")
    assert (done.code, bool(done.err)) == (code, code == 1)


def test_evaluation_error_exits_with_3(folder, score):
    (folder / "rules.yaml").write_text(NOT_RECORDED)
    (folder / "candidate.jsonl").write_text(OTHER_VENDOR)
    message = "evaluation failed: case 'a': vendor: no similarity recorded"

    done = score("--rules", "rules.yaml")
    assert done.code == 3
    assert message in done.out
    quiet = score("--rules", "rules.yaml", "--quiet")
    assert (quiet.code, quiet.out) == (3, "")
    assert message in quiet.err
    assert score("--rules", "rules.yaml", "--max-errors", "1").code == 0


EVAL = """
cases: truth.jsonl
candidates: candidate.jsonl
evaluators:
  - {type: field_accuracy, fields: [{path: total}]}
"""
SCORE = "score truth.jsonl candidate.jsonl"


@pytest.mark.parametrize(
    ("words", "code", "failures"),
    [
        pytest.param(SCORE, 0, [], id="no-gates"),
        pytest.param(f"{SCORE} --min micro_f1=0.2", 0, [], id="gate-passed"),
        pytest.param(f"{SCORE} --min micro_f1=0.9", 1, ["gate_failed"], id="gate-failed"),
        pytest.param(
            f"{SCORE} --min attributes.totl.f1=0.1", 2, ["unknown_metric"], id="unknown-metric"
        ),
        pytest.param(
            "score broken.jsonl candidate.jsonl", 2, ["invalid_truth"], id="unreadable-truth"
        ),
        pytest.param(f"{SCORE} --rules rules.yaml", 3, ["too_many_errors"], id="errors"),
        pytest.param(f"{SCORE} --rules rules.yaml --max-errors 1", 0, [], id="errors-allowed"),
        pytest.param(
            f"{SCORE} --rules rules.yaml --min micro_f1=1",
            3,
            ["too_many_errors", "gate_failed"],
            id="errors-and-gate",
        ),
        pytest.param(
            "score broken.jsonl candidate.jsonl --min micro_f1=1 --min attributes.x.f1=0",
            2,
            ["unknown_metric", "invalid_truth", "gate_failed"],
            id="several",
        ),
        pytest.param("eval e.yaml", 0, [], id="eval"),
        pytest.param("eval e.yaml --min mean_score=0.9", 1, ["gate_failed"], id="eval-gate-failed"),
        pytest.param("eval e.yaml --case a --case x*", 2, ["unmet_selection"], id="unmet-id"),
        pytest.param("eval typo.yaml", 3, ["failed_evaluator"], id="eval-without-paths"),
        pytest.param(
            "eval judge.yaml", 3, ["too_many_errors", "nothing_scored"], id="eval-judge-failed"
        ),
        pytest.param("rescore runs/old", 2, ["invalid_truth"], id="rescored"),
        pytest.param(
            "rescore runs/old --min mean_score=1",
            2,
            ["invalid_truth", "gate_failed"],
            id="rescored-gate-failed",
        ),
        pytest.param("rescore runs/errors", 3, ["too_many_errors"], id="rescored-errors"),
        pytest.param("rescore runs/errors --max-errors 1", 0, [], id="rescored-errors-allowed"),
    ],
)
def test_run_passes_exactly_if_its_command_exits_with_0(folder, command, words, code, failures):
    (folder / "broken.jsonl").write_text(BROKEN_TRUTH)
    (folder / "rules.yaml").write_text(NOT_RECORDED)
    (folder / "candidate.jsonl").write_text(OTHER_VENDOR)
    (folder / "e.yaml").write_text(EVAL)
    (folder / "typo.yaml").write_text(EVAL.replace("total", "totla"))
    (folder / "judge.yaml").write_text(f"{EVAL}  - {{type: code_judge, script: ['false']}}\n")
    if words.startswith("rescore"):
        command("score", "broken.jsonl", "candidate.jsonl", "--out", "runs/old")
        command(*SCORE.split(), "--rules", "rules.yaml", "--out", "runs/errors")
    done = command(*words.split(), "--out", "out")
    summary = json.loads((folder / "out/summary.json").read_bytes())
    assert done.code == code
    assert (summary["passed"], summary["failures"]) == (code == 0, failures)


def test_unwritable_run_directory_exits_with_74(folder, command):
    (folder / "file").write_text("")
    done = command("score", "truth.jsonl", "candidate.jsonl", "--out", "file/run")
    assert done.code == 74
    assert done.err == "fieldmark: cannot use directory file/run: Not a directory\n"


@pytest.mark.parametrize(
    "words",
    [
        "demo --format table",
        "demo --format json",
        "score truth.jsonl candidate.jsonl --no-save --min rqs=1",
        "validate rules.yaml",
        "score --help",
        "--version",
    ],
)
def test_unwritable_output_exits_with_74(folder, words):
    (folder / "rules.yaml").write_text("fields: [{path: total, match: exact}]\n")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [COMMAND, *words.split()], env=ENVIRONMENT, cwd=folder, check=False, timeout=TIMEOUT,
            stdout=full, stderr=subprocess.PIPE,
        )  # fmt: skip
    assert done.stderr == b"fieldmark: cannot write output: No space left on device\n"
    assert done.returncode == 74


def test_unwritable_buffered_output_exits_with_74():
    script = "import sys; from fieldmark.cli.main import main; sys.stdout.write('x'); main()"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", script, "demo", "--quiet"],
            env={**ENVIRONMENT, "PYTHONUNBUFFERED": ""}, check=False, timeout=TIMEOUT,
            stdout=full, stderr=subprocess.PIPE,
        )  # fmt: skip
    assert done.stderr == b"fieldmark: cannot write output: No space left on device\n"
    assert done.returncode == 74


@pytest.mark.parametrize(("words", "code"), [("scor", 2), ("infer missing.jsonl", 2)])
def test_unwritable_message_does_not_change_the_exit_code(folder, words, code):
    done = subprocess.run(
        ["bash", "-c", f"'{COMMAND}' {words} 2> /dev/full"],
        env=ENVIRONMENT,
        cwd=folder,
        check=False,
    )
    assert done.returncode == code


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_accepted(folder, closed):
    words = "score truth.jsonl candidate.jsonl --no-save --format json"
    done = subprocess.run(
        ["bash", "-c", f"'{COMMAND}' {words} {closed}"],
        env=ENVIRONMENT, cwd=folder, check=False, capture_output=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


def test_interrupt_is_reported(command, monkeypatch):
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(score_module, "score_with", interrupt)
    done = command("score", "truth.jsonl", "candidate.jsonl", "--no-save")
    assert (done.code, done.out) == (130, "")
    assert done.err.strip() == "fieldmark: interrupted"


def test_help_lists_every_exit_code(command):
    codes = command("--help").out.partition("Exit codes:\n")[2]
    assert {int(code) for code in re.findall(r"^ +(\d+) ", codes, re.MULTILINE)} == set(ExitCode)


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        pytest.param([], ExitCode.OK, id="no-codes"),
        pytest.param([0, 1], ExitCode.GATE_FAILED, id="gate"),
        pytest.param([1, 3], ExitCode.TOO_MANY_ERRORS, id="errors-before-gates"),
        pytest.param([1, 3, 2], ExitCode.BAD_INPUT, id="bad-input-before-errors"),
        pytest.param([2, 74, 3], ExitCode.STORAGE, id="storage-before-bad-input"),
        pytest.param([2, 70], ExitCode.BUG, id="bug-before-bad-input"),
        pytest.param([74, 70], ExitCode.STORAGE, id="storage-before-bug"),
        pytest.param([74, 130, 75], ExitCode.INTERRUPTED, id="interrupt-before-all"),
    ],
)
def test_precedence_of_exit_codes(codes, code):
    assert combine_exit_codes(map(ExitCode, codes)) is code


def test_installed_command_returns_the_exit_code(folder):
    done = fieldmark("score", "truth.jsonl", "candidate.jsonl", "--no-save", "-q", "--min", "rqs=1")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("fieldmark: gate failed: rqs is 0.")


@pytest.mark.parametrize("words", [[], ["--version"], ["--help"], ["score", "-h"]])
def test_help_and_version_succeed(command, words):
    done = command(*words)
    assert "Traceback" not in done.out + done.err
    assert done.code == (0 if words else 2)


def test_sigterm_leaves_a_run_that_can_be_resumed(folder):
    truth = "".join(f'{{"id": "{n}", "total": {n}}}\n' for n in range(400))
    (folder / "many.jsonl").write_text(truth, "utf-8")
    (folder / "held.eval.yaml").write_text(
        "cases: many.jsonl\ncandidates: many.jsonl\n"
        "evaluators: [{name: j, type: code_judge, script: [python3, judge.py], protocol: lines,"
        f" timeout: {10 * TIMEOUT}}}]\n"
    )
    # The judge never responds to one of the cases, so the run cannot end before the signal.
    (folder / "judge.py").write_text(
        "import json, sys, time\nfor line in sys.stdin:\n"
        "    while json.loads(line)['case_id'] == '200':\n        time.sleep(0.01)\n"
        "    print('{\"score\": 1}', flush=True)\n"
    )
    words = [COMMAND, "eval", "held.eval.yaml", "--out", "run", "--quiet"]
    process = subprocess.Popen(words, env=ENVIRONMENT, cwd=folder, stderr=subprocess.PIPE)
    results = folder / "run" / "results.jsonl"
    assert eventually(lambda: results.exists() and results.stat().st_size)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, stderr.strip()) == (130, b"fieldmark: interrupted")
    manifest = json.loads((folder / "run" / "manifest.json").read_text("utf-8"))
    assert manifest["status"] == "interrupted"


def test_command_restores_signal_handlers(command):
    before = signal.getsignal(signal.SIGTERM)
    command("score", "truth.jsonl", "candidate.jsonl", "--no-save")
    assert signal.getsignal(signal.SIGTERM) is before


def test_bug_is_reported_in_one_line_with_exit_code_70(command, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("no\nway\x1b[31m")

    monkeypatch.delenv("FIELDMARK_DEBUG", raising=False)
    monkeypatch.setattr(score_module, "score_with", fail)
    done = command("score", "truth.jsonl", "candidate.jsonl")
    assert done.code == ExitCode.BUG == 70
    assert done.err == (
        "fieldmark: internal error: ZeroDivisionError: no; this is a bug in fieldmark; "
        "set FIELDMARK_DEBUG=1 to print the traceback, and please report it\n"
    )
    monkeypatch.setenv("FIELDMARK_DEBUG", "1")
    debug = command("score", "truth.jsonl", "candidate.jsonl")
    assert debug.code == 70
    assert "Traceback" in debug.err
    assert "\x1b" not in debug.err


MISSPELLED = "unknown metric 'attributes.totl.f1'; did you mean 'attributes.total.f1'?"


@pytest.mark.parametrize("form", ["table", "json", "markdown", "csv"])
def test_gate_on_unknown_attribute_fails_but_saves_the_run(command, folder, form):
    gates = ("--min", "attributes.totl.f1=0.1", "--min", "attributes.total.f1=0.1")
    done = command(
        "score", "truth.jsonl", "candidate.jsonl", "--out", "run", "--format", form, *gates
    )
    assert done.code == 2
    assert done.err.splitlines() == [f"fieldmark: --min: {MISSPELLED}", "saved run to run"]
    summary = json.loads((folder / "run" / "summary.json").read_bytes())
    assert [gate["passed"] for gate in summary["gates"]] == [False, True]
    assert summary["gates"][0]["known"] is False
    assert summary["cases"]["total"] == 2
    assert json.loads((folder / "run" / "manifest.json").read_bytes())["status"] == "complete"


@pytest.mark.parametrize(
    ("gate", "code", "saved"),
    [
        pytest.param("attributes.totl.f1=0.1", 2, False, id="not-in-rules"),
        pytest.param("attributes.total.f1=0.1", 0, True, id="in-rules"),
        pytest.param("attributes.items[].sku.f1=0", 2, True, id="in-rules-but-not-in-data"),
    ],
)
def test_gate_on_unknown_attribute_is_rejected_early_with_configured_scope(
    command, folder, gate, code, saved
):
    fields = "fields: [{path: total, match: exact}, {path: 'items[].sku', match: exact, required: false}]"
    (folder / "rules.yaml").write_text(f"scope: configured\n{fields}\n")
    rules = ("--rules", "rules.yaml", "--min", gate)
    done = command("score", "truth.jsonl", "candidate.jsonl", "--out", "run", "--quiet", *rules)
    assert (done.code, (folder / "run").exists()) == (code, saved)
    assert done.err == (done.err if saved else f"fieldmark: {MISSPELLED}\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(["--max-drop", "attributes.totl.f1=0.1"], MISSPELLED, id="unknown-metric"),
        pytest.param(
            ["--max-drop", "0.1", "--match", "fuzzy"],
            "different rules or a different convention",
            id="different-rules",
        ),
    ],
)
def test_unusable_baseline_is_rejected_before_the_run(command, folder, options, message):
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "before").code == 0
    words = ("score", "truth.jsonl", "candidate.jsonl", "--out", "run", "--baseline", "before")
    done = command(*words, *options)
    assert done.code == 2
    assert message in done.err
    assert not (folder / "run").exists()


def test_attribute_missing_from_the_new_run_fails_max_drop(command, folder):
    # Both sides are in one file, so the ground truth of the runs cannot be compared by its hash.
    path = folder / "both.jsonl"
    path.write_text('{"id": "a", "expected": {"x": 1, "y": 2}, "candidate": {"x": 1, "y": 2}}\n')
    assert command("score", "both.jsonl", "--out", "before").code == 0
    path.write_text('{"id": "a", "expected": {"x": 1}, "candidate": {"x": 1}}\n')
    words = ("--baseline", "before", "--max-drop", "attributes.y.recall=0.1")
    done = command("score", "both.jsonl", "--out", "run", "--quiet", *words)
    assert done.code == 1
    assert "drop of attributes.y.recall is undefined" in done.err


@pytest.mark.parametrize(("resumed", "code"), [([], 0), (["--max-errors", "0"], 3)])
def test_resumed_run_uses_stored_max_errors(command, folder, monkeypatch, resumed, code):
    (folder / "rules.yaml").write_text(NOT_RECORDED)
    (folder / "candidate.jsonl").write_text(OTHER_VENDOR)
    words = ("score", "truth.jsonl", "candidate.jsonl", "--rules", "rules.yaml", "--out", "run")

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(session, "summarize", interrupt)
        assert command(*words, "--max-errors", "1").code == 130
    assert command("score", "--resume", "run", *resumed).code == code


def test_resumed_run_uses_stored_baseline(command, folder, monkeypatch):
    words = ("score", "truth.jsonl", "candidate.jsonl", "--out")
    assert command("score", "truth.jsonl", "truth.jsonl", "--candidate", "expected", "--out",
                   "before").code == 0  # fmt: skip

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(session, "summarize", interrupt)
        assert command(*words, "run", "--baseline", "before", "--max-drop", "0.01").code == 130
    done = command("score", "--resume", "run", "--quiet")
    assert done.code == 1
    assert "drop of mean_score" in done.err
