"""Gates against a baseline run, and invalid baselines."""

from __future__ import annotations

import json

import pytest

WORSE = '{"id": "a", "candidate": {"total": 9, "vendor": "Acme"}}\n{"id": "b", "candidate": {}}\n'


@pytest.fixture
def against(folder, command):
    """Score worse predictions with the first run as a baseline."""
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "before").code == 0
    (folder / "worse.jsonl").write_text(WORSE)

    def run(*options):
        return command("score", "truth.jsonl", "worse.jsonl", "--out", "after", *options)

    return run


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param(["--max-drop", "0.9"], 0, id="drop-within-limit"),
        pytest.param(["--max-drop", "0.1"], 1, id="drop-above-limit"),
        pytest.param(["--max-drop", "micro.f1=0.1"], 1, id="another-metric"),
        pytest.param(["--max-drop", "mico.f1=0.1"], 2, id="unknown-metric"),
        pytest.param([], 2, id="baseline-without-max-drop"),
        pytest.param(["--max-drop", "x"], 2, id="limit-not-a-number"),
    ],
)
def test_drop_below_the_baseline(against, options, code):
    assert against("--baseline", "before", *options).code == code


def test_max_drop_requires_a_baseline(against):
    done = against("--max-drop", "0.1")
    assert done.code == 2
    assert done.err == "fieldmark: --max-drop requires --baseline\n"


def test_baseline_requires_max_drop(against):
    done = against("--baseline", "before")
    assert done.code == 2
    assert done.err == (
        "fieldmark: --baseline requires --max-drop, such as 0.01 or micro.f1=0.02\n"
    )


def test_summary_contains_the_gate(folder, against):
    against("--baseline", "before", "--max-drop", "0.1")
    [gate] = json.loads((folder / "after" / "summary.json").read_text())["gates"]
    assert (gate["name"], gate["passed"]) == ("drop of mean_score", False)


def test_baseline_with_other_rules_is_rejected(command, against):
    assert (
        command("score", "truth.jsonl", "candidate.jsonl", "--match", "fuzzy", "--out", "x").code
        == 0
    )
    done = against("--baseline", "x", "--max-drop", "0.1")
    assert done.code == 2
    assert "has different rules or a different convention" in done.err


def test_saved_run_has_confidence_intervals(folder, against):
    against()
    summary = json.loads((folder / "after" / "summary.json").read_text())
    low, high = summary["intervals"]["micro_f1"]
    assert low <= summary["micro"]["f1"] <= high
    assert all("f1" in each["interval"] for each in summary["attributes"].values())
