"""A run that must not fall behind another: gates on the drop, and mistakes in asking for them."""

from __future__ import annotations

import json

import pytest

WORSE = '{"id": "a", "candidate": {"total": 9, "vendor": "Acme"}}\n{"id": "b", "candidate": {}}\n'


@pytest.fixture
def against(folder, command):
    """Scores a worse candidate against the run of the usual one."""
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "before").code == 0
    (folder / "worse.jsonl").write_text(WORSE)

    def run(*options):
        return command("score", "truth.jsonl", "worse.jsonl", "--out", "after", *options)

    return run


@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param(["--max-drop", "0.9"], 0, id="a-drop-within-the-limit"),
        pytest.param(["--max-drop", "0.1"], 1, id="a-drop-beyond-it"),
        pytest.param(["--max-drop", "micro.f1=0.1"], 1, id="of-another-figure"),
        pytest.param(["--max-drop", "mico.f1=0.1"], 2, id="of-a-figure-that-is-not-there"),
        pytest.param([], 2, id="a-baseline-without-a-limit"),
        pytest.param(["--max-drop", "x"], 2, id="a-limit-that-is-no-number"),
    ],
)
def test_a_drop_below_the_baseline(against, options, code):
    assert against("--baseline", "before", *options).code == code


def test_a_limit_without_a_baseline(against):
    done = against("--max-drop", "0.1")
    assert done.code == 2
    assert "Name a run as the baseline." in done.err


def test_the_gate_is_in_the_summary(folder, against):
    against("--baseline", "before", "--max-drop", "0.1")
    [gate] = json.loads((folder / "after" / "summary.json").read_text())["gates"]
    assert (gate["name"], gate["passed"]) == ("drop of mean_score", False)


def test_a_baseline_that_was_compared_otherwise_is_refused(command, against):
    assert (
        command("score", "truth.jsonl", "candidate.jsonl", "--match", "fuzzy", "--out", "x").code
        == 0
    )
    done = against("--baseline", "x", "--max-drop", "0.1")
    assert done.code == 2
    assert "was compared or counted otherwise" in done.err


def test_a_run_that_is_kept_has_intervals(folder, against):
    against()
    summary = json.loads((folder / "after" / "summary.json").read_text())
    low, high = summary["intervals"]["micro_f1"]
    assert low <= summary["micro"]["f1"] <= high
    assert all("f1" in each["interval"] for each in summary["attributes"].values())
