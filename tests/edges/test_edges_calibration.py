"""Labeling and calibration from the command line, with models behind a loopback endpoint."""

from __future__ import annotations

import csv
import json

import pytest

from edges.llm_server import isolate, serving
from row_files import write_rows

PAIRS = [
    ("Paid in full in May", "Settled completely in May", True),
    ("Delivery by truck", "Shipped by lorry", True),
    ("Cancelled by the buyer", "The buyer withdrew", True),
    ("Net thirty days", "Payment at once", False),
    ("Red paint", "Wooden chairs", False),
    ("Board meeting", "Annual audit", False),
]
RIGHT = {ours for ours, _, right in PAIRS if right}
PRICES = "input_price: 1000000, output_price: 0"


@pytest.fixture(autouse=True)
def _isolated(monkeypatch, tmp_path):
    isolate(monkeypatch, tmp_path / "cache")


def grade_pairs(exchange):
    pairs = exchange.data["pairs"]
    exchange.succeed({each["id"]: 0.75 if each["first"] in RIGHT or each["second"] in RIGHT else 0.25 for each in pairs})  # fmt: skip


def grade_case(exchange):
    expected = exchange.data["expected"]
    text = expected if isinstance(expected, str) else expected["note"]
    exchange.succeed(0.75 if text in RIGHT else 0.25)


def write(folder, url, judge=""):
    rows = [
        {"id": str(n), "expected": {"note": ours}, "candidate": {"note": theirs}}
        for n, (ours, theirs, _) in enumerate(PAIRS)
    ]
    write_rows(folder / "rows.jsonl", rows)
    model = f'model: m, base_url: "{url}", {PRICES}'
    (folder / "rules.yaml").write_text(
        f"provider: {{type: openai, {model}}}\nfields: [{{path: note, match: semantic}}]\n", "utf-8"
    )
    (folder / "a.eval.yaml").write_text(
        f"cases: rows.jsonl\nevaluators:\n  - {{name: judge, type: llm_judge, rubric: Same?, {judge}{model}}}\n",
        "utf-8",
    )


def fill_in(folder):
    """Enter the verdicts of a person into the table."""
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    verdicts = {str(number): right for number, (_, _, right) in enumerate(PAIRS)}
    with (folder / "labels.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "verdict": verdicts[row["case_id"]]} for row in rows)
    return rows


def test_threshold_of_a_model_is_labeled_calibrated_and_used(folder, command):
    with serving(grade_pairs) as server:
        write(folder, server.url)
        assert (
            command("score", "rows.jsonl", "--rules", "rules.yaml", "--out", "run", "--quiet").code
            == 0
        )
        done = command("calibrate", "label", "run", "--out", "labels.csv", "--out", "labels.html")
        assert done.err == "wrote 6 pairs to labels.csv\nwrote 6 pairs to labels.html\n"
        assert command("calibrate", "label", "run", "--out", "labels.csv").code == 2
        fill_in(folder)
        calls = server.attempts
        options = ("labels.csv", "--rules", "rules.yaml", "--path", "note")
        done = command("calibrate", "measure", *options, "--min", "kappa=0.6", "--out", "note.json")
        assert (done.code, server.attempts) == (1, calls)  # cached responses
        assert "cached responses of 1 call, which cost 100.0000" in done.out
        assert "gate failed: kappa is 0.0000, must be at least 0.6" in done.err
        assert "did not write note.json" in done.err
        done = command(
            "calibrate",
            "measure",
            *options,
            "--min",
            "cross_validated.kappa=0.6",
            "--offline",
            "--out",
            "note.json",
        )
        assert (done.code, server.attempts) == (0, calls)
        assert "best    threshold 0.5: agreement 1.000, kappa 1.000" in done.out
        assert command("calibrate", "measure", *options, "--out", "note.json").code == 2
    text = (folder / "rules.yaml").read_text("utf-8")
    calibrated = text.replace(
        "match: semantic", "match: semantic, threshold: calibrated, calibration: note.json"
    )
    (folder / "calibrated.yaml").write_text(calibrated, "utf-8")
    assert command("validate", "calibrated.yaml").code == 0
    done = command(
        "score",
        "rows.jsonl",
        "--rules",
        "calibrated.yaml",
        "--offline",
        "--out",
        "again",
        "--format",
        "json",
    )
    assert json.loads(done.out)["attributes"]["note"]["tp"] == 3
    done = command("diff", "run", "again")
    assert (done.code, "the runs have different rules" in done.err) == (2, True)


@pytest.mark.parametrize("judge", ["", "per: field, fields: [note], "], ids=["case", "field"])
def test_llm_judge_is_measured_and_its_spend_printed(folder, command, judge):
    with serving(grade_case) as server:
        write(folder, server.url, judge)
        assert command("eval", "a.eval.yaml", "--out", "run", "--quiet").code == 0
        assert server.attempts == 6
        assert (
            command("calibrate", "label", "run", "--evaluator", "judge", "--out", "labels.csv").code
            == 0
        )
        rows = fill_in(folder)
        assert {row["path"] for row in rows} == {"note" if judge else ""}
        assert (
            command("calibrate", "measure", "labels.csv", "--format", "json").code == 0
        )  # recorded scores
        options = ("labels.csv", "--eval", "a.eval.yaml", "--evaluator", "judge")
        done = command("calibrate", "measure", *options)
        assert (done.code, server.attempts) == (0, 6)
        assert done.out.startswith(
            "llm_judge: 6 pairs with human verdicts\ncurrent threshold 0.8: "
        )
        assert "AUC 1.000, base rate 0.500" in done.out
        changed = (folder / "a.eval.yaml").read_text("utf-8").replace("Same?", "Equal?")
        (folder / "a.eval.yaml").write_text(changed, "utf-8")
        done = command("calibrate", "measure", *options, "--max", "spent.cost=500")
        assert (done.code, server.attempts) == (1, 12)
        assert "llm_judge m: 6 calls, 600 + 60 tokens, cost 600.0000" in done.out
        assert "gate failed: spent.cost is 600.0000, must be at most 500" in done.err


def test_failed_comparisons_are_errors_and_no_gate_passes(folder, command):
    with serving(lambda exchange: exchange.json({"error": {"message": "no"}}, 400)) as server:
        write(folder, server.url)
        rows = [{"expected": a, "candidate": b, "verdict": right} for a, b, right in PAIRS]
        write_rows(folder / "labels.jsonl", rows)
        done = command(
            "calibrate",
            "measure",
            "labels.jsonl",
            "--rules",
            "rules.yaml",
            "--path",
            "note",
            "--min",
            "kappa=-1",
        )
    assert done.code == 3
    assert "6 pairs could not be compared; first error: " in done.err
    assert "gate failed: kappa is undefined" in done.err


def test_offline_without_a_cache_is_an_early_error(folder, command):
    write(folder, "http://127.0.0.1:9/v1")
    (folder / "labels.jsonl").write_text('{"expected": "a", "candidate": "b", "verdict": true}\n')
    options = ("labels.jsonl", "--rules", "rules.yaml", "--path", "note", "--offline")
    done = command("calibrate", "measure", *options)
    assert (done.code, "offline" in done.err) == (2, True)


def test_labels_of_a_run_are_jsonl_on_standard_output(folder, command):
    (folder / "pairs.jsonl").write_text(
        '{"id": "1", "expected": {"t": "a"}, "candidate": {"t": "b"}}\n'
    )
    assert command("score", "pairs.jsonl", "--out", "run", "--quiet").code == 0
    done = command("calibrate", "label", "run")
    assert (done.code, json.loads(done.out)["candidate"]) == (0, "b")
