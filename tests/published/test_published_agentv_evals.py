"""AgentV's own eval files: the scores that its versions recorded, and where ours differ and why."""

from __future__ import annotations

import json
import time

import pytest

from fieldmark.api.evaluate import evaluate
from fieldmark.config.agentv.native import import_agentv
from published.command_line import DATA, ROOT
from unit.config.agentv_files import project

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

SAYS_NOTHING = "a field that the truth says nothing of earns nothing: 2 of 13 parts are not in play"
BROKE_DOWN = "the script could not read what it was handed, and called that a score of 0"
DIFFERENCES = {
    ("2.0.2 fields", "invoice-004", "invoice_field_accuracy"): (11 / 13, 10 / 12, SAYS_NOTHING),
    ("4.42.4 fields", "invoice-002", "invoice_field_accuracy"): (12 / 13, 11 / 12, SAYS_NOTHING),
    ("4.42.4 fields", "invoice-004", "invoice_field_accuracy"): (11 / 13, 10 / 12, SAYS_NOTHING),
    ("4.42.4 fields, run again", "invoice-002", "invoice_field_accuracy"): (12 / 13, 11 / 12, SAYS_NOTHING),
    ("4.42.4 fields, run again", "invoice-002", "party_names_fuzzy"): (0, 1, BROKE_DOWN),
    ("4.42.4 fields, run again", "invoice-004", "invoice_field_accuracy"): (11 / 13, 10 / 12, SAYS_NOTHING),
    ("later fields", "invoice-002", "invoice_field_accuracy"): (12 / 13, 11 / 12, SAYS_NOTHING),
    ("later fields", "invoice-004", "invoice_field_accuracy"): (11 / 13, 10 / 12, SAYS_NOTHING),
}  # fmt: skip
"""Every score that is not the recorded one: theirs, ours, and why ours is right."""


def rows_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def recorded(run):
    """What AgentV said of each case: its score, and each grader by name."""
    for row in rows_of(INVOICES / RUNS[run][1]):
        said = row.get("evaluator_results") or row["scores"]
        yield row.get("eval_id") or row["test_id"], row["score"], {own["name"]: own for own in said}


@pytest.fixture(scope="module", params=RUNS)
def run(request, tmp_path_factory):
    """A run's name, its summary, and our rows by case."""
    folder = tmp_path_factory.mktemp("agentv") / "run"
    done = evaluate(INVOICES / RUNS[request.param][0], out=folder)
    rows = {row["case_id"]: row for row in rows_of(folder / "results.jsonl")}
    return request.param, done.summary, rows


def results_of(row):
    return {own["name"]: own for own in row["evaluator_results"]}


def test_every_case_is_judged_by_those_who_judged_it(run):
    name, _, rows = run
    theirs = {case: set(graders) for case, _, graders in recorded(name)}
    assert {case: set(results_of(row)) for case, row in rows.items()} == theirs


def test_every_score_is_the_recorded_one_except_where_that_is_wrong(run):
    name, _, rows = run
    found = {}
    for case, _, graders in recorded(name):
        for grader, said in graders.items():
            ours = results_of(rows[case])[grader]["score"]
            if ours != pytest.approx(said["score"], abs=1e-12):
                found[name, case, grader] = (said["score"], ours)
    listed = {key: pytest.approx(known[:2]) for key, known in DIFFERENCES.items() if key[0] == name}
    assert found == listed


def test_a_case_scores_the_mean_of_its_graders(run):
    name, _, rows = run
    for case, score, graders in recorded(name):
        ours = [own["score"] for own in rows[case]["evaluator_results"]]
        assert rows[case]["score"] == pytest.approx(sum(ours) / len(ours))
        if not any((name, case, grader) in DIFFERENCES for grader in graders):
            assert rows[case]["score"] == pytest.approx(score)


def test_what_they_missed_we_miss(run):
    name, _, rows = run
    for case, _, graders in recorded(name):
        for grader, said in graders.items():
            if DIFFERENCES.get((name, case, grader), ("",))[-1] == BROKE_DOWN:
                continue
            texts = said.get("misses") or [
                each["text"] for each in said.get("assertions", ()) if not each["passed"]
            ]
            ours = results_of(rows[case])[grader]["misses"]
            assert {path_of(text) for text in ours} == {path_of(text) for text in texts}


def path_of(text):
    return text.partition(" ")[0].rstrip(":")


@pytest.mark.parametrize("name", CONFUSION)
def test_the_table_of_all_headers_is_the_recorded_one(name):
    micro = evaluate(INVOICES / RUNS[name][0]).to_dict()["micro"]
    assert {key: micro[key] for key in ("tp", "tn", "fp", "fn")} == {
        "tp": 22,
        "tn": 0,
        "fp": 6,
        "fn": 8,
    }
    assert micro["f1"] == pytest.approx(0.759, abs=5e-4)


