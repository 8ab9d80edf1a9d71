"""`fieldmark import agentv`: one file in, one file out, and every fault in one line."""

from __future__ import annotations

import pytest

from fieldmark.config.eval_file import load_eval
from published.command_line import DATA
from unit.config.agentv_files import HEADER, project

INVOICES = DATA / "agentv-document-extraction" / "evals" / "field-accuracy.eval.yaml"


@pytest.fixture
def bring_in(command):
    return lambda *words: command("import", "agentv", *words)


def test_the_native_form_is_printed_and_remarks_go_to_the_other_stream(bring_in, folder):
    done = bring_in(INVOICES)
    assert done.code == 0
    assert done.out.startswith("name: field-accuracy\n")
    assert all(line.startswith("warning: ") for line in done.err.splitlines())
    (folder / "native.yaml").write_text(done.out, "utf-8")
    assert len(load_eval(folder / "native.yaml").cases) == 6


def test_the_native_form_is_written_to_a_file(bring_in, folder):
    done = bring_in(INVOICES, "--out", "native.yaml")
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines()[-1] == "6 cases written to native.yaml"
    assert (folder / "native.yaml").read_text("utf-8") == bring_in(INVOICES).out


def test_a_file_is_written_over_only_if_that_is_asked_for(bring_in, folder):
    kept = folder / "native.yaml"
    kept.write_text("mine", "utf-8")
    done = bring_in(INVOICES, "--out", kept)
    assert done.code == 2
    assert "exists already" in done.err
    assert kept.read_text("utf-8") == "mine"
    assert bring_in(INVOICES, "--out", kept, "--force").code == 0
    assert kept.read_text("utf-8") != "mine"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        pytest.param(["none.yaml"], 2, "none.yaml: Cannot be read", id="no-such-file"),
        pytest.param(["truth.jsonl"], 2, "truth.jsonl:", id="another-kind-of-file"),
        pytest.param([], 2, "Missing argument 'FILE'", id="no-file"),
        pytest.param(
            [INVOICES, "--out", "none/native.yaml"], 74, "cannot write", id="no-such-folder"
        ),
        pytest.param([INVOICES, "--out", ".", "--force"], 74, "cannot write", id="a-folder"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(bring_in, folder, words, code, said):
    done = bring_in(*words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_file_with_problems_writes_nothing_and_tells_all_of_them(bring_in, folder):
    graders = [HEADER, {"name": "x", "type": "llm-rubric"}, {"name": "y", "type": "latency"}]
    done = bring_in(project(folder, graders=graders), "--out", "native.yaml")
    assert done.code == 2
    assert len(done.err.splitlines()) == 2
    assert not (folder / "native.yaml").exists()


def test_text_from_a_file_cannot_command_the_terminal(bring_in, folder):
    done = bring_in(project(folder, graders=[{"name": "x", "type": "\x1b[2J"}]))
    assert done.code == 2
    assert "\x1b" not in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["import", "--help"], "agentv", id="the-tools-that-are-known"),
        pytest.param(["import", "agentv", "--help"], "fieldmark import agentv", id="examples"),
    ],
)
def test_help_says_what_can_be_imported(command, words, said):
    done = command(*words)
    assert done.code == 0
    assert said in done.out


def test_an_unknown_tool_is_refused(command):
    done = command("import", "agentw", "x.yaml")
    assert done.code == 2
    assert "agentw" in done.err
