"""Annotations of `fieldmark score` in GitHub workflows."""

from __future__ import annotations

import json

import pytest

from row_files import write_rows


@pytest.fixture(autouse=True)
def workflow(monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")


def annotations(done):
    return [line for line in done.err.splitlines() if line.startswith("::")]


def test_failed_gates_and_cases_are_annotations(score):
    done = score("--min", "micro.f1=0.9", "--quiet")
    assert done.code == 1
    assert annotations(done) == [
        "::error file=truth.jsonl,title=gate failed::micro.f1 is 0.5714, must be at least 0.9",
        "::warning file=truth.jsonl,title=case b%3A fail::total, vendor (required, missing)",
    ]


def test_saved_run_has_the_same_annotations(command):
    done = command("score", "truth.jsonl", "candidate.jsonl", "--out", "run", "--no-values")
    [line] = annotations(done)
    assert line.startswith("::warning file=truth.jsonl,title=case b%3A fail::total")


def test_no_more_annotations_than_github_shows(command, folder):
    truth = [{"id": n, "expected": {"a": 1}} for n in range(50)]
    for name, rows in {
        "t": truth,
        "p": [{"id": n, "candidate": {"a": 2}} for n in range(50)],
    }.items():
        write_rows(folder / f"{name}.jsonl", rows)
    done = command("score", "t.jsonl", "p.jsonl", "--no-save", "--max", "micro.fp=1")
    assert len(annotations(done)) == 10
    assert "gate failed" in annotations(done)[0]


def test_unreadable_ground_truth_is_an_annotation(command, folder):
    with (folder / "truth.jsonl").open("a") as file:
        file.write('{"id": "c", "expected": \n')
    done = command("score", "truth.jsonl", "candidate.jsonl", "--no-save")
    assert done.code == 2
    assert annotations(done)[0].startswith("::error file=truth.jsonl,title=run failed::")


def test_failed_comparison_is_an_annotation(command, folder):
    (folder / "rules.yaml").write_text("fields: [{path: vendor, match: fuzzy}]")
    for name, key in {"truth": "expected", "candidate": "candidate"}.items():
        row = {"id": "a", key: {"vendor": name * 2_000}}
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    done = command("score", "truth.jsonl", "candidate.jsonl", "--no-save", "--rules", "rules.yaml")
    assert done.code == 3
    assert annotations(done)[-1] == "::error file=truth.jsonl,title=case a::a comparison failed"


def test_no_annotations_elsewhere(score, monkeypatch):
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert annotations(score("--min", "micro.f1=0.9")) == []
