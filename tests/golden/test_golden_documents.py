"""Whole documents scored on the command line: each directory here has some, with their results.

A file `case.json` or `NAME.case.json` contains a description, the options, the exit code, and the
expected part of the summary; metrics must agree to 1e-9. `options` may also be an object whose
values are options with the same result.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from published.command_line import fieldmark_here

HERE = Path(__file__).parent


def cases():
    for file in sorted(HERE.glob("*/*case.json")):
        case = json.loads(file.read_text("utf-8"))
        options = case["options"] if isinstance(case["options"], dict) else {"": case["options"]}
        for name, words in options.items():
            parts = file.parent.name, file.name.removesuffix("case.json").rstrip("."), name
            yield pytest.param(file.parent, case, words, id="-".join(filter(None, parts)))


def reduced(expected, found):
    """Return the found value, reduced to the keys of the expected value."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return {key: reduced(value, found.get(key, "absent")) for key, value in expected.items()}
    if isinstance(expected, float) and isinstance(found, float) and abs(expected - found) < 1e-9:
        return expected
    return found


@pytest.mark.parametrize(("directory", "case", "options"), [*cases()])
def test_documents_are_scored_as_described(directory, case, options, monkeypatch):
    monkeypatch.chdir(directory)
    inputs = case.get("inputs", ["truth.jsonl", "candidate.jsonl"])
    done = fieldmark_here("score", *inputs, *options, "--no-save", "--format", "json")
    assert done.code == case["exit"], done.err
    assert reduced(case["expected"], done.summary) == case["expected"], case["about"]


def test_wrong_metric_is_detected():
    assert reduced({"a": {"b": 0.5}}, {"a": {"b": 0.5 + 1e-10, "c": 1}}) == {"a": {"b": 0.5}}
    assert reduced({"a": {"b": 0.5}}, {"a": {"b": 0.6}}) != {"a": {"b": 0.5}}
    assert reduced({"a": {"b": None}}, {"a": {}}) != {"a": {"b": None}}
