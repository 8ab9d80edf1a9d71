"""The example eval file is valid, passes, and uses the sample data."""

from __future__ import annotations

import json

import pytest

from published.command_line import EXAMPLES, ROOT, fieldmark

SAMPLE = ROOT / "src" / "fieldmark" / "sample"


def rows(file):
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_eval_file_is_valid_and_passes_its_gates():
    done = fieldmark("validate", "invoices.eval.yaml", cwd=EXAMPLES)
    assert (done.code, done.err) == (0, "")
    done = fieldmark("eval", "invoices.eval.yaml", "--no-save", "--format", "json", cwd=EXAMPLES)
    assert done.code == 0, done.err
    assert len(done.summary["gates"]) == 3
    assert done.summary["evaluators"]["sums"]["mean_score"] == 1.0


@pytest.mark.parametrize("side", ["truth", "candidate"])
def test_data_is_from_the_sample(side):
    copied = rows(EXAMPLES / "invoices" / f"{side}.jsonl")
    assert len(copied) == 3
    assert all(row in rows(SAMPLE / f"{side}.jsonl") for row in copied)
