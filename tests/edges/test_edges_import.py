"""`fieldmark import agentv`: output, files and error messages."""

from __future__ import annotations

import pytest

from fieldmark.runs.eval_file import load_eval
from published.command_line import DATA
from unit.rules.agentv_files import HEADER, project

INVOICES = DATA / "agentv-document-extraction" / "evals" / "field-accuracy.eval.yaml"


@pytest.fixture
def import_file(command):
    return lambda *words: command("import", "agentv", *words)


def test_eval_file_is_printed_and_warnings_go_to_stderr(import_file, folder):
    done = import_file(INVOICES)
    assert done.code == 0
    assert done.out.startswith("name: field-accuracy\n")
    assert all(line.startswith("warning: ") for line in done.err.splitlines())
    (folder / "native.yaml").write_text(done.out, "utf-8")
    assert len(load_eval(folder / "native.yaml").cases) == 6


def test_eval_file_is_written_to_out(import_file, folder):
    done = import_file(INVOICES, "--out", "native.yaml")
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines()[-1] == "wrote 6 cases to native.yaml"
    assert (folder / "native.yaml").read_text("utf-8") == import_file(INVOICES).out


def test_out_overwrites_a_file_only_with_force(import_file, folder):
    file = folder / "native.yaml"
    file.write_text("mine", "utf-8")
    done = import_file(INVOICES, "--out", file)
    assert done.code == 2
    assert "already exists; use --force to overwrite it" in done.err
    assert file.read_text("utf-8") == "mine"
    assert import_file(INVOICES, "--out", file, "--force").code == 0
    assert file.read_text("utf-8") != "mine"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        pytest.param(
            ["none.yaml"],
            2,
            "none.yaml: file not found",
            id="no-such-file",
        ),
        pytest.param(["truth.jsonl"], 2, "truth.jsonl:", id="not-an-eval-file"),
        pytest.param([], 2, "FILE is required", id="no-file"),
        pytest.param(
            [INVOICES, "--out", "none/native.yaml"], 74, "cannot write", id="missing-directory"
        ),
        pytest.param([INVOICES, "--out", ".", "--force"], 74, "cannot write", id="directory"),
    ],
)
def test_errors_are_reported_in_one_line(import_file, folder, words, code, message):
    done = import_file(*words)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_all_problems_are_listed_and_nothing_is_written(import_file, folder):
    graders = [HEADER, {"name": "x", "type": "llm-rubric"}, {"name": "y", "type": "latency"}]
    done = import_file(project(folder, graders=graders), "--out", "native.yaml")
    assert done.code == 2
    assert len(done.err.splitlines()) == 2
    assert not (folder / "native.yaml").exists()


def test_control_characters_are_escaped(import_file, folder):
    done = import_file(project(folder, graders=[{"name": "x", "type": "\x1b[2J"}]))
    assert done.code == 2
    assert "\x1b" not in done.err
