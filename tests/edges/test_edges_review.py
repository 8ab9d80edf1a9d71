"""`fieldmark review`: the decisions on a run, the corrected truth and labels."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from row_files import write_rows


@pytest.fixture
def run(command, folder):
    write_rows(
        folder / "truth.jsonl",
        [{"id": "a", "vendor": "Acme", "total": 5}, {"id": "b", "vendor": "Bolt"}],
    )
    write_rows(
        folder / "candidate.jsonl",
        [{"id": "a", "vendor": "ACME Ltd", "total": 6}, {"id": "b", "vendor": "Volt"}],
    )
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "runs/run").code == 0
    return folder / "runs" / "run"


def test_summary_says_what_was_decided_and_what_changes(command, run):
    done = command("review", "run")
    assert (done.code, done.out) == (0, "run: no field was reviewed\n")
    fm.add_review(run, "a", "total", "accept_candidate", comment="page 2")
    fm.add_review(run, "b", "vendor", "accept_truth")
    done = command("review", "run")
    assert done.code == 0
    assert "run: 2 reviewed fields: 1 accept truth, 1 accept candidate\n1 comment" in done.out
    assert "with the reviewed truth (1 changed case):" in done.out
    assert ["micro", "F1", "0.000", "0.333"] in map(str.split, done.out.splitlines())
    assert "total            0.000  1.000" in done.out.splitlines()
    found = json.loads(command("review", "run", "--format", "json").out)
    assert found["effect"]["after"]["micro_f1"] == pytest.approx(1 / 3)
    assert [each["decision"] for each in found["reviews"]] == ["accept_candidate", "accept_truth"]


def test_exported_truth_is_scored_to_the_metrics_of_the_review(command, run, folder):
    before = (folder / "truth.jsonl").read_bytes()
    fm.add_review(run, "a", "vendor", "ambiguous")
    fm.add_review(run, "a", "total", "correction", value=6)
    done = command("review", "run", "--export", "fixed.jsonl", "--labels", "labels.csv")
    assert done.code == 0
    assert "wrote the rules for ambiguous fields to fixed.rules.json" in done.err
    assert "wrote 1 label to labels.csv" in done.err
    after = json.loads(command("review", "run", "--format", "json").out)["effect"]["after"]
    rules = ("--rules", "fixed.rules.json", "--format", "json", "--no-save")
    scored = json.loads(command("score", "fixed.jsonl", "candidate.jsonl", *rules).out)
    assert scored["micro"]["f1"] == after["micro_f1"] == pytest.approx(2 / 3)
    assert (folder / "truth.jsonl").read_bytes() == before
    assert command("calibrate", "measure", "labels.csv", "--match", "fuzzy").code == 0
    # Nothing is overwritten by accident.
    assert command("review", "run", "--export", "fixed.jsonl").code == 2
    assert command("review", "run", "--export", "fixed.jsonl", "--force").code == 0


def test_decision_on_other_values_fails(command, run, folder):
    fm.add_review(run, "a", "total", "accept_candidate")
    write_rows(folder / "candidate.jsonl", [{"id": "a", "vendor": "x", "total": 7}])
    assert command("score", "truth.jsonl", "candidate.jsonl", "--out", "runs/new").code == 0
    (folder / "runs/new/reviews.jsonl").write_bytes((run / "reviews.jsonl").read_bytes())
    done = command("review", "runs/new")
    assert done.code == 1
    assert "1 review does not apply to this run and does not count; first: a total" in done.err
    (run / "reviews.jsonl").write_text("{}\n", "utf-8")
    done = command("review", "run")
    assert (done.code, "reviews.jsonl:1: id is missing" in done.err) == (2, True)


def test_report_shows_the_decisions_without_values_if_it_has_none(command, run, folder):
    fm.add_review(run, "a", "total", "correction", value="secret-value", comment="secret-comment")
    assert command("report", "run", "--out", "full.html").code == 0
    assert command("report", "run", "--out", "bare.html", "--no-values").code == 0
    full, bare = ((folder / name).read_text("utf-8") for name in ("full.html", "bare.html"))
    assert "secret-value" in full
    assert "secret-comment" in full
    assert '"decision":"correction"' in bare
    assert "secret" not in bare


def test_markdown_and_csv_have_no_values(command, run):
    fm.add_review(run, "a", "vendor", "correction", value="secret-value", comment="secret-comment")
    fm.add_review(run, "a", "total", "accept_candidate")
    markdown = command("review", "run", "--format", "markdown").out
    assert "| micro F1 | 0.000 | " in markdown
    table = command("review", "run", "--format", "csv").out
    assert table.startswith('"kind","name","before","after"')
    assert "secret" not in markdown + table
