"""Invoice headers: the confusion tables that AgentV recorded, per case and in total."""

from __future__ import annotations

import json

import pytest

from published.command_line import DATA, EXAMPLES, fieldmark

INVOICES = DATA / "agentv-document-extraction"
BASELINE = INVOICES / "evals" / "confusion-metrics.eval.baseline.jsonl"
FIELDS = [
    "invoice_number", "invoice_date", "currency", "supplier.name", "importer.name", "gross_total",
]  # fmt: skip


def recorded():
    for line in BASELINE.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield row["test_id"], row["scores"][0]["details"]


RECORDED = dict(recorded())


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    done = fieldmark(
        "score", INVOICES / "truth.jsonl", INVOICES / "candidate.jsonl",
        "--rules", EXAMPLES / "invoice-header.yaml", "--out", folder, "--format", "json",
    )  # fmt: skip
    assert done.code == 0, done.err
    rows = (folder / "results.jsonl").read_text("utf-8").splitlines()
    return done.summary, {row["case_id"]: row for row in map(json.loads, rows)}


def test_total_counts_equal_the_recorded_counts(run):
    summary, _ = run
    micro = summary["micro"]
    totals = {
        name: sum(details["summary"][f"total_{name}"] for details in RECORDED.values())
        for name in ("tp", "tn", "fp", "fn")
    }
    assert {name: micro[name] for name in totals} == totals == {"tp": 22, "tn": 0, "fp": 6, "fn": 8}
    assert micro["f1"] == pytest.approx(0.759, abs=5e-4)


@pytest.mark.parametrize("field", FIELDS)
def test_counts_of_every_field_equal_the_recorded_counts(run, field):
    summary, _ = run
    for name in ("tp", "tn", "fp", "fn"):
        total = sum(details["metrics"][field][name] for details in RECORDED.values())
        assert summary["attributes"][field][name] == total


@pytest.mark.parametrize("case", sorted(RECORDED))
def test_counts_and_score_of_every_case_equal_the_recorded_values(run, case):
    _, rows = run
    want, row = RECORDED[case]["summary"], rows[case]
    assert row["counts"] == {name: want[f"total_{name}"] for name in ("tp", "tn", "fp", "fn")}
    assert row["score"] == pytest.approx(want["macro_f1"], abs=1e-12)


def test_only_the_perfect_case_passes(run):
    _, rows = run
    assert {case: row["verdict"] for case, row in rows.items()} == {
        "metrics-001": "pass",
        **dict.fromkeys(["metrics-002", "metrics-003", "metrics-004", "metrics-005"], "partial"),
    }
