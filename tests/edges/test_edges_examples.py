"""The example eval file is valid, passes, and uses the sample data."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from edges.llm_server import serving
from published.command_line import EXAMPLES, ROOT
from row_files import read_rows

SAMPLE = ROOT / "src" / "fieldmark" / "sample"


def rows(file):
    return read_rows(file)


def test_eval_file_is_valid_and_passes_its_gates(command, monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    done = command("validate", "invoices.eval.yaml")
    assert (done.code, done.err) == (0, "")
    done = command("eval", "invoices.eval.yaml", "--no-save", "--format", "json")
    assert done.code == 0, done.err
    assert len(done.summary["gates"]) == 3
    assert done.summary["evaluators"]["sums"]["mean_score"] == 1.0


def test_prompt_is_sent_to_both_models_of_the_example(tmp_path, monkeypatch):
    answers = {
        row["input"]: json.dumps(row["expected"])
        for row in rows(EXAMPLES / "chat" / "invoices.jsonl")
    }

    def extract(exchange):
        (text,) = (text for text in answers if text in exchange.prompt)
        exchange.respond(answers[text])

    with serving(extract) as server:
        for file in (EXAMPLES / "chat").iterdir():
            text = file.read_text("utf-8").replace("http://localhost:8000/v1", server.url)
            (tmp_path / file.name).write_text(text, "utf-8")
        monkeypatch.setenv("FIELDMARK_CACHE", str(tmp_path / "cache"))
        for target in ("small-model", "large"):
            run = fm.evaluate(tmp_path / "invoices.eval.yaml", target=target)
            assert run.passed
            assert run.summary.cases.perfect == 3
        assert server.attempts == 6


@pytest.mark.parametrize("side", ["truth", "candidate"])
def test_data_is_from_the_sample(side):
    copied = rows(EXAMPLES / "invoices" / f"{side}.jsonl")
    assert len(copied) == 3
    assert all(row in rows(SAMPLE / f"{side}.jsonl") for row in copied)
