"""Output of hostile documents, in terminals, pipes and files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import subprocess
import sys

import pytest

from fieldmark.cli import score as score_module
from published.command_line import COMMAND, ENVIRONMENT, fieldmark, strict
from row_files import write_rows
from waiting import TIMEOUT

HOSTILE = {
    "=1+1": "=cmd|' /C calc'!A0",
    "@SUM(A1)": "+1",
    "\x1b]0;owned\x07": "\x1b[31mred",
    "<script>alert(1)</script>": "</script>",
    "a|b`*_": "| --- |",
    "line\nbreak": "a\u2028b",
    "\u202etxt.exe": "\u200b",
    '"quoted"': "\\",
    "__proto__": {"constructor": 1},
    "": "no name",
    "a.b": [{"c[0]": 1}],
    "\ud800": "\udfff",
    "big": 10**300,
}
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028\u202e\ud800-\udfff]")


@pytest.fixture
def hostile(folder):
    write_rows(folder / "truth.jsonl", [{"id": "=a\x1b[2J", "expected": HOSTILE}])
    wrong = {key: f"{key}!" for key in HOSTILE}
    write_rows(folder / "candidate.jsonl", [{"id": "=a\x1b[2J", "candidate": wrong}])
    return folder


def test_the_table_contains_no_control_characters(hostile, score):
    done = score("--top", "0", "--align", "whole")
    assert done.code == 0
    assert not CONTROL.search(done.out)
    assert r"\ud800" in done.out


def test_warnings_and_errors_contain_no_control_characters(hostile, score):
    write_rows(hostile / "candidate.jsonl", [{"id": "z\x1b[2J\n", "candidate": "?"}])
    done = score()
    assert not CONTROL.search(done.out + done.err)
    missing = score(truth="no\x1b[31mfile.jsonl")
    assert missing.code == 2
    assert not CONTROL.search(missing.err)
    (hostile / "rules.yaml").write_text('"f\\e[31m": {match: "x\\e[2J"}')
    rules = score("--rules", "rules.yaml")
    assert rules.code == 2
    assert not CONTROL.search(rules.err)
    gate = score("--min", "attributes.\x1b[31m.f1=1")
    assert gate.code == 2
    assert not CONTROL.search(gate.err)


def test_json_is_strict(hostile, score):
    summary = score("--format", "json").summary
    assert "\ud800" in summary["attributes"]
    assert "=1+1" in summary["attributes"]


def test_an_undefined_metric_is_null(folder, score):
    write_rows(folder / "truth.jsonl", [{"id": "a", "expected": {"x": None}}])
    write_rows(folder / "candidate.jsonl", [{"id": "a", "candidate": {"x": None}}])
    summary = score("--format", "json").summary
    assert summary["micro"]["f1"] is None
    assert summary["attributes"]["x"]["precision"] is None


def test_csv_cells_are_not_formulas(hostile, score):
    done = score("--format", "csv")
    rows = list(csv.reader(io.StringIO(done.out)))
    assert rows[0][:5] == ["attribute", "tp", "tn", "fp", "fn"]
    assert len(rows[0]) == len(rows[-1])
    assert not [cell for row in rows for cell in row if cell[:1] in {"=", "+", "-", "@", "\t"}]
    assert "'=1+1" in {row[0] for row in rows}


def test_markdown_cells_are_escaped(hostile, score):
    table = [line for line in score("--format", "markdown").out.splitlines() if line[:1] == "|"]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {9}
    assert not [line for line in table if re.search(r"(?<!\\)<", line)]


def test_results_are_strict_json_with_known_attributes(hostile, command):
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "run").code == 0
    for name in ("manifest.json", "summary.json"):
        assert strict((hostile / "run" / name).read_text("utf-8"))
    lines = (hostile / "run" / "attributes.jsonl").read_text("utf-8").splitlines()
    attributes = list(map(strict, lines))
    numbers = {each["attribute"] for each in attributes if "attribute" in each}
    for row in map(strict, (hostile / "run" / "results.jsonl").read_text("utf-8").splitlines()):
        assert {cell >> 7 for cell in row["cells"]} <= numbers
    assert {each.get("step") for each in attributes} >= {"=1+1", "\ud800"}


def test_quiet_prints_nothing_on_success(command):
    done = command("score", "truth.jsonl", "candidate.jsonl", "--out", "run", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize("output_format", ["json", "csv", "markdown"])
def test_quiet_prints_an_explicit_format(score, output_format):
    done = score("--quiet", "--format", output_format)
    assert (done.code, done.err) == (0, "")
    assert done.out == score("--format", output_format).out != ""


@pytest.mark.parametrize("options", [[], ["--format", "markdown"], ["--format", "json"], ["-q"]])
@pytest.mark.parametrize(
    ("gate", "text"),
    [
        pytest.param(
            ["--match", "ignore", "--min", "micro_f1=0.9"],
            "undefined, must be at least 0.9\n",
            id="minimum",
        ),
        pytest.param(["--max", "accuracy=0.5"], "0.6667, must be at most 0.5\n", id="maximum"),
    ],
)
def test_a_failed_gate_has_the_same_text_in_all_formats(score, options, gate, text):
    done = score(*options, *gate)
    assert done.code == 1
    assert f" is {text}" in done.out + done.err


@pytest.mark.parametrize("options", [[], ["-q"]])
def test_an_ascii_stream_gets_ascii_output(folder, options):
    arguments = ["score", "truth.jsonl", "candidate.jsonl", "--no-save", "--min", "rqs=1"]
    done = fieldmark(*arguments, *options, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.code == 1
    assert ", must be at least 1\n" in done.out + done.err
    assert (done.out + done.err).isascii()


def test_results_go_to_standard_output_and_messages_to_standard_error(command):
    done = command("score", "truth.jsonl", "candidate.jsonl", "--out", "run", "--format", "json")
    assert done.summary["cases"]["total"] == 2
    assert done.err == "saved run to run\n"


def test_without_a_terminal_lines_have_no_color_and_are_not_wrapped(folder, score):
    others = [{"id": f"no-{n}" * 20, "candidate": {}} for n in range(9)]
    write_rows(folder / "candidate.jsonl", [{"id": "a", "candidate": {"total": 1}}, *others])
    done = score()
    assert "\x1b" not in done.out
    warning = next(line for line in done.out.splitlines() if line.startswith("warning:"))
    assert len(warning) > 120


@pytest.mark.parametrize(
    ("options", "env", "colored"),
    [
        pytest.param([], {"FORCE_COLOR": "1"}, True, id="forced"),
        pytest.param([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, id="no-color-variable"),
        pytest.param(["--no-color"], {"FORCE_COLOR": "1"}, False, id="no-color-option"),
    ],
)
def test_color_can_be_disabled(folder, options, env, colored):
    env = {**env, "TERM": "xterm-256color"}
    done = fieldmark("score", "truth.jsonl", "candidate.jsonl", "--no-save", *options, env=env)
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]m", done.out)) is colored
    assert ("\x1b" in done.out + done.err) is colored


@pytest.mark.parametrize("arguments", ["demo --top 0", "demo --format csv", "demo --format json"])
def test_a_pipe_closed_early_causes_no_error_message(arguments):
    done = subprocess.run(
        ["bash", "-c", f"'{COMMAND}' {arguments} | head -c 1 > /dev/null"],
        env=ENVIRONMENT, capture_output=True, check=False, timeout=TIMEOUT,
    )  # fmt: skip
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param("demo", 0, id="table"),
        pytest.param("demo --format csv", 0, id="csv"),
        pytest.param("--help", 0, id="help"),
        pytest.param("infer truth.jsonl", 0, id="rules"),
        pytest.param(
            "score truth.jsonl candidate.jsonl --no-save --min rqs=1", 1, id="failed-gate"
        ),
        pytest.param("score truth.jsonl 2>&1", 2, id="error"),
        pytest.param("scor 2>&1", 2, id="unknown-command"),
    ],
)
def test_a_closed_pipe_does_not_change_the_exit_code(folder, arguments, code):
    done = subprocess.run(
        ["bash", "-c", f"'{COMMAND}' {arguments} | true; exit ${{PIPESTATUS[0]}}"],
        env=ENVIRONMENT, capture_output=True, check=False, timeout=TIMEOUT, cwd=folder,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (code, b"")


def test_demo_returns_the_exit_code_of_its_run(command, monkeypatch):
    monkeypatch.setattr(score_module, "run_exit_code", lambda _run: 3)
    assert command("demo", "--quiet").code == 3


def test_a_dash_reads_standard_input(folder):
    text = (folder / "candidate.jsonl").read_bytes()
    done = fieldmark("score", "truth.jsonl", "-", "--no-save", "--format", "json", stdin=text)
    assert done.summary["micro"]["tp"] == 2


def test_gzip_files_are_decompressed(folder, score):
    (folder / "truth.jsonl.gz").write_bytes(gzip.compress((folder / "truth.jsonl").read_bytes()))
    assert score("--format", "json", truth="truth.jsonl.gz").summary["micro"]["tp"] == 2


@pytest.mark.parametrize("name", ["-", "truth.jsonl", "truth.json", "truth.csv"])
def test_gzip_data_without_the_suffix_is_an_error(folder, score, monkeypatch, name):
    packed = gzip.compress((folder / "truth.jsonl").read_bytes())
    if name != "-":
        (folder / name).write_bytes(packed)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    done = score(truth=name)
    assert done.code == 2
    assert "looks like gzip; decompress it, or use a file name that ends with .gz" in done.err


def test_infer_requires_only_ground_truth(folder):
    done = fieldmark("infer", "-", stdin=(folder / "truth.jsonl").read_bytes())
    assert (done.code, done.err) == (0, "")
    assert "- {path: total, match: numeric_tolerance, tolerance: 0}" in done.out


def test_an_unknown_metric_of_a_gate_is_found_before_the_run(folder, command):
    options = ["--min", "macro_f1=0.9", "--max", "rqss=1", "--out", "run"]
    done = command("score", "no-such-file.jsonl", "candidate.jsonl", *options)
    assert done.code == 2
    assert done.err == (
        "fieldmark: unknown metric 'macro_f1'; did you mean 'macro_f1_by_attribute' or 'macro_f1_by_case'?\n"
        "fieldmark: unknown metric 'rqss'; did you mean 'rqs'?\n"
    )
    assert not (folder / "run").exists()


def test_non_finite_numbers_are_saved_as_strings(folder, command):
    (folder / "candidate.jsonl").write_text(
        '{"id": "a", "candidate": {"total": NaN, "vendor": null}}\n'
        '{"id": "b", "candidate": {"total": [1e999, -Infinity, 5]}}\n'
    )
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "run").code == 0
    rows = map(strict, (folder / "run" / "results.jsonl").read_text("utf-8").splitlines())
    assert [row["candidate"] for row in rows] == [
        {"total": "NaN", "vendor": None}, {"total": ["Infinity", "-Infinity", 5]},
    ]  # fmt: skip


def test_a_saved_run_has_a_manifest_with_its_inputs(folder, command):
    done = command("score", "truth.jsonl", "candidate.jsonl", "--format", "json")
    name = re.fullmatch(r"saved run to (runs/\S+)\n", done.err)
    assert name is not None
    manifest = json.loads((folder / name[1] / "manifest.json").read_text("utf-8"))
    assert manifest["status"] == "complete"
    assert [each["name"] for each in manifest["inputs"]] == ["truth.jsonl", "candidate.jsonl"]
    assert all(len(each["sha256"]) == 64 for each in manifest["inputs"])
    assert (folder / name[1] / "summary.json").read_text("utf-8") == done.out
