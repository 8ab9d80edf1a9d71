"""AgentV eval files give the scores that AgentV recorded, except for documented differences."""

from __future__ import annotations

import json
import time

import pytest

from fieldmark.analyses.evaluate import evaluate
from published.command_line import DATA, ROOT
from unit.rules.agentv_files import project

INVOICES = DATA / "agentv-document-extraction"
PAGE = ROOT / "docs" / "agentv.md"
RUNS = {
    "2.0.2 confusion": (
        "agentv-2.0.2/dataset-confusion-metrics.yaml", "agentv-2.0.2/dataset-confusion-metrics.results.jsonl",
    ),
    "2.0.2 fields": (
        "agentv-2.0.2/dataset-field-accuracy.yaml", "agentv-2.0.2/dataset-field-accuracy.results.jsonl",
    ),
    "4.42.4 confusion": (
        "agentv-4.42.4/confusion-metrics.eval.yaml", "agentv-4.42.4/confusion-metrics.eval.baseline.jsonl",
    ),
    "4.42.4 fields": (
        "agentv-4.42.4/field-accuracy.eval.yaml", "agentv-4.42.4/field-accuracy.eval.baseline.jsonl",
    ),
    "4.42.4 confusion, run again": (
        "agentv-4.42.4/confusion-metrics.eval.yaml", "agentv-4.42.4/confusion-metrics.index.jsonl",
    ),
    "4.42.4 fields, run again": (
        "agentv-4.42.4/field-accuracy.eval.yaml", "agentv-4.42.4/field-accuracy.index.jsonl",
    ),
    "later confusion": ("evals/confusion-metrics.eval.yaml", "evals/confusion-metrics.eval.baseline.jsonl"),
    "later fields": ("evals/field-accuracy.eval.yaml", "evals/field-accuracy.eval.baseline.jsonl"),
}  # fmt: skip
CONFUSION = [run for run in RUNS if "confusion" in run]

NOT_SCORED = (
    "a field that is absent from the ground truth is not scored: 2 of 13 parts are left out"
)
SCRIPT_FAILED = "the script failed to read its input and reported a score of 0"
DIFFERENCES = {
    ("2.0.2 fields", "invoice-004", "invoice_field_accuracy"): (11 / 13, 10 / 12, NOT_SCORED),
    ("4.42.4 fields", "invoice-002", "invoice_field_accuracy"): (12 / 13, 11 / 12, NOT_SCORED),
    ("4.42.4 fields", "invoice-004", "invoice_field_accuracy"): (11 / 13, 10 / 12, NOT_SCORED),
    ("4.42.4 fields, run again", "invoice-002", "invoice_field_accuracy"): (12 / 13, 11 / 12, NOT_SCORED),
    ("4.42.4 fields, run again", "invoice-002", "party_names_fuzzy"): (0, 1, SCRIPT_FAILED),
    ("4.42.4 fields, run again", "invoice-004", "invoice_field_accuracy"): (11 / 13, 10 / 12, NOT_SCORED),
    ("later fields", "invoice-002", "invoice_field_accuracy"): (12 / 13, 11 / 12, NOT_SCORED),
    ("later fields", "invoice-004", "invoice_field_accuracy"): (11 / 13, 10 / 12, NOT_SCORED),
}  # fmt: skip
"""Every score that differs from the recorded one: theirs, ours, and the reason."""


def rows_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def recorded(run):
    """Yield the id of each case, its recorded score, and its graders by name."""
    for row in rows_of(INVOICES / RUNS[run][1]):
        graders = row.get("evaluator_results") or row["scores"]
        yield (
            row.get("eval_id") or row["test_id"],
            row["score"],
            {own["name"]: own for own in graders},
        )


@pytest.fixture(scope="module", params=RUNS)
def run(request, tmp_path_factory):
    """The name of a run, its summary, and its rows by case."""
    folder = tmp_path_factory.mktemp("agentv") / "run"
    done = evaluate(INVOICES / RUNS[request.param][0], out=folder)
    rows = {row["case_id"]: row for row in rows_of(folder / "results.jsonl")}
    return request.param, done.summary, rows


def results_of(row):
    return {own["name"]: own for own in row["evaluator_results"]}


def test_every_case_has_the_recorded_graders(run):
    name, _, rows = run
    theirs = {case: set(graders) for case, _, graders in recorded(name)}
    assert {case: set(results_of(row)) for case, row in rows.items()} == theirs


def test_scores_equal_the_recorded_scores_except_documented_differences(run):
    name, _, rows = run
    differences = {}
    for case, _, graders in recorded(name):
        for grader, result in graders.items():
            ours = results_of(rows[case])[grader]["score"]
            if ours != pytest.approx(result["score"], abs=1e-12):
                differences[name, case, grader] = (result["score"], ours)
    listed = {key: pytest.approx(known[:2]) for key, known in DIFFERENCES.items() if key[0] == name}
    assert differences == listed


