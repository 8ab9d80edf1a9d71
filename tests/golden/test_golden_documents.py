"""Whole documents scored on the command line: each directory here is one test.

`case.json` contains a description, the options, the exit code, and the expected part of the
summary; metrics must agree to 1e-9.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from published.command_line import fieldmark_here

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/case.json"))


def reduced(expected, found):
    """Return the found value, reduced to the keys of the expected value."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return {key: reduced(value, found.get(key, "absent")) for key, value in expected.items()}
    if isinstance(expected, float) and isinstance(found, float) and abs(expected - found) < 1e-9:
        return expected
    return found


@pytest.mark.parametrize("directory", CASES, ids=lambda directory: directory.name)
def test_documents_are_scored_as_described(directory, monkeypatch):
    monkeypatch.chdir(directory)
    case = json.loads((directory / "case.json").read_text("utf-8"))
    inputs = case.get("inputs", ["truth.jsonl", "candidate.jsonl"])
    rules = ["--rules", "rules.yaml"] if (directory / "rules.yaml").exists() else []
    done = fieldmark_here(
        "score", *inputs, *rules, *case["options"], "--no-save", "--format", "json"
    )
    assert done.code == case["exit"], done.err
    assert reduced(case["expected"], done.summary) == case["expected"], case["about"]


def test_wrong_metric_is_detected():
    assert reduced({"a": {"b": 0.5}}, {"a": {"b": 0.5 + 1e-10, "c": 1}}) == {"a": {"b": 0.5}}
    assert reduced({"a": {"b": 0.5}}, {"a": {"b": 0.6}}) != {"a": {"b": 0.5}}
    assert reduced({"a": {"b": None}}, {"a": {}}) != {"a": {"b": None}}
