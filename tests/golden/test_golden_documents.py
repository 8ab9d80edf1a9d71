"""Whole documents through the command line: each folder here is one behaviour.

`case.json` says in words what it is about, which options it takes, how the command ends, and the
parts of the summary that matter; figures agree to 1e-9.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from published.command_line import fieldmark_here

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/case.json"))


def part(expected, found):
    """The found value cut down to the keys that the expected value speaks of."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return {key: part(value, found.get(key, "absent")) for key, value in expected.items()}
    if isinstance(expected, float) and isinstance(found, float) and abs(expected - found) < 1e-9:
        return expected
    return found


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_a_folder_of_documents_is_scored_as_it_says(folder, monkeypatch):
    monkeypatch.chdir(folder)
    case = json.loads((folder / "case.json").read_text("utf-8"))
    inputs = case.get("inputs", ["truth.jsonl", "candidate.jsonl"])
    rules = ["--rules", "rules.yaml"] if (folder / "rules.yaml").exists() else []
    done = fieldmark_here(
        "score", *inputs, *rules, *case["options"], "--no-save", "--format", "json"
    )
    assert done.code == case["exit"], done.err
    assert part(case["expected"], done.summary) == case["expected"], case["about"]


def test_a_wrong_figure_is_seen():
    assert part({"a": {"b": 0.5}}, {"a": {"b": 0.5 + 1e-10, "c": 1}}) == {"a": {"b": 0.5}}
    assert part({"a": {"b": 0.5}}, {"a": {"b": 0.6}}) != {"a": {"b": 0.5}}
    assert part({"a": {"b": None}}, {"a": {}}) != {"a": {"b": None}}