def test_case_score_is_the_mean_of_its_graders(run):
    name, _, rows = run
    for case, score, graders in recorded(name):
        ours = [own["score"] for own in rows[case]["evaluator_results"]]
        assert rows[case]["score"] == pytest.approx(sum(ours) / len(ours))
        if not any((name, case, grader) in DIFFERENCES for grader in graders):
            assert rows[case]["score"] == pytest.approx(score)


def test_misses_equal_the_recorded_misses(run):
    name, _, rows = run
    for case, _, graders in recorded(name):
        for grader, result in graders.items():
            if DIFFERENCES.get((name, case, grader), ("",))[-1] == SCRIPT_FAILED:
                continue
            texts = result.get("misses") or [
                each["text"] for each in result.get("assertions", ()) if not each["passed"]
            ]
            ours = results_of(rows[case])[grader]["misses"]
            assert {path_of(text) for text in ours} == {path_of(text) for text in texts}


def path_of(text):
    return text.partition(" ")[0].rstrip(":")


@pytest.mark.parametrize("run", CONFUSION, indirect=True)
def test_headers_have_the_published_counts_and_scores(run):
    _, summary, rows = run
    assert (summary.micro.tp, summary.micro.fp, summary.micro.fn) == (22, 6, 8)
    assert summary.micro.f1 == pytest.approx(0.759, abs=5e-4)
    scores = [rows[case]["score"] for case in sorted(rows)]
    assert scores == pytest.approx([1, 0.833, 0.667, 0.667, 0.5], abs=5e-4)


def test_case_with_a_perfect_score_has_no_mistakes(run):
    _, _, rows = run
    for row in rows.values():
        if row["score"] == 1:
            assert not any(row["errors_by_type"].values()), row["case_id"]


def test_counts_of_fields_and_pairs_equal_the_recorded_counts(run):
    name, _, rows = run
    for case, _, graders in recorded(name):
        for grader, result in graders.items():
            theirs = result.get("details") or {}
            ours = results_of(rows[case])[grader]["details"]
            for field, metrics in theirs.get("metrics", {}).items():
                # AgentV reports no F1 without a match, and counts it as 0 in the mean.
                known = metrics if metrics["tp"] else {**metrics, "f1": 0.0}
                assert ours["metrics"][field] == pytest.approx(known), (case, field)
            for total, count in theirs.get("summary", {}).items():
                assert total_of(ours["summary"], total) == pytest.approx(count), (case, total)
            pairs = [tuple(pair.values()) for pair in theirs.get("alignment", ())]
            assert [tuple(pair.values()) for pair in ours.get("alignment", ())] == pairs


def total_of(summary, name):
    """Return a total by its name in AgentV's scripts."""
    matched = summary.get("matched", 0)
    counts = {
        "matched_count": matched,
        "expected_count": matched + summary.get("missing", 0),
        "parsed_count": matched + summary.get("extra", 0),
    }
    return {**summary, **counts}[name]


def test_every_difference_is_documented():
    page = " ".join(PAGE.read_text("utf-8").split())
    for (_, case, grader), (theirs, ours, _) in DIFFERENCES.items():
        assert f"| `{case}` | `{grader}` | {theirs:.3g} | {ours:.3g} |" in page


# --- bugs of AgentV that are not reproduced --------------------------------------------------------


def scored(folder, fields, expected, candidate):
    """Return the field accuracy of one document, evaluated with an AgentV file."""
    grader = {"name": "own", "type": "field-accuracy", "fields": fields}
    case = {
        "id": "a",
        "expected_output": expected,
        "input": [{"role": "user", "content": [{"type": "file", "value": "../fixtures/a.json"}]}],
    }
    fixtures = {"a.json": json.dumps(candidate)}
    path = project(folder, graders=[grader], cases=[case], fixtures=fixtures)
    return evaluate(path).to_dict()["mean_score"]


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Pacific/Auckland"])
def test_dates_do_not_depend_on_the_time_zone(tmp_path, monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    fields = [{"path": "day", "match": "date"}]
    try:
        same = scored(tmp_path, fields, {"day": "15-JAN-2025"}, {"day": "2025-01-15T23:30:00Z"})
        next_day = scored(tmp_path, fields, {"day": "16-JAN-2025"}, {"day": "2025-01-15T23:30:00Z"})
    finally:
        monkeypatch.undo()
        time.tzset()
    assert (same, next_day) == (1, 0)


@pytest.mark.parametrize(
    ("expected", "score"),
    [
        pytest.param({"total": 1}, 0, id="field-absent-from-truth"),
        pytest.param({"total": 1, "po": None}, 0, id="field-null-in-truth"),
    ],
)
def test_hallucinated_value_does_not_raise_the_score(tmp_path, expected, score):
    fields = [{"path": "total", "match": "exact"}, {"path": "po", "match": "exact"}]
    assert scored(tmp_path, fields, expected, {"total": 2, "po": "PO-1"}) == score