def test_headers_score_as_published():
    (scores,) = {tuple(score for _, score, _ in sorted(recorded(name))) for name in CONFUSION}
    assert scores == pytest.approx((1, 0.833, 0.667, 0.667, 0.5), abs=5e-4)


def test_the_counts_of_every_field_and_pair_are_the_recorded_ones(run):
    name, _, rows = run
    for case, _, graders in recorded(name):
        for grader, said in graders.items():
            theirs = said.get("details") or {}
            ours = results_of(rows[case])[grader]["details"]
            for field, metrics in theirs.get("metrics", {}).items():
                assert ours["metrics"][field] == pytest.approx(metrics), (case, field)
            for total, count in theirs.get("summary", {}).items():
                assert total_of(ours["summary"], total) == pytest.approx(count), (case, total)
            pairs = [tuple(pair.values()) for pair in theirs.get("alignment", ())]
            assert [tuple(pair.values()) for pair in ours.get("alignment", ())] == pairs


def total_of(summary, name):
    """A total under the name that AgentV's scripts have for it."""
    matched = summary.get("matched", 0)
    counts = {
        "matched_count": matched,
        "expected_count": matched + summary.get("lost", 0),
        "parsed_count": matched + summary.get("invented", 0),
    }
    return {**summary, **counts}[name]


@pytest.mark.parametrize("file", sorted({file for file, _ in RUNS.values()}))
def test_the_native_form_gives_the_same_results(tmp_path, file):
    native = tmp_path / "native.yaml"
    native.write_text(import_agentv(INVOICES / file).text, "utf-8")
    kept = {}
    for name, source in (("theirs", INVOICES / file), ("native", native)):
        summary = evaluate(source, out=tmp_path / name).to_dict()
        kept[name] = rows_of(tmp_path / name / "results.jsonl"), {**summary, "warnings": []}
    assert kept["native"] == kept["theirs"]


def test_every_difference_is_told_in_the_documents():
    page = " ".join(PAGE.read_text("utf-8").split())
    for (_, case, grader), (theirs, ours, _) in DIFFERENCES.items():
        assert f"| `{case}` | `{grader}` | {theirs:.3g} | {ours:.3g} |" in page


# --- faults that are not copied -------------------------------------------------------------------


def scored(folder, fields, expected, candidate):
    """The field accuracy of one document, as AgentV's file asks for it."""
    grader = {"name": "own", "type": "field-accuracy", "fields": fields}
    case = {
        "id": "a",
        "expected_output": expected,
        "input": [{"role": "user", "content": [{"type": "file", "value": "../fixtures/a.json"}]}],
    }
    text = candidate if isinstance(candidate, str) else json.dumps(candidate)
    path = project(folder, graders=[grader], cases=[case], fixtures={"a.json": text})
    return evaluate(path).to_dict()["mean_score"]


@pytest.mark.parametrize(
    ("field", "expected", "candidate", "score"),
    [
        pytest.param(
            {"match": "date", "formats": ["YYYY-MM-DD"]}, "2025-01-15", "01/15/2025", 0,
            id="a-date-in-a-format-that-is-not-allowed",
        ),
        pytest.param(
            {"match": "date", "formats": ["DD/MM/YYYY"]}, "02/01/2025", "2025-01-02", 0,
            id="not-even-the-usual-format-is-allowed-unless-named",
        ),
        pytest.param(
            {"match": "date"}, "15-JAN-2025", "31-FEB-2025", 0, id="a-day-that-no-month-has"
        ),
        pytest.param(
            {"match": "numeric_tolerance", "tolerance": 1.0}, 1, "1,889.00", 0,
            id="thousands-are-not-cut-off",
        ),
        pytest.param(
            {"match": "numeric_tolerance", "tolerance": 1.0}, 12, "12 apples", 0,
            id="a-number-with-words-is-no-number",
        ),
        pytest.param({"match": "exact"}, 1, True, 0, id="true-is-not-one"),
    ],
)  # fmt: skip
def test_what_is_wrong_earns_nothing(tmp_path, field, expected, candidate, score):
    fields = [{"path": "value", **field}]
    assert scored(tmp_path, fields, {"value": expected}, {"value": candidate}) == score


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Pacific/Auckland"])
def test_a_date_is_the_same_everywhere(tmp_path, monkeypatch, zone):
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
        pytest.param({"total": 1}, 0, id="a-field-that-is-not-in-the-truth-earns-nothing"),
        pytest.param(
            {"total": 1, "po": None}, 0, id="and-costs-where-the-truth-says-that-it-is-empty"
        ),
    ],
)
def test_an_invented_value_does_not_help(tmp_path, expected, score):
    fields = [{"path": "total", "match": "exact"}, {"path": "po", "match": "exact"}]
    assert scored(tmp_path, fields, expected, {"total": 2, "po": "PO-1"}) == score


def test_an_answer_that_nobody_can_read_scores_nothing(tmp_path):
    assert scored(tmp_path, [{"path": "total", "match": "exact"}], {"total": 1}, "Sorry.") == 0
